"""`rundry fix`: make a run with one child run for each confirmed finding of a search. Does not import textual."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from rundry.agent import (
    FixSpec,
    Journal,
    LoopKind,
    ModelSpec,
    RunSpec,
    Target,
    UserError,
    budget_is_set,
    budget_of,
    find_run,
    holder,
    last_end,
    plural,
    quoted_at,
    require_own_journal,
)

from .confirmed_findings import FoundRow, findings_of
from .new_run import Setup
from .run_folders import folder_of

FIELDS = ("{file}", "{line}", "{key}", "{title}")
"""Fields of a finding that `--until` may contain. Their values are quoted for the shell."""
_FIELD = re.compile("(" + "|".join(map(re.escape, FIELDS)) + ")")
_TASK = """\
Fix: {title}

{body}It is a finding of an earlier search ("{search}"). Fix it, and nothing else."""


class FixSetup(Setup):
    """The options of one fix run."""

    _has_default_gate = False

    def __init__(self, source: Path, flags: Mapping[str, object], *, headless: bool) -> None:
        """`source`: the journal of the search. Raises UserError, or JournalError if it cannot be read."""
        journal = Journal.open_for_reading(source)
        try:
            self._source = _finished_search(journal)
            self._rows = [row for row in findings_of(journal).rows if _is_confirmed(row)]
        finally:
            journal.close()
        if not self._rows:
            raise UserError(
                f"the search {source.stem} has no confirmed finding, so there is nothing to fix: "
                f"`rundry export {source.stem} --format findings-md` lists what it found"
            )
        given = {name: value for name, value in flags.items() if value not in (None, False, ())}
        super().__init__({**given, "cwd": self._source.home, "loop": "goal"}, headless=headless)
        if not self.settings.texts("until"):
            raise UserError("a fix run needs a check for each finding: add --until CMD, where {file} is its file")
        if not budget_is_set(self.settings):
            raise UserError(
                "a run with child runs needs an explicit budget: add --steps, --tokens, --usd, --time or --deadline, "
                "with a value other than none"
            )
        if self.model is None and self._source.model.name != "none":
            self.choose(self._source.model)

    @property
    def task(self) -> str:
        """The task of the whole run."""
        return f"fix {plural(len(self._rows), 'finding')} of {self._source.run_id}: {self._source.task}"

    def _spec(self, task: str, model: ModelSpec) -> RunSpec:
        """Return the run with one child for each finding. The predicates are those of the children."""
        spec = super()._spec(task, model)
        targets = [self._target(row, spec.predicates.until) for row in self._rows]
        fix = FixSpec(source=self._source.run_id, targets=targets)
        return msgspec.structs.replace(spec, loop=LoopKind.FIX, budget=budget_of(self.settings, LoopKind.FIX), fix=fix)

    def _target(self, row: FoundRow, until: list[str]) -> Target:
        finding = row.finding
        body = "\n".join(part for part in (finding.detail, finding.evidence and f"Place: {finding.evidence}") if part)
        values = (row.file, "" if row.line is None else str(row.line), finding.key, finding.title)
        return Target(
            key=finding.key,
            title=finding.title,
            task=_TASK.format(title=finding.title, body=f"{body}\n\n" if body else "", search=self._source.task),
            until=[_filled(command, values) for command in until],
            files=[row.file] if row.file else [],
        )


def source_of(ref: str, flags: Mapping[str, object]) -> Path:
    """Return the journal of the search. Raises UserError, NotTrusted."""
    folder = folder_of(flags)
    path = find_run(ref, folder, None)
    require_own_journal(path, folder, trust=bool(flags.get("trust")))
    return path


def _finished_search(journal: Journal) -> RunSpec:
    spec = journal.spec
    if not spec.loop.traits.has_search:
        raise UserError(f"{spec.run_id} is {spec.loop.a_run}, not a search: `rundry runs` lists the runs")
    if last_end(journal) is None:
        state = "is still running: wait for its end" if holder(journal.path) else "has not ended: resume it first"
        raise UserError(f"the search {spec.run_id} {state}")
    return spec


def _is_confirmed(row: FoundRow) -> bool:
    return row.state in ("confirmed", "unverified")


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
