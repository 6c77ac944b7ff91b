"""Values of parameters: from `--set NAME=VALUE`, or their defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...protocol import UserError
from ..default_limits import did_you_mean
from ..option_values import parse_number
from .problems import SpecProblem

if TYPE_CHECKING:
    from .toml_values import ParameterTable, ParameterValue

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that no value contains. Tabs and line feeds are possible."""
_NUMBER = re.compile(r"-?(?:\d{1,15}(?:\.\d{1,12})?|\.\d{1,12})", re.ASCII)


def given_values(pairs: Sequence[str]) -> dict[str, str]:
    """Split texts `NAME=VALUE`. Raises UserError."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UserError(f"--set {pair!r}: write NAME=VALUE, such as --set path=src")
        if name.strip() in found:
            raise UserError(f"--set {name.strip()} is given twice: keep one")
        found[name.strip()] = value
    return found


def check_parameters(declared: Mapping[str, ParameterTable]) -> None:
    """Raise SpecProblem for a declaration that contradicts itself, or a default that is not of its type."""
    for name, one in declared.items():
        path = ("parameters", name)
        if one.type == "choice" and len(one.choices) < 2:
            raise SpecProblem(f"[parameters.{name}] is a choice: write at least two texts in choices", path)
        if one.type != "choice" and one.choices:
            raise SpecProblem(f'[parameters.{name}] choices: only a choice has them, so write type = "choice"', path)
        if one.required and one.default is not None:
            raise SpecProblem(f"[parameters.{name}] is required and has a default: keep one of both", path)
        if one.required is False and one.default is None:
            raise SpecProblem(f"[parameters.{name}] is not required, so it needs a default", path)
        if one.default is None:
            continue
        try:
            _default(one, one.default)
        except UserError as error:
            raise SpecProblem(f"[parameters.{name}] default: {error}", (*path, "default")) from None


def read_values(
    declared: Mapping[str, ParameterTable], given: Mapping[str, str], workspace: Path
) -> dict[str, ParameterValue]:
    """Return the value of each parameter. `workspace`: where relative paths start. Raises UserError."""
    if unknown := next((name for name in given if name not in declared), None):
        known = did_you_mean(unknown, list(declared)) if declared else "this file declares no parameters"
        raise UserError(f"--set {unknown}: unknown parameter: {known}")
    found: dict[str, ParameterValue] = {}
    missing = [name for name, one in declared.items() if name not in given and one.default is None]
    if missing:
        one = declared[missing[0]]
        about = f" ({about})" if (about := one.help.strip().rstrip(".")) else ""
        raise UserError(f"the parameter {missing[0]} is missing{about}: add --set {missing[0]}={example_of(one)}")
    for name, one in declared.items():
        try:
            if name in given:
                found[name] = _read(one, given[name])
            elif one.default is not None:
                found[name] = _default(one, one.default)
            if one.type == "path":
                found[name] = _existing(str(found[name]), workspace)
        except UserError as error:
            raise UserError(f"--set {name}: {error}") from None
    return found


def example_of(parameter: ParameterTable) -> str:
    """Return what a value looks like: `PATH`, `NUMBER`, `fast|thorough`."""
    match parameter.type:
        case "choice":
            return "|".join(parameter.choices)
        case "boolean":
            return "true|false"
        case "integer" | "number":
            return "NUMBER"
        case "path":
            return "PATH"
        case "string":
            return "TEXT"


def written(value: ParameterValue) -> str:
    """Return a value as it stands in a text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _read(parameter: ParameterTable, text: str) -> ParameterValue:
    """Return the value that a text of the command line means. Raises UserError."""
    if _CONTROLS.search(text):
        raise UserError(f"{text!r} contains control characters: remove them")
    match parameter.type:
        case "string":
            return text
        case "path":
            if not text.strip() or "\n" in text:
                raise UserError(f"{text!r} is not a path: name a file or a folder")
            return f"./{text}" if text.startswith("-") else text
        case "choice":
            if text not in parameter.choices:
                raise UserError(f"{text!r} is not possible: write one of {', '.join(parameter.choices)}")
            return text
        case "boolean":
            if text.lower() not in ("true", "false", "yes", "no", "1", "0"):
                raise UserError(f"{text!r} is neither true nor false")
            return text.lower() in ("true", "yes", "1")
        case "integer":
            return _whole(text)
        case "number":
            if not _NUMBER.fullmatch(text.strip()):
                raise UserError(f"{text!r} is not a number: write for example 2 or 0.25")
            return float(text)


def _whole(text: str) -> int:
    try:
        number = parse_number(text.strip().removeprefix("-"))
    except UserError:
        number = None
    if number is None:
        raise UserError(f"{text!r} is not a whole number: write for example 40 or 200k")
    return -number if text.strip().startswith("-") else number


def _default(parameter: ParameterTable, value: ParameterValue) -> ParameterValue:
    """Return the default if it is of the type. Raises UserError."""
    kinds = {"boolean": ("bool",), "integer": ("int",), "number": ("int", "float")}.get(parameter.type, ("str",))
    if type(value).__name__ not in kinds:
        raise UserError(f"{value!r} is not of the type {parameter.type}: write the default as {_form(parameter)}")
    return _read(parameter, value) if isinstance(value, str) else value


def _form(parameter: ParameterTable) -> str:
    match parameter.type:
        case "boolean":
            return "true or false, without quotes"
        case "integer" | "number":
            return "a number, without quotes"
        case _:
            return "a text in quotes"


def _existing(path: str, workspace: Path) -> str:
    try:
        exists = (workspace / path).exists()
    except OSError:
        exists = False
    if not exists:
        raise UserError(f"{path} does not exist in {workspace}: name an existing file or folder")
    return path


def sample_values(declared: Mapping[str, ParameterTable]) -> dict[str, ParameterValue]:
    """Return a possible value of each parameter, with which a file can be checked."""
    samples: Mapping[str, ParameterValue] = {"boolean": True, "integer": 1, "number": 1.0}
    return {
        name: one.default
        if one.default is not None
        else one.choices[0]
        if one.type == "choice"
        else samples.get(one.type, "example")
        for name, one in declared.items()
    }
