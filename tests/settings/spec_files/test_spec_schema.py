"""The published JSON Schema accepts what the program accepts, in every spec file of the documents and the tests."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from rundry.agent.protocol import UserError
from rundry.agent.settings.search.search_tables import TABLES, SpecFile
from rundry.agent.settings.spec_files.filling import fill
from rundry.agent.settings.spec_files.goal_tables import GOAL_TABLES, GoalFile
from rundry.agent.settings.spec_files.read_spec import SpecText
from rundry.agent.settings.spec_files.spec_schema import spec_schema

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```toml[^\n]*\n(.*?)^```", re.M | re.S)
MEMBER = re.compile(r"^(?:kind|task) = ", re.M)
Kind = Literal["find", "goal"]


@cache
def validator(kind: Kind) -> Any:
    schema = spec_schema(kind)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def texts() -> Iterator[tuple[str, str]]:
    """Every TOML text of the documents, and every text of a test that looks like a spec file."""
    for page in [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]:
        for block in BLOCK.findall(page.read_text("utf-8")):
            yield page.name, block
    for path in sorted(ROOT.glob("tests/**/*.py")):
        source = path.read_text("utf-8")
        if "task = " in source:
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and MEMBER.search(node.value):
                    yield path.name, re.sub(r"= \{\w+\}$", "= 1", node.value, flags=re.M)


def specs() -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    for name, text in texts():
        try:
            raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        if isinstance(raw.get("task"), str) and raw.keys() & {"lens", "seed", "worker", "migrate", "kind", "leads"}:
            found.append((name, raw))
    return found


def is_read(raw: dict[str, Any]) -> bool:
    """Whether the tables of the program fit it, with examples for its parameters."""
    text = SpecText(Path("x.toml"), b"")
    text.raw = raw
    try:
        fill(text, GoalFile if text.kind == "goal" else SpecFile, None, Path("/"))
    except UserError as error:
        return "is not used" in str(error)  # the schema cannot know where a parameter stands
    return True


def test_every_spec_of_the_documents_and_tests_fits_the_schema_if_the_program_reads_it():
    found = specs()
    assert {name for name, _ in found} >= {"recipes.md", "requirements.md", "write-a-worker.md", "tutorial.md"}
    assert len(found) >= 20
    for name, raw in found:
        problems = [
            error.message for error in validator("goal" if raw.get("kind") == "goal" else "find").iter_errors(raw)
        ]
        assert is_read(raw) == (not problems), (name, raw, problems)


def test_the_committed_schemas_are_what_the_command_prints():
    for kind in ("find", "goal"):
        assert json.loads((ROOT / f"docs/reference/{kind}.schema.json").read_text("utf-8")) == spec_schema(kind)


VALUES = st.one_of(
    st.sampled_from([" ", "x", "url", "auto", "on-change", "{set:n}", "{set:p}", "find", "30m", "true"]),
    st.integers(-2, 2_000),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer()),
    st.booleans(),
    st.just([]),
    st.just({}),
    st.lists(st.sampled_from(["x", " ", "{set:p}", 3]), max_size=2),
)
PARAMETERS = {"n": {"type": "integer"}, "p": {"type": "string"}}


@st.composite
def files(draw: st.DrawFn) -> tuple[Kind, dict[str, Any]]:
    kind: Kind = draw(st.sampled_from(["find", "goal"]))
    tables = TABLES if kind == "find" else GOAL_TABLES
    raw: dict[str, Any] = {"task": "t", "parameters": PARAMETERS} | ({"kind": "goal"} if kind == "goal" else {})
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(sorted(tables)))
        known = [field.name for field in msgspec.structs.fields(tables[name]) if field.name != "parameters"]
        table = {key: draw(VALUES) for key in draw(st.sets(st.sampled_from([*known, "other"]), max_size=3))}
        if not name:
            raw |= {key: value for key, value in table.items() if key != "kind"}
        else:
            raw[name] = [table] if name in ("lens", "seed") else table
    return kind, raw


@given(file=files())
def test_the_schema_accepts_a_file_exactly_if_the_tables_of_the_program_do(file: tuple[Kind, dict[str, Any]]):
    kind, raw = file
    whole = "{set:p}" in str(raw) and not validator(kind).is_valid({**raw, "parameters": {}})
    accepts = validator(kind).is_valid(raw)
    if is_read(raw):
        assert accepts, list(validator(kind).iter_errors(raw))
    elif accepts and not whole:
        assert "{set:" in str(raw)  # only the value of a parameter can be what the schema does not see


@pytest.mark.parametrize("kind", ["find", "goal"])
def test_every_key_of_the_schema_says_what_it_is_for(kind: Kind):
    schema = spec_schema(kind)
    tables = {name: node for name, node in schema["$defs"].items() if "properties" in node}
    named = [("", schema), *tables.items()]
    for name, node in named:
        assert node["additionalProperties"] is False
        for key, about in node["properties"].items():
            target = about.get("$ref", about.get("items", {}).get("$ref", "")).rpartition("/")[2]
            assert about.get("description") or tables[target]["description"], (name, key)
