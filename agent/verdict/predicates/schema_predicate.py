"""Check `--schema`: the reported answer must fit a JSON Schema (docs/requirements.md 2.3.3)."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...protocol import UserError
from ...sandbox.command_access import NO_ACCESS, Access
from ..checks.predicate_verdict import PredicateVerdict

if TYPE_CHECKING:
    from referencing import Specification
    from referencing._core import Resolver

    from ...host.processes.processes import Finished
    from ...host.workspace_paths import Workspace
    from ...sandbox.sandbox import Sandbox

SECONDS = 5.0
"""Limit of processor time for one validation, because a pattern can take years."""
_STARTING = 30.0
"""Additional seconds for the start of the process on a busy machine."""
_LARGEST = 4_000_000
_CHILD = Path(__file__).with_name("schema_child.py")
_FIX = "name a file with a JSON Schema"

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DIALECTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    *(f"http://json-schema.org/draft-0{number}/schema" for number in (7, 6, 4, 3)),
)
_LOCAL_FIX = "copy what it needs into its $defs and refer to it with #/$defs/..."


class _Answer(msgspec.Struct):
    passed: bool
    detail: str


async def judge_schema(
    path: str,
    answer: str | None,
    workspace: Workspace,
    *,
    env: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109 - a whole tree of processes has to end
    sandbox: Sandbox,
    seconds: float = SECONDS,
    access: Access = NO_ACCESS,
) -> PredicateVerdict:
    """Return whether the answer is JSON that fits the schema. A sandboxed process with limited time validates it.

    `path` is relative to the workspace; `seconds`: limit of the validation's processor time. `access`: the
    permissions of the process.
    """
    name = f"schema {path}"
    if answer is None or not answer.strip():
        return PredicateVerdict(name, False, "there is no answer yet")
    try:
        schema = load_schema(workspace.root / path)
    except UserError as error:
        return PredicateVerdict(name, False, str(error))
    argv = [sys.executable, "-I", "-B", "-c", _CHILD.read_text(encoding="utf-8"), str(seconds)]
    finished = await sandbox.run(
        argv,
        workspace.root,
        access,
        cwd=workspace.root,
        env=env,
        timeout=min(timeout, seconds + _STARTING),
        stdin=json.dumps([schema, answer]).encode(),
        separate_errors=True,
    )
    return _verdict(name, finished, seconds)


def _verdict(name: str, finished: Finished, seconds: float) -> PredicateVerdict:
    if finished.timed_out:
        return PredicateVerdict(name, False, f"validation {finished.error}")
    if finished.exit_code is None:
        return PredicateVerdict(name, False, f"validation could not be started: {finished.error}")
    try:
        found = msgspec.json.decode(finished.full, type=_Answer)
    except msgspec.DecodeError:
        why = f"validation did not end within {seconds:g} s of processor time, or crashed"
        return PredicateVerdict(
            name, False, f"{why} (exit code {finished.exit_code}): simplify the patterns of the schema"
        )
    return PredicateVerdict(name, found.passed, found.detail)


def load_schema(path: Path) -> dict[str, Any]:
    """Load the schema. Raises UserError for a missing file, broken JSON, an invalid schema or an external reference."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    option = f"--schema {path}"
    known = _read(path, option)
    try:
        _require_known_dialect(known, option)
        validator_for(known).check_schema(known)
        _require_local(known, option)
    except SchemaError as error:
        why = f"{error.json_path}: {error.message[:200]}"
        raise UserError(f"{option}: it is not a valid JSON Schema at {why}") from None
    except (AttributeError, TypeError) as error:  # the target of a reference is not a schema
        raise UserError(f"{option}: a part of it is not a schema ({error}); correct it") from None
    except RecursionError:
        raise UserError(f"{option}: it is nested too deeply; {_FIX} with fewer levels") from None
    return known


