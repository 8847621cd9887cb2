"""What to tell the author of a text that is not strict YAML: libyaml's errors in words that say what to write."""

import yaml

from routines.domain import limits

ALIAS = (
    "A value that starts with * is an alias in YAML, which is not accepted. Put the value in quotes, as in "
    'cron: "*/5 * * * *", or write out what the alias stands for.'
)
ANCHOR = "Anchors (&name) are not accepted; leave it out, or put the value in quotes if it starts with &."
TAG = "Tags (!name) are not accepted; leave it out, or put the value in quotes if it starts with !."
DIRECTIVE = "Lines that start with % (YAML directives) are not accepted; leave it out."
SECOND_DOCUMENT = "The front matter must hold one YAML document; leave out the second one."

# By the start of libyaml's context or problem; the first that fits speaks.
_WORDS = (
    ("while scanning an alias", ALIAS),
    ("while scanning an anchor", ANCHOR),
    ("while scanning a tag", TAG),
    ("while parsing a tag", TAG),
    ("while scanning a directive", DIRECTIVE),
    ("while scanning a %", DIRECTIVE),
    ("exceeded maximum nesting depth", limits.TOO_DEEP),
    ("found unexpected end of stream", "A quoted string is not closed; add the closing quote."),
    ("found invalid Unicode character escape code", "An escape names no character; write the character itself."),
    (
        "found unknown escape character",
        "A string in double quotes holds an unknown escape; write \\\\ for a backslash.",
    ),
    ("mapping values are not allowed", "A value that holds a colon and a blank must stand in quotes."),
    ("found undefined tag handle", TAG),
    ("while scanning a quoted scalar", "A quoted string is malformed; check its quotes."),
    ("while scanning a block scalar", "After | or > the text starts on the next line, indented by spaces."),
    ("while scanning a simple key", "A line is neither `key: value` nor a list item; add the colon and a blank."),
    ("block sequence entries are not allowed", "A list starts on a line of its own: a line `key:`, then `- item`."),
    (
        "while parsing a flow",
        "A list in [ ] or mapping in { } is malformed: a comma or its closing bracket is missing.",
    ),
    ("while parsing a block", "The indentation does not fit: members of one mapping or list start in one column."),
)
_SPECIAL = {
    "@": 'A value that starts with @ must stand in quotes, for example id: "@acme/nightly".',
    "`": "A value that starts with ` must stand in quotes.",
    "%": "A value that starts with % must stand in quotes.",
    "\t": "Tabs cannot indent in YAML; use spaces.",
}


def explain(error: yaml.YAMLError, text: str) -> tuple[str, int | None]:
    """The words for an error of libyaml in this text, and its line counted from 0, where known."""
    if not isinstance(error, yaml.MarkedYAMLError):
        position = getattr(error, "position", None)
        # libyaml counts it in bytes.
        line = text.encode().count(b"\n", 0, position) if isinstance(position, int) else None
        return "The text holds a control character; leave it out, or write it as an escape in double quotes.", line
    mark = error.problem_mark or error.context_mark
    line = None if mark is None else int(mark.line)
    problem = error.problem or ""
    here = "" if line is None or mark is None else _character(text, line, int(mark.column))
    if problem.startswith("found character that cannot start any token") and here in _SPECIAL:
        return _SPECIAL[here], line
    if problem.startswith("did not find expected <document start>"):
        # A directive without a document after it: libyaml points at what follows.
        before = text.split("\n")[: (line or 0) + 1]
        directives = [number for number, start in enumerate(before) if start.startswith("%")]
        return (DIRECTIVE, directives[0]) if directives else (SECOND_DOCUMENT, line)
    for start, words in _WORDS:
        if problem.startswith(start) or (error.context or "").startswith(start):
            return words, line
    return f"The text is not valid YAML: {problem or 'it is malformed'}.", line


def _character(text: str, line: int, column: int) -> str:
    lines = text.split("\n", line + 1)
    return lines[line][column : column + 1] if line < len(lines) else ""
