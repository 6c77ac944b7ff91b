"""`--schema`: the final answer has to fit a JSON Schema (REQUIREMENTS 2.3.3). The one place that knows jsonschema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from ..protocol import UserError
from .verdict import Verdict

_MEND = "name a file with a JSON Schema"


def judge_schema(path: str, answer: str | None, root: Path | None = None) -> Verdict:
    """`--schema`: the final answer is JSON that fits the schema. `root`: where a relative path begins."""
    name = f"schema {path}"
    if answer is None or not answer.strip():
        return Verdict(name, False, "there is no answer yet")
    try:
        schema = load_schema((root or Path()) / path)
    except UserError as error:
        return Verdict(name, False, str(error))
    try:
        value: Any = json.loads(_unfenced(answer))
    except ValueError as error:
        return Verdict(name, False, f"the answer is no JSON: {error}")
    return _validate(name, schema, value)


def _validate(name: str, schema: dict[str, Any], value: Any) -> Verdict:  # noqa: ANN401 - whatever JSON brings
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    # An empty registry: a `$ref` to the network is not fetched.
    validator = validator_for(schema)(schema, registry=Registry())
    try:
        errors = sorted(validator.iter_errors(value), key=lambda error: len(error.absolute_path))
    except Unresolvable as unknown:
        return Verdict(name, False, f"the schema refers to {unknown.ref}, which is not in it")
    if not errors:
        return Verdict(name, True, "the answer fits the schema")
    error = errors[0]
    return Verdict(name, False, f"the answer does not fit the schema at {error.json_path}: {error.message[:300]}")


def _unfenced(answer: str) -> str:
    """Without one code fence around it all."""
    lines = answer.strip().splitlines()
    fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]) if fenced else answer


def load_schema(path: Path) -> dict[str, Any]:
    """The schema. Raises UserError for a missing file, a folder, broken JSON, or what is no JSON Schema."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    try:
        schema: object = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"--schema {path}: there is no such file; {_MEND}") from None
    except IsADirectoryError:
        raise UserError(f"--schema {path}: it is a folder; {_MEND}") from None
    except OSError as error:
        raise UserError(f"--schema {path}: it cannot be read ({error.strerror or error}); {_MEND}") from None
    except ValueError as error:
        raise UserError(f"--schema {path}: it is no JSON ({error}); {_MEND}") from None
    if not isinstance(schema, dict):
        raise UserError(f"--schema {path}: a JSON Schema is an object; {_MEND}")
    known = cast("dict[str, Any]", schema)
    try:
        validator_for(known).check_schema(known)
    except SchemaError as error:
        why = f"{error.json_path}: {error.message[:200]}"
        raise UserError(f"--schema {path}: it is no valid JSON Schema at {why}") from None
    return known
