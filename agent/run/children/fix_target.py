"""What a child run works on that repairs a finding: its task, its checks and its files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol import Target, UserError
from ...shell.value_places import Value, filled_line, is_ordinary
from ...state.search.cited_line import cited_line, path_in

if TYPE_CHECKING:
    from ...state.search.finding_facts import Finding

FIELDS = ("{file}", "{line}", "{key}", "{title}")
"""Fields of a finding that a check may contain. Their values are quoted for the shell."""
_EXAMPLES = ("a.py", "1", "a", "any text;")
_FIELD = re.compile("(" + "|".join(map(re.escape, FIELDS)) + ")")
_TASK = """\
Fix: {title}

{body}It is a finding of an earlier search ("{search}"). Fix it, and nothing else."""


def target_of(finding: Finding, until: Sequence[str], search: str, workspace: str) -> Target:
    """Return what the child run of a finding works on. `search`: the task of the search.

    Raises UserError for a field in a place of a check where quotes do not protect from its value.
    """
    cited = cited_line(finding.evidence)
    file = path_in(cited.path, workspace) if cited is not None else ""
    body = "\n".join(part for part in (finding.detail, finding.evidence and f"Place: {finding.evidence}") if part)
    values = (file, "" if cited is None else str(cited.line), finding.key, finding.title)
    return Target(
        key=finding.key,
        title=finding.title,
        task=_TASK.format(title=finding.title, body=f"{body}\n\n" if body else "", search=search),
        until=[_filled(command, values) for command in until],
        files=[file] if file else [],
    )


def check_fields(until: Sequence[str]) -> None:
    """Raise UserError for a field in a place of a check where its value could be run."""
    for command in until:
        _filled(command, _EXAMPLES)


def _filled(command: str, values: tuple[str, ...]) -> str:
    """Return the check of one finding. Each field is filled once, so no value can contain another field.

    Values come from a model. Raises UserError for a field in a place where its value could be run.
    """
    by_field = dict[str, str](zip(FIELDS, values, strict=True))
    parts = [
        Value(text, is_text=bool(text) and not is_ordinary(text)) if (text := by_field.get(part)) is not None else part
        for part in _FIELD.split(command)
    ]
    try:
        return filled_line(parts)
    except UserError as e:
        used = ", ".join(field for field in FIELDS if field in command)
        raise UserError(f"--until {command!r}: {used} cannot be used there: {e}") from e
