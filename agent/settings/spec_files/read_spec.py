"""Read a spec file. Every mistake is one line with the file, the line, the key and the fix."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...host.plain_files import read_plain
from ...protocol import UserError
from .parameters import check_parameters
from .problems import SpecProblem, line_of, problem_of
from .toml_values import NAME, ParameterTable

if TYPE_CHECKING:
    from .spec_schema import SpecKind

_LARGEST = 64_000_000
"""Maximum size in bytes: a spec may list many seeds."""
_COMMANDS: Mapping[SpecKind, str] = {"find": "rundry find", "goal": "rundry run"}
_MEANINGS: Mapping[SpecKind, str] = {"find": "a search", "goal": "a goal run"}


def read_spec(path: Path) -> bytes:
    """Return the content of a spec file. Raises OSError."""
    return read_plain(path, _LARGEST)


class SpecText:
    """The content of a spec file, which is not checked yet."""

    def __init__(self, path: Path, data: bytes | None = None) -> None:
        """`data`: the content, if it was read already. Raises UserError for a file that is not TOML."""
        self.path = path
        try:
            self.text = (read_spec(path) if data is None else data).decode()
            self.raw: dict[str, Any] = tomllib.loads(self.text)
        except OSError as error:
            raise UserError(f"{path}: {error.strerror or error}: name a spec file, a recipe or a --recipe") from None
        except UnicodeDecodeError:
            raise UserError(f"{path}: this is not UTF-8 text, so it is not a spec file") from None
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise UserError(f"{path}: this is not TOML: {error}") from None

    @property
    def kind(self) -> SpecKind:
        """Whether the file describes a goal run (`kind = "goal"`) or a search."""
        return "goal" if self.raw.get("kind") == "goal" else "find"

    @contextmanager
    def located(self) -> Generator[None, None, None]:
        """Add the file and the line to the message of a UserError."""
        try:
            yield
        except SpecProblem as problem:
            line = line_of(self.text, problem.path)
            raise UserError(f"{self.path}: {'' if line is None else f'line {line}: '}{problem}") from None
        except UserError as error:
            raise UserError(f"{self.path}: {error}") from None

    def require(self, kind: SpecKind, word: str | None = None) -> None:
        """Raise SpecProblem if the file describes something else. `word`: how the user named the file."""
        if self.kind != kind:
            is_named = self.raw.get("kind") == "goal" or kind == "find"
            fix = "" if is_named else ', or add kind = "goal" at its top'
            command = f"{_COMMANDS[self.kind]} {shlex.quote(word or str(self.path))}"
            raise SpecProblem(f"this file describes {_MEANINGS[self.kind]}: use {command}{fix}", ("kind",))

    def parameters(self) -> dict[str, ParameterTable]:
        """Return the declared parameters. Raises SpecProblem."""
        declared = self.raw.get("parameters", {})
        if not isinstance(declared, dict):
            raise SpecProblem("parameters: write a table for each, [parameters.NAME]", ("parameters",))
        found: dict[str, ParameterTable] = {}
        for name, table in cast("dict[str, object]", declared).items():
            if not re.match(NAME, name):
                raise SpecProblem(
                    f"[parameters.{name!r}]: write names with small letters, digits, - and _, and a letter first",
                    ("parameters", name),
                )
            try:
                found[name] = msgspec.convert(table, ParameterTable)
            except msgspec.ValidationError as error:
                problem = problem_of(str(error), ParameterTable)
                text = str(problem).replace("the file ", "", 1)
                raise SpecProblem(f"[parameters.{name}] {text}", ("parameters", name, *problem.path)) from None
        check_parameters(found)
        return found
