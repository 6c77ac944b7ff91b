"""Refuse success predicates that can never hold, before the run."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from ...host.plain_files import read_plain
from ...protocol import Predicates, UserError
from .required import parse_requirement
from .schema_predicate import load_schema


def validate_predicates(predicates: Predicates, root: Path) -> None:
    """Raise UserError for a predicate that can never hold: a missing file or function, a wrong schema or name."""
    for script in predicates.until_py:
        file, _, function = script.rpartition(":")
        if not file or not function.isidentifier():
            raise UserError(f"--until-py {script}: write FILE:function")
        if not (root / file).is_file():
            raise UserError(f"--until-py {script}: the file {file} does not exist in {root}")
        _require_function(script, root / file, function)
    if predicates.schema is not None:
        load_schema(root / predicates.schema)
    for action in predicates.require:
        parse_requirement(action)
    for command in predicates.until:
        if not command.strip():
            raise UserError("--until: the command is empty")
    for path in predicates.until_file:
        if not path.strip():
            raise UserError("--until-file: the path is empty")


def _require_function(option: str, file: Path, function: str) -> None:
    """Raise UserError if the file is not Python or does not bind the name. `option`: the option's value."""
    try:
        names = _module_names(ast.parse(read_plain(file), str(file)))
    except SyntaxError as error:
        raise UserError(f"--until-py {option}: syntax error in line {error.lineno} ({error.msg}); correct it") from None
    except (OSError, ValueError) as error:
        raise UserError(f"--until-py {option}: the file cannot be read ({error})") from None
    if names is None or function in names:
        return
    there = ", ".join(names) or "none"
    raise UserError(f"--until-py {option}: the file has no `{function}`; write FILE:function (its names: {there})")


def _module_names(module: ast.Module) -> list[str] | None:
    """Return the names at module level in order, including those in branches; None if they cannot be determined."""
    names: dict[str, None] = {}
    for node in _at_module_level(module.body):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names[name] = None
                if name == "__getattr__":
                    return None
            case ast.Name(id=name, ctx=ast.Store()):
                names[name] = None
            case ast.Global(names=declared):
                names |= dict.fromkeys(declared)
            case ast.alias(name="*"):
                return None
            case ast.alias(name=name, asname=known_as):
                names[known_as or name.partition(".")[0]] = None
            case _:
                pass
    return list(names)


def _at_module_level(nodes: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """Yield all nodes except those inside a function or class, which bind their own names."""
    for node in nodes:
        yield node
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                yield from (inner for inner in ast.walk(node) if isinstance(inner, ast.Global))
            case _:
                yield from _at_module_level(ast.iter_child_nodes(node))
