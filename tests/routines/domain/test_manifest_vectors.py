"""The recorded manifests: which are valid, and which top-level field is at fault where one is."""

from typing import Any

import pytest

from routines.domain import parse
from tests.schedules.domain import vectors


@pytest.mark.parametrize("row", vectors.rows("manifests"))
def test_a_recorded_manifest_is_judged_as_recorded(row: dict[str, Any]) -> None:
    reading = parse.read_routine(row["text"])
    fields = {(fault.field or "").split(".")[0] for fault in reading.faults}
    assert (reading.routine is not None) == row["valid"], reading.faults
    assert row["field"] is None or row["field"] in fields
    assert all(fault.line is not None for fault in reading.faults)
