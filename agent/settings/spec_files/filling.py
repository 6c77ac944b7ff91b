"""Fill the values of parameters into the texts of a spec file.

`{set:NAME}` stands for the value of a parameter; `{{set:NAME}` is the text `{set:NAME}` itself. The values are filled
in after TOML was read, so that they cannot change the structure of the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from ...protocol import UserError
from ..default_limits import did_you_mean
from .command_lines import quoted_for, require_no_program
from .parameters import read_values, sample_values, written
from .problems import SpecProblem, place_of, problem_of
from .spec_schema import Step, node_at, takes_text
from .toml_values import Table

if TYPE_CHECKING:
    from .read_spec import SpecText
    from .toml_values import ParameterValue

Tables = TypeVar("Tables", bound=Table)
_PLACE = re.compile(r"\{(\{)?set:([^{}]*)\}")
_KEPT = ("parameters", "kind", "description")
"""Keys at the top level in which nothing is filled in."""
_COMMANDS = (("until",), ("confirm_with",), ("holdout",), ("setup",), ("migrate", "check"))
"""Keys whose values the shell reads."""
_ARGUMENTS = (("worker", "command"),)
"""Keys whose values are lists of arguments."""


def fill(
    spec: SpecText, tables: type[Tables], given: Mapping[str, str] | None, workspace: Path
) -> tuple[Tables, dict[str, ParameterValue]]:
    """Return the tables of a file with the values of its parameters, and these values. Raises UserError.

    `given`: texts by name, from `--set`. None means an example of each value, to check the file.
    """
    declared = spec.parameters()
    values = sample_values(declared) if given is None else read_values(declared, given, workspace)
    filling = _Filling(tables, values)
    try:
        made = msgspec.convert(filling.whole(spec.raw), tables)
    except msgspec.ValidationError as error:
        raise problem_of(str(error), tables) from None
    if unused := next((name for name in declared if name not in filling.used), None):
        raise SpecProblem(
            f"[parameters.{unused}] is not used: write {{set:{unused}}} where its value belongs, or remove it",
            ("parameters", unused),
        )
    return made, values


class _Filling:
    """Fills the values into one file."""

    def __init__(self, tables: type[Table], values: Mapping[str, ParameterValue]) -> None:
        self._tables, self._values = tables, values
        self.used: set[str] = set()
        """Names of the parameters that stand in the file."""

    def whole(self, raw: Mapping[str, object]) -> dict[str, object]:
        """Return the content of a file with its values. Raises SpecProblem."""
        return {key: value if key in _KEPT else self._filled(value, (key,)) for key, value in raw.items()}

    def _filled(self, value: object, path: tuple[Step, ...]) -> object:
        if isinstance(value, str) and "{set:" in value:
            return self._text(value, path)
        if isinstance(value, dict):
            table = cast("dict[str, object]", value)
            return {key: self._filled(one, (*path, key)) for key, one in table.items()}
        if isinstance(value, list):
            texts = cast("list[object]", value)
            if _keys(path) in _ARGUMENTS:
                self._check_arguments(texts, path)
            return [self._filled(one, (*path, at)) for at, one in enumerate(texts)]
        return value

    def _text(self, text: str, path: tuple[Step, ...]) -> ParameterValue:
        whole = _PLACE.fullmatch(text)
        if whole is not None and not whole[1] and not takes_text(node_at(self._tables, path)):
            return self._value(whole[2], path)
        is_command = _keys(path) in _COMMANDS
        made, before, at = "", "", 0
        for found in _PLACE.finditer(text):
            between = text[at : found.start()]
            made, before, at = made + between, before + between, found.end()
            if found[1]:
                made, before = f"{made}{{set:{found[2]}}}", f"{before}{{set:{found[2]}}}"
                continue
            value = written(self._value(found[2], path))
            made += self._quoted(found[2], value, before, path) if is_command else value
            before += "x"  # a word without quotes, as the value is one
        return made + text[at:]

    def _value(self, name: str, path: Sequence[Step]) -> ParameterValue:
        if name not in self._values:
            known = did_you_mean(name, list(self._values)) if self._values else f"declare [parameters.{name}]"
            fix = f"{known.rstrip('?')}, or write {{{{set:{name}}} for the text itself"
            raise SpecProblem(f"{place_of(path, self._tables)}: {{set:{name}}} is not a parameter: {fix}", path)
        self.used.add(name)
        return self._values[name]

    def _quoted(self, name: str, value: str, before: str, path: Sequence[Step]) -> str:
        try:
            return quoted_for(value, before)
        except UserError as error:
            raise SpecProblem(f"{place_of(path, self._tables)}: {{set:{name}}}: {error}", path) from None

    def _check_arguments(self, words: Sequence[object], path: Sequence[Step]) -> None:
        """Raise SpecProblem for a placeholder in the text of a program, such as the argument of `sh -c`."""
        texts = [str(word) for word in words]
        for at, word in enumerate(texts):
            found = next((one for one in _PLACE.finditer(word) if not one[1]), None)
            if found is None:
                continue
            try:
                require_no_program(texts, at, found.start())
            except UserError as error:
                place = place_of(path, self._tables)
                raise SpecProblem(f"{place}: {{set:{found[2]}}}: {error}", (*path, at)) from None


def _keys(path: Sequence[Step]) -> tuple[str, ...]:
    return tuple(step for step in path if isinstance(step, str))
