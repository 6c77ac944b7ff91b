"""What a child run works on that repairs a finding: its task, its checks and its files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol import Target, UserError
from ...settings.spec_files.command_lines import quoted_at
from ...state.search.cited_line import cited_line, path_in

if TYPE_CHECKING:
    from ...state.search.finding_facts import Finding

FIELDS = ("{file}", "{line}", "{key}", "{title}")
"""Fields of a finding that a check may contain. Their values are quoted for the shell."""
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
    """Raise UserError for a field in a place of a check where quotes do not protect from its value."""
    for command in until:
        _filled(command, FIELDS)


def _filled(command: str, values: tuple[str, ...]) -> str:
    """Return the check of one finding. Each field is filled once, so no value can contain another field.

    Values come from a model. Raises UserError for a field in a place where quotes do not protect from its value.
    """
    by_field = dict(zip(FIELDS, values, strict=True))
    whole = ""
    for part in _FIELD.split(command):
        try:
            whole += quoted_at(by_field[part], whole) if part in by_field else part
        except UserError as e:
            raise UserError(f"--until {command!r}: {part} cannot be used there: {e}") from e
    return whole
