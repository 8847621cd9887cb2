"""Strict YAML 1.2: what its values are, what is refused, and where the lines are."""

from typing import Any

import pytest

from routines.domain import errors, limits, strictyaml


def load(text: str) -> Any:
    document = strictyaml.load(text)
    assert document.findings.faults() == ()
    return document.value


def faults(text: str) -> list[tuple[str | None, int | None, str]]:
    try:
        found = strictyaml.load(text).findings.faults()
    except errors.Invalid as invalid:
        found = invalid.faults
    return [(fault.field, fault.line, fault.message) for fault in found]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[(word, word) for word in ("on", "off", "yes", "no", "y", "On", "NO", "tRue", "nULL", "=", "<<")],
        *[(word, word) for word in ("12:30", "1:30:00", "2026-01-01", "2026-01-01T00:00:00Z", "1_000", "0b1", "1.0.0")],
        *[(word, word) for word in ("0o8", "0xg", "0x", "+0x1F", "1e", ".", "+", "١٢", "1 2", ".infx")],
        *[(word, None) for word in ("", "~", "null", "Null", "NULL")],
        *[(word, True) for word in ("true", "True", "TRUE")],
        *[(word, False) for word in ("false", "False", "FALSE")],
        *[("0o17", 15), ("0x1F", 31), ("012", 12), ("-0", 0), ("+7", 7), ("-19", -19), ("1" + "0" * 300, 10**300)],
        *[("1.", 1.0), (".5", 0.5), ("-1.5e3", -1500.0), ("1e3", 1000.0), ("+.5E-1", 0.05)],
        *[('"on"', "on"), ("'1'", "1"), ('"\\n\\u00e9\\U0001F600"', "\né😀"), ('"true"', "true"), ("|\n  1", "1")],
    ],
)
def test_a_scalar_is_read_by_the_core_schema_of_1_2(text: str, value: Any) -> None:
    got = load(f"a: {text}")["a"]
    assert (got, type(got)) == (value, type(value))


@pytest.mark.parametrize("text", ["9" * 310, "1" + "0" * 400, "0x" + "f" * 400, "1e400", "-1e400", "9" * 200_000])
def test_a_number_that_no_double_holds_is_refused(text: str) -> None:
    assert faults(f"a: {text}") == [("a", 1, limits.NUMBER_TOO_LARGE)]


@pytest.mark.parametrize("text", [".inf", "-.Inf", "+.INF", ".nan", ".NaN", ".NAN"])
def test_infinity_and_nan_are_refused(text: str) -> None:
    assert faults(f"a: {text}") == [("a", 1, limits.NOT_FINITE)]


@pytest.mark.parametrize(
    ("text", "field", "line", "words"),
    [
        ("a: 1\na: 2", "a", 2, "given twice"),
        ("a: {b: 1, 'b': 2}", "a.b", 1, "given twice"),
        ("a: 1\nb: &x 2", "b", 2, "Anchors"),
        ("a: *x", "a", 1, "alias"),
        ("a: !!str 1", "a", 1, "Tags"),
        ("a: !x {}", "a", 1, "Tags"),
        ("a: ! x", "a", 1, "Tags"),
        ("1: x", "1", 1, "quotes"),
        ("true: x", "true", 1, "quotes"),
        ("a:\n  ~: x", "a.~", 2, "quotes"),
        ('a: "\\0"', "a", 1, "U+0000"),
        ('"\\0": a', "\0", 1, "U+0000"),
    ],
)
def test_what_is_more_than_data_is_refused_at_its_field(text: str, field: str | None, line: int, words: str) -> None:
    [(got_field, got_line, message)] = faults(text)
    assert (got_field, got_line) == (field, line)
    assert words in message


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\n...\nb: 2", 3, "one YAML document"),
        ("a: 1\n--- {}", 2, "one YAML document"),
        ("%YAML 1.1\na: on", 1, "directives"),
        ("%YAML 1.1\n---\na: on", 1, "directives"),
        ("%TAG ! x\n---\na: 1", 1, "directives"),
        ("? [a]\n: b", 1, "key must be a string"),
        ("? {a: 1}\n: b", 1, "key must be a string"),
        ("a: 1\ncron: */5 * * * *", 2, "quotes"),
        ("cron: * * * * *", 1, "quotes"),
        ("id: @acme/x", 1, "quotes"),
        ("a: `x`", 1, "quotes"),
        ("a: %x", 1, "quotes"),
        ("a:\n\tb: 1", 2, "spaces"),
        ("a: b: c", 1, "quotes"),
        ("a: [1, 2", 2, "bracket"),
        ('a: "x', 1, "quote"),
        ('a: "\\q"', 1, "escape"),
        ('a: "\\ud800"', 1, "character itself"),
        ("a: 1\n b: 2", 2, "colon"),
        ("- a\nb: c", 2, "indentation"),
        (": x", 1, "indentation"),
        ("a: \x01", 1, "control character"),
        ("é: 1\nb: \x00", 2, "control character"),
        ("a: \ud800", None, "Unicode"),
    ],
)
def test_what_cannot_be_read_on_is_refused_with_its_line(text: str, line: int | None, words: str) -> None:
    [(_, got_line, message)] = faults(text)
    assert (words in message, got_line) == (True, line), message


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_nesting_is_bounded_at_32_levels() -> None:
    assert faults(nested(limits.MAX_DEPTH)) == []
    for text in (nested(33), "- " * 33, "{a: " * 33, nested(900), "[" * 200_000, "? " * 100_000, "- " * 100_000):
        assert faults(text)[0][2] in (limits.TOO_DEEP, limits.KEY_NOT_STRING)


def test_keys_and_values_are_counted() -> None:
    at_the_limit = "[" + "a," * (limits.MAX_NODES - 1) + "]"
    assert len(load(at_the_limit)) == limits.MAX_NODES - 1
    assert faults(at_the_limit.replace("]", "a]"))[0][2] == limits.TOO_MANY
    assert faults("\n".join(f"k{n}: {n}" for n in range(2_500)))[0][2] == limits.TOO_MANY


def test_faults_are_collected_and_capped() -> None:
    assert [field for field, *_ in faults("a: .nan\nb: !x 1\nc: {d: *e , f: &g 1}")] == ["a", "b", "c.d", "c.f"]
    assert len(faults("[" + "*a," * 4_000 + "]")) == limits.MAX_FAULTS


def test_line_ends_of_1_1_alone_are_ordinary_characters() -> None:
    assert load("a: x\u2028y\u2029z\x85w # \u2028b: 1\nc: 2\x85") == {"a": "x\u2028y\u2029z\x85w", "c": "2\x85"}
    document = strictyaml.load("\u2028a: 1\nb: \U00100000\u2029")
    assert document.value == {"\u2028a": 1, "b": "\U00100000\u2029"}
    assert document.findings.lines == {(): 1, ("\u2028a",): 1, ("b",): 2}


def test_every_key_and_item_has_its_line() -> None:
    document = strictyaml.load("a: 1\r\nb:\r\n  - x\r\n  - c: >\r\n      long\r\n\r\n    d: {e: 1}\r\n", first_line=2)
    assert document.value == {"a": 1, "b": ["x", {"c": "long\n", "d": {"e": 1}}]}
    lines = {(): 2, ("a",): 2, ("b",): 3, ("b", 0): 4, ("b", 1): 5}
    assert document.findings.lines == lines | {("b", 1, "c"): 5, ("b", 1, "d"): 8, ("b", 1, "d", "e"): 8}


def test_an_empty_text_is_null() -> None:
    assert load("") is None
    assert load("# nothing\n") is None
