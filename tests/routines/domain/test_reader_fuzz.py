"""Whatever the text, reading it ends with a routine or with faults, after a bounded number of steps."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from routines.domain import errors, limits, parse, rendering
from schedules.sessions import lossless
from tests.routines.domain import generated, texts
from tests.schedules.domain import strategies

FRAGMENTS = st.sampled_from(
    [
        "---", "\n", "\n---\n", "\r\n", "\r", ": ", ":", "- ", "? ", " ", "  ", "\t", "{", "}", "[", "]", ",", "&a ",
        "*a ", "*", "!", "!!int ", "%YAML 1.1", "#", "|", ">", "|+\n ", "'", '"', "\\", '"\\', "\ufeff", "\x00",
        "\x85", "\u2028", "\ud800", "0x", "1e999", ".nan", "~", "...", "<<: ", "@", "`", "on", "id", "schedule", "kind",
        "cron", "${{", "}}", "$${{ x", "schema: routine/v1\n", "enabled: off\n", "é", "😀",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=200),
    st.lists(FRAGMENTS, max_size=60).map("".join),
    st.lists(FRAGMENTS, max_size=60).map(lambda parts: "---\n" + "".join(parts) + "\n---\n"),
    st.tuples(st.integers(0, len(texts.GOOD)), st.integers(0, 20), st.lists(FRAGMENTS, max_size=4).map("".join)).map(
        lambda cut: texts.GOOD[: cut[0]] + cut[2] + texts.GOOD[cut[0] + cut[1] :]
    ),
)


def read(text: str) -> None:
    reading = parse.read_routine(text, "folder")
    assert reading.routine is not None or any(not fault.warning for fault in reading.faults)
    assert all(fault.code in errors.CODES and fault.message for fault in reading.faults)
    if reading.routine is not None:
        lossless.dumps(rendering.to_json(reading.routine))


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_routine_or_has_faults(text: str) -> None:
    read(text)


@pytest.mark.soak
@pytest.mark.timeout(1_200)
@given(TEXTS)
@settings(max_examples=50_000, deadline=None)
def test_any_text_is_a_routine_or_has_faults_for_long(text: str) -> None:
    read(text)


@given(st.dictionaries(st.sampled_from([*texts.good(), *generated.OPTIONAL, "x"]), strategies.JSON, max_size=6))
@settings(max_examples=200, deadline=None)
def test_any_fields_are_a_routine_or_have_faults(fields: dict[str, Any]) -> None:
    routine, faults = texts.define(texts.good() | fields)
    assert (routine is None) == bool(faults)


NO_NUL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
KEYS = NO_NUL | st.sampled_from(["Null", "true", "on", "1", "", "k" * 1_000, "k" * 2_000, "é" * 900, "a: b", "<<"])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NO_NUL,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
        max_leaves=12,
    )
)
@settings(max_examples=200, deadline=None)
def test_a_value_written_as_yaml_reads_as_itself(value: lossless.Json) -> None:
    fields = texts.good(metadata={"value": value})
    read_back = parse.parse_routine(rendering.to_text(fields))
    assert read_back == parse.define_routine(**fields)
    assert rendering.to_json(read_back)["metadata"] == {"value": value}


@pytest.mark.parametrize(
    "bomb",
    [
        "a: &a [x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]",
        "[" * 100_000,
        "{a: " * 50_000,
        "- " * 100_000,
        "? " * 100_000,
        "a: [" + "x," * 100_000 + "]",
        "\n".join(f"k{n}: v" for n in range(20_000)),
        "a: [" + "*a," * 60_000 + "]",
        "a: [" + "!x 1," * 40_000 + "]",
        "a: &" + "x" * 200_000 + " 1",
        'a: "' + "x" * 200_000,
        "a: " + "9" * 200_000,
        "a: x\n  " * 30_000,
        "#" * 200_000,
        "%" * 200_000,
        "\u2028" * 60_000 + "".join(map(chr, range(0x100000, 0x103000))),
    ],
    ids=lambda bomb: repr(bomb[:12]),
)
def test_the_work_is_bounded_whatever_the_text(bomb: str) -> None:
    taken = 0

    def counted(text: str, Loader: type) -> Iterator[yaml.Event]:  # noqa: N803 - PyYAML's name
        nonlocal taken
        for event in original(text, Loader=Loader):
            taken += 1
            yield event

    original = yaml.parse
    with mock.patch.object(yaml, "parse", counted):
        read(f"---\n{bomb}\n---\n")
    # Each node has at most two events; the document and the stream have theirs.
    assert taken <= 2 * limits.MAX_NODES + 4
