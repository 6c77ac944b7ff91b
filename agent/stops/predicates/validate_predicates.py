"""Refuse success predicates that can never hold, before the run."""

from __future__ import annotations

from pathlib import Path

from ...protocol import Predicates, UserError
from ..module_names import require_function
from .required import parse_requirement
from .schema import load_schema


def validate_predicates(predicates: Predicates, root: Path) -> None:
    """Raise UserError for a predicate that can never hold: a missing file or function, a wrong schema or name."""
    for script in predicates.until_py:
        file, _, function = script.rpartition(":")
        if not file or not function.isidentifier():
            raise UserError(f"--until-py {script}: write FILE:function")
        if not (root / file).is_file():
            raise UserError(f"--until-py {script}: the file {file} does not exist in {root}")
        require_function(script, root / file, function)
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
