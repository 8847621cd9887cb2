"""Who did what: written in the transaction of the deed itself."""

from schedules.projection import rows


def record(actor: str, action: str, subject: str, now: int, detail: str | None = None) -> None:
    """Write that ``actor``, a user's name, did ``action`` (a verb) to ``subject`` (`routine:<id>`, `cron:<id>`...)."""
    rows.execute(
        "INSERT INTO routines_auditrecord (time, actor, action, subject, detail) VALUES (%s, %s, %s, %s, %s)",
        [now, actor, action, subject, detail],
    )