def _require_local(schema: dict[str, Any], option: str) -> None:
    """Raise UserError for a reference that the file cannot resolve, or for an unknown dialect.

    Nothing is fetched, and references to the dialects' own schemas are refused. `option`: the option for the message.
    """
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    default = cast("Specification[Any]", DRAFT202012)
    whole: Resource[Any] = Resource.from_contents(schema, default_specification=default)
    empty: Registry[Any] = Registry()
    registry = empty.with_resource(whole.id() or "", whole)
    todo: list[tuple[Resource[Any], Resolver[Any]]] = [(whole, registry.resolver_with_root(whole))]
    visited: set[tuple[int, str]] = set()
    while todo:
        resource, resolver = todo.pop()
        contents = resource.contents
        place = (id(contents), str(resolver._base_uri))  # pyright: ignore[reportPrivateUsage]
        if place in visited or not isinstance(contents, dict):
            continue
        visited.add(place)
        one = cast("dict[str, Any]", contents)
        _require_known_dialect(one, option)
        for keyword in _REFERENCES:
            reference = one.get(keyword)
            if not isinstance(reference, str):
                continue
            try:
                found = resolver.lookup(reference)
            except (Unresolvable, ValueError) as error:
                what = f'"{keyword}": "{reference}" is not in the file'
                raise UserError(f"{option}: {what}, and rundry fetches no schema; {_LOCAL_FIX}") from error
            target = _resource(found.contents, whole)
            if target is not None:
                todo.append((target, found.resolver))
        below = [*resource.subresources(), *(_resource(sub, whole) for sub in _draft3(schema, one))]
        todo += [(sub, resolver.in_subresource(sub)) for sub in below if isinstance(sub.contents, dict)]


def _resource(contents: object, whole: Any) -> Any:  # noqa: ANN401 - generic in the specification's own type
    """Wrap the contents. References also work to places without a keyword (`#/definitions/x` in 2020-12)."""
    specification = whole._specification
    return specification.create_resource(contents) if isinstance(contents, dict) else None


def _draft3(whole: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the schemas below keywords of draft 3 that `referencing` does not know."""
    if "draft-03" not in str(whole.get("$schema")):
        return []
    values: list[Any] = [schema.get("extends")]
    for keyword in ("type", "disallow"):
        found = schema.get(keyword)
        values += cast("list[Any]", found) if isinstance(found, list) else []
    return [value for value in values if isinstance(value, dict)]


def _require_known_dialect(schema: dict[str, Any], option: str) -> None:
    """Raise UserError if `$schema` names a dialect that rundry cannot validate."""
    dialect = schema.get("$schema")
    if dialect is None:
        return
    if not isinstance(dialect, str) or dialect.removesuffix("#") not in _DIALECTS:
        raise UserError(f'{option}: "$schema": "{dialect}" is not a dialect that rundry knows; write "{_DIALECTS[0]}"')


def _read(path: Path, option: str) -> dict[str, Any]:
    try:
        if path.is_dir():
            raise UserError(f"{option}: it is a folder; {_FIX}")
        if path.exists() and not path.is_file():
            raise UserError(f"{option}: it is not a regular file; {_FIX}")
        data = path.read_bytes()
        if len(data) > _LARGEST:
            raise UserError(f"{option}: the file has {len(data):,} bytes, but at most {_LARGEST:,} are allowed; {_FIX}")
        schema: object = json.loads(data)
    except FileNotFoundError:
        raise UserError(f"{option}: there is no such file; {_FIX}") from None
    except OSError as error:
        raise UserError(f"{option}: it cannot be read ({error.strerror or error}); {_FIX}") from None
    except ValueError as error:
        raise UserError(f"{option}: it is not JSON ({error}); {_FIX}") from None
    except RecursionError:
        raise UserError(f"{option}: it is nested too deeply; {_FIX} with fewer levels") from None
    if not isinstance(schema, dict):
        raise UserError(f"{option}: a JSON Schema is an object; {_FIX}")
    return cast("dict[str, Any]", schema)
