"""The JSON Schema of config files has every key of the program, and says of a value what the program says."""

from __future__ import annotations

import ast
import datetime
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from rundry.agent import ConfigError, UserError
from rundry.agent.settings.option_table import BY_CONFIG_KEY, GROUPS, OPTIONS, TOP_LEVEL_KEYS
from rundry.agent.settings.settings import load_settings
from rundry.tui.cli.print_recipes import schema_of_kind
from rundry.tui.cli.root import cli

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^ *```toml[^\n]*\n(.*?)^ *```", re.M | re.S)


@cache
def validator(kind: Any) -> Any:
    schema = schema_of_kind(kind, cli)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def as_json(value: Any) -> Any:
    """What an editor compares with the schema: TOML's dates are texts."""
    if isinstance(value, dict):
        return {name: as_json(one) for name, one in value.items()}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else value


def problems(kind: str, raw: dict[str, Any]) -> list[str]:
    return [f"{list(error.path)}: {error.message}"[:300] for error in validator(kind).iter_errors(as_json(raw))]


def why_refused(raw: str, folder: Path) -> str | None:
    """Why the program refuses this text as the user's config, or None."""
    place = folder / "rundry" / "config.toml"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(raw)
    try:
        load_settings({}, cwd=folder, env={"XDG_CONFIG_HOME": str(folder)}, trust=False)
    except ConfigError as error:
        return str(error)
    return None


def texts() -> Iterator[tuple[str, str]]:
    """Every TOML text of the documents and of the tests that could be a config."""
    for page in [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]:
        for block in BLOCK.findall(page.read_text("utf-8")):
            yield page.name, "\n".join(line for line in block.splitlines())
    for path in sorted(ROOT.glob("tests/**/*.py")):
        source = path.read_text("utf-8")
        if "config" in source:
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and " = " in node.value:
                    yield path.name, node.value


def test_the_schema_has_exactly_the_keys_of_the_program_with_descriptions():
    for kind in ("config", "project"):
        top = schema_of_kind(kind, cli)["properties"]
        found: set[str] = set()
        for name, node in top.items():
            group = next(
                (one for one in (node, *node.get("anyOf", ())) if name in GROUPS and "properties" in one), None
            )
            found |= {f"{name}.{inner}" for inner in group["properties"]} if group else set()
            found |= {TOP_LEVEL_KEYS.get(name, name)} if group is None else set()
            assert node["description"]
            assert all(inner["description"] for inner in (group or {}).get("properties", {}).values())
        assert found == {key for key, name in BY_CONFIG_KEY.items() if kind == "config" or not OPTIONS[name].user_only}


@pytest.mark.parametrize("kind", ["config", "project"])
def test_the_committed_schemas_are_what_the_command_prints(kind):
    schema = schema_of_kind(kind, cli)
    assert json.loads((ROOT / f"docs/reference/{kind}.schema.json").read_text("utf-8")) == schema
    assert (schema["$schema"], schema["$id"]) == (
        "https://json-schema.org/draft/2020-12/schema",
        f"urn:rundry:{kind}",
    )


def test_every_config_of_the_documents_and_tests_that_the_program_reads_fits_the_schema(tmp_path):
    read, refused, wrong = 0, 0, []
    keys = {key.partition(".")[0] for key in (*BY_CONFIG_KEY, *TOP_LEVEL_KEYS)}
    for name, text in texts():
        try:
            raw = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        if not raw or not raw.keys() <= keys or "task" in raw:
            continue
        why, found = why_refused(text, tmp_path), problems("config", raw)
        read, refused = read + (why is None), refused + (why is not None)
        if why is None and found:
            wrong.append((name, text, found))
    assert wrong == []
    assert read >= 60
    assert refused >= 10


