"""Hypothesis strategies for JSON, records and histories of changes."""

from hypothesis import strategies as st

from schedules.domain import codec, instants, records
from schedules.sessions.lossless import Json

TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
TRIMMED = TEXT.map(records.trim).filter(bool)
INSTANTS = st.integers(instants.MIN, instants.MAX)


@st.composite
def records_(draw: st.DrawFn, ids: st.SearchStrategy[str] = TRIMMED) -> records.Record:
    kind: records.Kind = draw(st.sampled_from(("after", "at", "every")))
    least, most = (1, records.MAX_AFTER_SECONDS) if kind == "after" else (300, records.MAX_EVERY_SECONDS)
    return records.Record(
        id=draw(ids),
        kind=kind,
        prompt=draw(TRIMMED),
        scheduled_at=draw(INSTANTS),
        seconds=None if kind == "at" else draw(st.integers(least, most) | st.integers(least, 1000)),
    )


def changes(ids: st.SearchStrategy[str] = TRIMMED) -> st.SearchStrategy[codec.Change]:
    return st.one_of(
        st.builds(codec.Create, record=records_(ids)),
        st.builds(codec.Delete, id=ids),
        st.builds(codec.Dispatch, id=ids, accepted_at=st.none() | INSTANTS),
    )


# Few ids, and values near a valid change's: what a history is likely to get wrong.
FEW_IDS = st.sampled_from(("schedule-1", "schedule-2", "schedule-3", "\ud800"))
NEARLY_CHANGES: st.SearchStrategy[Json] = st.one_of(
    changes(FEW_IDS).map(codec.encode),
    st.fixed_dictionaries(
        {"version": st.sampled_from((1, 1.0, True, 2, "1")), "operation": st.sampled_from(("create", "delete", "x"))},
        optional={"id": FEW_IDS | JSON, "schedule": JSON, "acceptedAt": JSON},
    ),
    JSON,
)
