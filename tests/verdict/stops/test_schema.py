import json
import os
import time

import pytest

from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.protocol import UserError
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.verdict.predicates.schema_predicate import judge_schema, load_schema

NUMBER = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}


async def judge(tmp_path, schema, answer, **more):
    (tmp_path / "s.json").write_text(json.dumps(schema))
    around = {"env": command_env(os.environ), "timeout": 60.0, "sandbox": Sandbox(), **more}
    return await judge_schema("s.json", answer, Workspace(tmp_path), **around)


@pytest.mark.parametrize("answer", ['{"n": 1}', '```json\n{"n": 1}\n```', ' {"n": 1}\n'])
async def test_an_answer_that_fits_passes(tmp_path, answer):
    verdict = await judge(tmp_path, NUMBER, answer)
    assert (verdict.name, verdict.passed) == ("schema s.json", True), verdict.detail


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "no answer yet"),
        ("  ", "no answer yet"),
        ("done", "not JSON"),
        ('{"n": 1} trailing', "not JSON"),
        ('{"n": NaN}', "not JSON"),
        ('{"n": "x", "n": 1}', "the key 'n' twice"),
        ('{"n": "x"}', "$.n"),
        ("{}", "'n' is a required property"),
        pytest.param("[" * 100_000 + "]" * 100_000, "nested too deeply", id="deep"),
        ('{"passed": true, "detail": ""}', "'n' is a required property"),
    ],
)
async def test_an_answer_that_does_not_fit_is_reported_with_the_reason(tmp_path, answer, says):
    verdict = await judge(tmp_path, NUMBER, answer)
    assert not verdict.passed
    assert says in verdict.detail


async def test_it_validates_in_the_sandbox(tmp_path):
    verdict = await judge(tmp_path, NUMBER, '{"n": 1}', sandbox=await Sandbox.detect())
    assert verdict.passed, verdict.detail


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "^(a+)+$"},
        {"patternProperties": {"^(a|a)*$": {}}},
        {
            "$defs": {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 9} for i in range(12)} | {"d12": {}},
            "$ref": "#/$defs/d0",
        },
    ],
)
async def test_a_validation_that_would_not_end_is_ended(tmp_path, schema):
    started = time.monotonic()
    bad = "a" * 60 + "!"
    verdict = await judge(tmp_path, schema, json.dumps({bad: 1} if "patternProperties" in schema else bad), seconds=0.5)
    assert not verdict.passed
    assert "did not end within 0.5 s" in verdict.detail
    assert time.monotonic() - started < 20


async def test_a_validation_ends_with_the_time_of_the_check(tmp_path):
    verdict = await judge(tmp_path, {"pattern": "^(a+)+$"}, json.dumps("a" * 60 + "!"), timeout=1.0, seconds=60.0)
    assert not verdict.passed
    assert "timed out after 1 s" in verdict.detail


REMOTE = "http://127.0.0.1:9/schema.json"


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": REMOTE},
        {"$ref": "https://example.org/s.json"},
        {"$ref": "file:///etc/s.json"},
        {"$ref": "other.json"},
        {"$ref": "urn:example:s"},
        {"$ref": "#/$defs/missing"},
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"$dynamicRef": f"{REMOTE}#x"},
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": REMOTE},
        {"$defs": {"a": {"$ref": REMOTE}}},
        {"definitions": {"a": {"$ref": REMOTE}}, "$ref": "#/definitions/a"},
        {"own": {"a": {"$ref": REMOTE}}, "$ref": "#/own/a"},
        {"properties": {"a": {"items": {"anyOf": [{"$ref": REMOTE}]}}}},
        {"if": {"$ref": REMOTE}},
        {"unevaluatedProperties": {"$ref": REMOTE}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"$ref": REMOTE}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "dependencies": {"a": {"$ref": REMOTE}}},
        {"$id": "http://h/a.json", "$ref": "b.json"},
    ],
)
def test_a_reference_that_leaves_the_file_is_refused(tmp_path, schema):
    (tmp_path / "s.json").write_text(json.dumps(schema))
    with pytest.raises(UserError, match="is not in the file, and rundry fetches no schema"):
        load_schema(tmp_path / "s.json")


@pytest.mark.parametrize("schema", [{"$schema": REMOTE}, {"$defs": {"a": {"$schema": REMOTE}}}, {"$schema": 7}])
def test_an_unknown_dialect_is_refused(tmp_path, schema):
    (tmp_path / "s.json").write_text(json.dumps(schema))
    with pytest.raises(UserError, match="not a dialect that rundry knows"):
        load_schema(tmp_path / "s.json")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"pattern": "("}', "not a 'regex'"),
        ('{"patternProperties": {"(": {}}}', "not a 'regex'"),
        ('{"own": {"allOf": 3}, "$ref": "#/own"}', "not a schema"),
        ('{"allOf": 3}', "not a valid JSON Schema"),
        pytest.param('{"not":' * 100_000 + "{}" + "}" * 100_000, "nested too deeply", id="deep"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(tmp_path, text, says):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(UserError, match=says):
        load_schema(tmp_path / "s.json")


def test_a_file_that_never_ends_is_refused(tmp_path):
    os.mkfifo(tmp_path / "s.json")
    with pytest.raises(UserError, match="not a regular file"):
        load_schema(tmp_path / "s.json")


@pytest.mark.parametrize(
    ("schema", "fits", "does_not"),
    [
        ({"$defs": {"a": {"type": "integer"}}, "$ref": "#/$defs/a"}, 1, "x"),
        ({"$defs": {"a": {"$anchor": "q", "type": "integer"}}, "$ref": "#q"}, 1, "x"),
        ({"$id": "http://h/r.json", "$defs": {"a": {"$id": "a.json", "type": "integer"}}, "$ref": "a.json"}, 1, "x"),
        ({"$id": "http://h/r", "$defs": {"a": {"type": "integer"}}, "$ref": "http://h/r#/$defs/a"}, 1, "x"),
        ({"type": "object", "additionalProperties": {"$ref": "#"}}, {"a": {"b": {}}}, {"a": 1}),
        ({"properties": {"$ref": {"type": "string"}}}, {"$ref": REMOTE}, {"$ref": 1}),
        ({"enum": [{"$ref": REMOTE}]}, {"$ref": REMOTE}, {"$ref": "x"}),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "definitions": {"a": {"type": "integer"}},
                "properties": {"n": {"$ref": "#/definitions/a"}},
            },
            {"n": 1},
            {"n": "x"},
        ),
    ],
)
async def test_references_within_the_file_work(tmp_path, schema, fits, does_not):
    assert (await judge(tmp_path, schema, json.dumps(fits))).passed
    assert not (await judge(tmp_path, schema, json.dumps(does_not))).passed
