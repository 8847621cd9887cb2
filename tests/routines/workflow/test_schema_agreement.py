"""Our judgement beside AIP-15's own JSON Schema: what it refuses, we refuse too."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import jsonschema
import referencing
from referencing.jsonschema import DRAFT202012

from routines.domain import errors, frontmatter
from routines.workflow import parse
from tests.routines.workflow import texts

SCHEMAS = Path(__file__).parents[2] / "vectors" / "aip"
RUNNER = {"$id": "https://agentproto.sh/schemas/aip-17/RUNNER.schema.json", "$defs": {"runner": {"type": "object"}}}

JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**9, "", "x", "one", "$end", "$input.a", "build", [], ["x"], {}, {"a": 1}, "auto",
)  # fmt: skip
NAMES = ("id", "next", "retry", "timeout_ms", "approval", "outputs", "name", "start", "result", "tags", "surprise")
RETRIES = ({"max_attempts": 2, "backoff": "fixed"}, {"max_attempts": 0, "backoff": "fixed"}, {"backoff": "linear"})


def validator() -> jsonschema.Draft202012Validator:
    named = {name: json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8")) for name in ("WORKFLOW", "IO")}
    resources = [DRAFT202012.create_resource(schema) for schema in (named["IO"], RUNNER)]
    registry: referencing.Registry[Any] = resources @ referencing.Registry()
    return jsonschema.Draft202012Validator(named["WORKFLOW"], registry=registry)


def changed(rng: random.Random, fields: Any) -> Any:
    """The same manifest with up to two changes somewhere."""
    fields = copy.deepcopy(fields)
    for _ in range(rng.choice((0, 1, 1, 2))):
        holder = fields
        while True:
            key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
            if not (isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.8):
                break
            holder = holder[key]
        what = rng.randrange(4)
        if what == 0:
            del holder[key]
        elif what == 1 and isinstance(holder, dict):
            holder[rng.choice(NAMES)] = rng.choice(JUNK + RETRIES)
        else:
            holder[key] = rng.choice(JUNK)
    return fields


def test_we_never_take_what_the_schema_of_the_format_refuses() -> None:
    rng = random.Random(15)
    schema = validator()
    good = frontmatter.read(
        texts.text(texts.ALL_KINDS, "retry: {max_attempts: 2, backoff: fixed}", "max_steps: 9")
    ).value
    assert schema.is_valid(good)
    taken = refused = 0
    for _ in range(600):
        fields = changed(rng, good)
        try:
            parse.parse_workflow(f"---\n{json.dumps(fields)}\n---\n")
        except errors.Invalid:
            refused += 1
            continue
        taken += 1
        # A condition that is always so may stand without quotes, as published workflows write it.
        for branch in (branch for step in fields["steps"] for branch in step.get("branches", [])):
            if isinstance(branch.get("when"), bool):
                branch["when"] = "true"
        assert schema.is_valid(fields), (fields, list(schema.iter_errors(fields)))
    assert min(taken, refused) > 100
