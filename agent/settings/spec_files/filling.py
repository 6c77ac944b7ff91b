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
from ...shell.value_places import Value, filled_line, is_ordinary, require_data_words
from ..default_limits import did_you_mean
from .parameters import read_values, sample_values, written
from .problems import SpecProblem, place_of, problem_of
from .spec_schema import Step, node_at, takes_text
from .toml_values import Table

if TYPE_CHECKING:
    from .read_spec import SpecText
    from .toml_values import ParameterTable, ParameterValue

Tables = TypeVar("Tables", bound=Table)
_PLACE = re.compile(r"\{(\{)?set:([^{}]*)\}")
_FIELDS = re.compile(r"\{(?:file|line|key|title)\}")
"""Fields that are filled in later, with other rules for quotes."""
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
    filling = _Filling(tables, declared, values)
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

    def __init__(
        self, tables: type[Table], declared: Mapping[str, ParameterTable], values: Mapping[str, ParameterValue]
    ) -> None:
        self._tables, self._declared, self._values = tables, declared, values
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
        parts: list[str | Value] = []
        at = 0
        for found in _PLACE.finditer(text):
            parts.append(text[at : found.start()])
            at = found.end()
            parts.append(f"{{set:{found[2]}}}" if found[1] else self._named(found[2], path))
        parts.append(text[at:])
        if _keys(path) not in _COMMANDS:
            return "".join(part.text if isinstance(part, Value) else part for part in parts)
        names = ", ".join(dict.fromkeys(found[0] for found in _PLACE.finditer(text) if not found[1]))
        try:
            if found := next((one.text for one in parts if isinstance(one, Value) and _FIELDS.search(one.text)), None):
                raise UserError(f"{found!r} contains a field such as {{file}}, which is filled in later: remove it")
            return filled_line(parts)
        except UserError as error:
            raise SpecProblem(f"{place_of(path, self._tables)}: {names}: {error}", path) from None

    def _named(self, name: str, path: Sequence[Step]) -> Value:
        """Return the value of a parameter for a place in a text."""
        value = written(self._value(name, path))
        kind = self._declared[name].type
        return Value(value, is_text=kind == "string" or (kind == "path" and not is_ordinary(value)))

    def _value(self, name: str, path: Sequence[Step]) -> ParameterValue:
        if name not in self._values:
            known = did_you_mean(name, list(self._values)) if self._values else f"declare [parameters.{name}]"
            fix = f"{known.rstrip('?')}, or write {{{{set:{name}}} for the text itself"
            raise SpecProblem(f"{place_of(path, self._tables)}: {{set:{name}}} is not a parameter: {fix}", path)
        self.used.add(name)
        return self._values[name]

    def _check_arguments(self, words: Sequence[object], path: Sequence[Step]) -> None:
        """Raise SpecProblem for a placeholder that the program of a list of arguments could run."""
        texts = [str(word) for word in words]
        for at, word in enumerate(texts):
            found = next((one for one in _PLACE.finditer(word) if not one[1]), None)
            if found is None:
                continue
            parts: list[list[str | Value]] = [[_PLACE.sub("x", text)] for text in texts]
            parts[at] = [word[: found.start()], self._named(found[2], path), word[found.end() :]]
            try:
                require_data_words(parts)
            except UserError as error:
                place = place_of(path, self._tables)
                raise SpecProblem(f"{place}: {{set:{found[2]}}}: {error}", (*path, at)) from None


def _keys(path: Sequence[Step]) -> tuple[str, ...]:
    return tuple(step for step in path if isinstance(step, str))
