"""JSON text that loses nothing, and the strict decoder at the border."""

import json
import sys
import time

import pytest
from hypothesis import given, settings

from schedules.sessions import lossless
from schedules.sessions.lossless import Json
from tests.schedules.domain import strategies


def same(left: Json, right: Json) -> bool:
    """Equal with types, key order and the sign of zero."""
    return repr(left) == repr(right)


@settings(max_examples=200, deadline=None)
@given(strategies.JSON)
def test_any_json_value_comes_back_as_it_went_in(value: Json) -> None:
    text = lossless.dumps(value)
    assert text.isascii()
    assert "\n" not in text
    assert same(lossless.loads_trusted(text), value)
    assert same(lossless.loads(text), value)
    assert same(lossless.loads(text.encode()), value)


def test_what_databases_refuse_survives_as_escapes() -> None:
    assert lossless.dumps({"b": "\0\ud800", "a": [60, 60.0, -0.0]}) == '{"b":"\\u0000\\ud800","a":[60,60.0,-0.0]}'


def test_nan_is_never_written() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        lossless.dumps(float("nan"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-0", -0.0),
        ("-0.0", -0.0),
        ("-0e5", -0.0),
        ("0", 0),
        ("60", 60),
        ("60.0", 60.0),
        ("6e1", 60.0),
        ("1e308", 1e308),
        ("1e-400", 0.0),
        ("9007199254740993", 9007199254740993),
        (str(int(sys.float_info.max)), int(sys.float_info.max)),
        (' \t\r\n"\\ud83d\\ude00" ', "\U0001f600"),
        ('"\\ud800"', "\ud800"),
        ('"\u2028\u0085"', "\u2028\u0085"),
        ("[" * 64 + "]" * 64, eval("[" * 64 + "]" * 64)),
        ('"' + "[" * 1000 + '"', "[" * 1000),
        ("[[],{}]" + " " * 5, [[], {}]),
    ],
)
def test_strict_json_is_read(text: str, value: Json) -> None:
    assert same(lossless.loads(text), value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        (" \n", "empty"),
        (b"", "empty"),
        ("\ufeff{}", "byte order mark"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'"\xff"', "not UTF-8 (byte 2)"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        ("{}".encode("utf-16"), "not UTF-8"),
        ("NaN", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("1e400", "too large"),
        ("-1e400", "too large"),
        (str(int(sys.float_info.max) + 1), "too large"),
        ("1" + "0" * 400, "too large"),
        ("-" + "9" * 5_000, "too large"),
        ("9" * 1_000_000, "too large"),
        ('{"a":1,"b":2,"a":1}', 'the key "a" twice'),
        ('{"a":{"\\ud800":1,"\\ud800":1}}', 'the key "\\ud800" twice'),
        ("[" * 65 + "]" * 65, "nested over 64 levels (line 1, column 65)"),
        ("[" * 100_000, "nested over 64 levels"),
        ('{"a":' * 100_000, "nested over 64 levels"),
        ("[\n" * 65, "nested over 64 levels (line 65, column 1)"),
        ("{} {}", "more text after the value (line 1, column 4)"),
        ("[1,]", "line 1, column"),
        ("[1\n2]", "a comma or a closing bracket is missing (line 2, column 1)"),
        ('{"a" 1}', "a colon is missing"),
        ("{a:1}", "a key in double quotes is missing"),
        ('{"a":}', "a value is missing or misspelt (line 1, column 6)"),
        ("'a'", "a value is missing or misspelt"),
        ("True", "a value is missing or misspelt"),
        ("01", "more text after the value"),
        ("+1", "a value is missing"),
        (".5", "a value is missing"),
        ("1.", "more text after the value"),
        ("٣", "a value is missing"),
        ("1٣", "more text after the value"),
        ("\u00a01", "a value is missing"),
        ('"a', "a string is not closed"),
        ('"\t"', "a raw control character"),
        ('"\\x"', "an unknown escape"),
        ('"\\u12"', "an unknown escape"),
        ("// c\n1", "a value is missing"),
    ],
)
def test_anything_else_is_refused_in_plain_words(text: str | bytes, words: str) -> None:
    with pytest.raises(lossless.Invalid) as caught:
        lossless.loads(text)
    message = str(caught.value)
    assert words in message
    assert len(message) < 200
    for leak in ("Error", "Expecting", "codec", "Exceeds", "recursion"):
        assert leak not in message
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "text",
    [
        "[" * 500_000,
        '"\\"' * 300_000,
        "[" * 65 + '"' + '\\"' * 400_000 + "\\",
        "[" * 65 + "\\" * 900_000,
        '[""' * 200_000,
    ],
    ids=["brackets", "strings", "escaped quotes", "backslashes", "strings in brackets"],
)
def test_hostile_text_is_refused_quickly(text: str) -> None:
    started = time.process_time()
    with pytest.raises(lossless.Invalid):
        lossless.loads(text)
    assert time.process_time() - started < 2


def test_brackets_inside_strings_do_not_count_as_nesting() -> None:
    value: Json = [{"[" * 50: "]" * 50 + '\\"['}] * 10
    assert lossless.loads(lossless.dumps(value)) == value


@settings(max_examples=100, deadline=None)
@given(strategies.JSON)
def test_canonical_text_ignores_key_order_and_the_spelling_of_numbers(value: Json) -> None:
    def respelt(item: Json) -> Json:
        if isinstance(item, bool) or item is None:
            return item
        if isinstance(item, int) and abs(item) < 2**53:
            return float(item)
        if isinstance(item, list):
            return [respelt(member) for member in item]
        if isinstance(item, dict):
            return {key: respelt(item[key]) for key in reversed(item)}
        return item

    assert lossless.canonical(respelt(value)) == lossless.canonical(value)
    assert json.loads(lossless.canonical(value)) == value


def test_canonical_text_tells_different_values_apart() -> None:
    values: list[Json] = [1, True, "1", [1], {"1": 1}, None, False, 0, "", [], {}, 0.1, 2**53, 2**53 + 1]
    assert len({lossless.canonical(value) for value in values}) == len(values)
    assert lossless.canonical(-0.0) == lossless.canonical(0) == "0"


def test_an_index_key_is_injective_ascii_and_short() -> None:
    texts = ["schedule-1", "", '"', "\\", "\\u0000", "\0", "\ud800", "ü", "U", "u", "a" * 200, "a" * 201, "a" * 202]
    texts += ["\ud800" * 40, "§sha256:" + "0" * 64, lossless.index_key("a" * 201)]
    keys = [lossless.index_key(text) for text in texts]
    assert len(set(keys)) == len(keys)
    assert keys[0] == "schedule-1"
    assert all(len(key) <= 200 for key in keys)
    assert all(key.isascii() or key.startswith("§sha256:") for key in keys)
    assert lossless.index_key("a" * 200) == "a" * 200
    assert lossless.index_key("a" * 201).startswith("§sha256:")


def test_unicode_has_no_lone_surrogate() -> None:
    assert lossless.is_unicode("ü\0\U0001f600")
    assert not lossless.is_unicode("a\ud800")
    assert not lossless.is_unicode("\udc00")