VALUES = st.one_of(
    st.sampled_from(
        ["", " ", "x", "auto", "ask", "none", "30m", "1h30m", "200k", "$5", "3/15", "true", "http://h/v1", "~/x", "/x",
         "80%", "A_B", "run_command=30/min", "1.5", "x\ny", "user", "high"]
    ),
    st.integers(-2, 2_000),
    st.sampled_from([0.5, 1.0, 1.5, -0.5]),
    st.booleans(),
    st.just([]),
    st.just({}),
    st.lists(st.sampled_from(["x", " ", 3, "example.org"]), max_size=2),
    st.sampled_from([
        [{"verdict": "allow", "command": "ls"}], [{"verdict": "perhaps", "command": "ls"}], {"verdict": "deny"},
        {"run_command": "30/min"}, {"run_command": "often"}, [{"on": "before-tool", "command": "x"}], [{"on": "x"}],
        [{"kind": "person"}], [{"kind": "model"}], {"s": {"command": "x"}}, {"s": {"command": "x", "url": "http://x"}},
        {"X-Team": "a"}, {"temperature": 0.2}, {"messages": []}, {"name": "m/x"},
    ]),
)  # fmt: skip


@given(st.sampled_from(sorted(BY_CONFIG_KEY)), VALUES)
def test_the_schema_never_refuses_what_the_program_reads(key: str, value: Any):
    """And most of what the schema accepts is read: the table below has what it must refuse, too."""
    if not is_read(key, value):
        return
    assert problems("config", nested(key, value)) == [], (key, value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("budget.steps", -1), ("budget.steps", "many"), ("budget.steps", True), ("budget.steps", 1.5),
        ("budget.time", "soon"), ("budget.usd", "cheap"), ("loop", "forever"), ("gate.mode", "yolo"),
        ("verify", "never"), ("find.concurrency", 0), ("find.concurrency", 9_999), ("tool_error_rate", 1.5),
        ("window", 1), ("command_timeout", "none"), ("model.price", "3"), ("model.price", [1]),
        ("model.api_base", "ftp://x"), ("model.effort", "huge"), ("until", 3), ("until", [" "]), ("guard", [""]),
        ("gate.rules", [{"verdict": "perhaps", "command": "ls"}]), ("gate.rules", [{"verdict": "deny"}]),
        ("gate.rules", [{"verdict": "deny", "comand": "ls"}]), ("sandbox.network", "maybe"), ("sandbox.hide", ["x"]),
        ("sandbox.env", ["a-b"]), ("quota", {"run_command": "often"}), ("hooks", [{"on": "x", "command": "y"}]),
        ("hooks", [{"on": "before-tool"}]), ("hooks", [{"on": "before-tool", "command": "x", "when": 1}]),
        ("mcp.servers", {"s": {"command": "x", "url": "https://x"}}), ("mcp.servers", {"s": {}}),
        ("mcp.servers", {"s": {"command": "x", "timeout": 0}}), ("mcp.servers", {"s": {"command": "x", "arg": []}}),
        ("mcp.servers", {"s": {"url": "https://x", "env": []}}), ("handoff.tier", [{"kind": "model"}]),
        ("handoff.tier", [{"kind": "boss"}]), ("handoff.tier", [{"kind": "person", "run": "x"}]),
        ("model.params", {"messages": []}), ("model.headers", {"X Y": "a"}), ("otel.endpoint", "x"),
        ("layers.live", ["/var"]), ("keys", {"quit": 3}), ("escalate", {"api_base": "http://x"}),
    ],
)  # fmt: skip
def test_both_refuse_a_wrong_value(key: str, value: Any):
    assert not is_read(key, value)
    assert problems("config", nested(key, value)) != []


@pytest.mark.parametrize("raw", [{"stepz": 3}, {"budget": {"stepz": 3}}, {"budget": 3}, {"gate": "yolo"}])
def test_both_refuse_an_unknown_key(raw: dict[str, Any], tmp_path: Path):
    text = "\n".join(
        f"[{name}]\n" + "\n".join(f"{inner} = {json.dumps(one)}" for inner, one in value.items())
        if isinstance(value, dict)
        else f"{name} = {json.dumps(value)}"
        for name, value in raw.items()
    )
    assert why_refused(text, tmp_path) is not None
    assert problems("config", raw) != []


def test_the_schema_of_a_project_refuses_what_only_the_user_may_set():
    for key, name in BY_CONFIG_KEY.items():
        if OPTIONS[name].user_only:
            assert problems("project", nested(key, "x")) != []


def is_read(key: str, value: Any) -> bool:
    try:
        OPTIONS[BY_CONFIG_KEY[key]].read(value, 0.0)
    except UserError:
        return False
    return True


def nested(key: str, value: Any) -> dict[str, Any]:
    group, dot, inner = key.partition(".")
    return {group: {inner: value}} if dot else {group: value}
