"""Where the front matter of a file starts and ends."""

import pytest

from routines.domain import errors, frontmatter, limits, parse
from tests.routines.domain import texts


@pytest.mark.parametrize(
    ("text", "yaml", "body"),
    [
        ("---\na: 1\n---\n# B\n", "a: 1\n", "# B\n"),
        ("\ufeff---\na: 1\n---", "a: 1\n", ""),
        ("---\r\na: 1\r\n---\r\nb", "a: 1\r\n", "b"),
        ("--- \t\na: 1\n---  \n\nb\n---\nc", "a: 1\n", "\nb\n---\nc"),
        ("---\n---\n", "", ""),
        ("---\na: |\n  ---\n----\n---\n", "a: |\n  ---\n----\n", ""),
        ("---\na: x\u2028---\n---\nb", "a: x\u2028---\n", "b"),
    ],
)
def test_lines_of_three_hyphens_fence_it(text: str, yaml: str, body: str) -> None:
    assert frontmatter.split(text) == frontmatter.Parts(yaml=yaml, body=body)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must start with front matter"),
        ("# Notes\n---\na: 1\n---\n", "must start with front matter"),
        ("\n---\na: 1\n---\n", "must start with front matter"),
        ("----\na: 1\n---\n", "must start with front matter"),
        ("---js\nmodule.exports = {}\n---\n", "exactly ---"),
        ("--- yaml\na: 1\n---\n", "exactly ---"),
        ("---", "not closed"),
        ("---\na: 1\n", "not closed"),
        ("---\na: 1\n --- \n", "not closed"),
    ],
)
def test_a_missing_or_odd_fence_is_said_clearly(text: str, words: str) -> None:
    with pytest.raises(errors.Invalid, match=words) as caught:
        frontmatter.split(text)
    assert [(fault.code, fault.line) for fault in caught.value.faults] == [("routine_invalid", 1)]


def test_a_file_of_256_kib_is_read_and_a_larger_one_is_not() -> None:
    filler = limits.MAX_BYTES - len(texts.GOOD)
    assert parse.read_routine(texts.GOOD + "x" * filler).routine is not None
    for text in (texts.GOOD + "x" * (filler + 1), texts.GOOD + "é" * (filler // 2 + 1), "x" * 50_000_000):
        assert [fault.message for fault in parse.read_routine(text).faults] == [limits.TOO_LARGE]


def test_bytes_are_utf8() -> None:
    assert frontmatter.decode("---\né".encode()) == "---\né"
    with pytest.raises(errors.Invalid, match=r"line 2: .*UTF-8"):
        frontmatter.decode(b"---\n\xe9")
    with pytest.raises(errors.Invalid, match="256 KiB"):
        frontmatter.decode(b"x" * (limits.MAX_BYTES + 1))
