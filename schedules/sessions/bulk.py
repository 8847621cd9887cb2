"""Many rows in one statement, as each engine does it best.

SQLite runs one prepared statement for each row. PostgreSQL takes the rows as arrays, a column each: one message, one
plan and one round trip however many there are, and the same statement text for any number.
"""

from collections.abc import Sequence

from django.db import connection

Row = Sequence[str | int | None]

#: Columns by name, with their types on PostgreSQL.
TEXT, NUMBER = "text", "bigint"
Columns = dict[str, str]


def insert(table: str, columns: Columns, rows: Sequence[Row]) -> None:
    """Insert rows, in their order."""
    if not rows:
        return
    names = ", ".join(columns)
    if connection.vendor == "postgresql":
        _execute(f"INSERT INTO {table} ({names}) SELECT * FROM {_arrays(columns)}", rows)
    else:
        _execute_each(f"INSERT INTO {table} ({names}) VALUES ({', '.join(['%s'] * len(columns))})", rows)


def update(table: str, columns: Columns, keys: Columns, rows: Sequence[Row], *, also: str = "") -> None:
    """Set columns of the rows with these keys; each row holds the new values, then the keys.

    ``also`` is set too: SQL that may name the table's own columns.
    """
    if not rows:
        return
    also = f", {also}" if also else ""
    if connection.vendor == "postgresql":
        values = ", ".join(f"{name} = v.{name}" for name in columns)
        match = " AND ".join(f"{table}.{name} = v.{name}" for name in keys)
        taken = ", ".join([*columns, *keys])
        _execute(f"UPDATE {table} SET {values}{also} FROM {_arrays(columns | keys)} AS v ({taken}) WHERE {match}", rows)
    else:
        values = ", ".join(f"{name} = %s" for name in columns)
        match = " AND ".join(f"{name} = %s" for name in keys)
        _execute_each(f"UPDATE {table} SET {values}{also} WHERE {match}", rows)


def delete(table: str, keys: Columns, rows: Sequence[Row]) -> None:
    """Delete the rows with these keys."""
    if not rows:
        return
    if connection.vendor == "postgresql":
        match = " AND ".join(f"{table}.{name} = v.{name}" for name in keys)
        _execute(f"DELETE FROM {table} USING {_arrays(keys)} AS v ({', '.join(keys)}) WHERE {match}", rows)
    else:
        _execute_each(f"DELETE FROM {table} WHERE {' AND '.join(f'{name} = %s' for name in keys)}", rows)


def _arrays(columns: Columns) -> str:
    return f"unnest({', '.join(f'%s::{kind}[]' for kind in columns.values())})"


def _execute(statement: str, rows: Sequence[Row]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [list(column) for column in zip(*rows, strict=True)])


def _execute_each(statement: str, rows: Sequence[Row]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(statement, rows)
