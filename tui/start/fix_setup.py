"""`rundry fix`: make a run with one child run for each confirmed finding of a search. Does not import textual."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from rundry.agent import (
    FixSpec,
    Journal,
    LoopKind,
    ModelSpec,
    RunSpec,
    UserError,
    budget_is_set,
    budget_of,
    find_run,
    holder,
    last_end,
    plural,
    require_own_journal,
    target_of,
)

from .confirmed_findings import FoundRow, findings_of
from .new_run import Setup
from .run_folders import folder_of


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
        targets = [
            target_of(row.finding, spec.predicates.until, self._source.task, self._source.workspace)
            for row in self._rows
        ]
        fix = FixSpec(source=self._source.run_id, targets=targets)
        return msgspec.structs.replace(spec, loop=LoopKind.FIX, budget=budget_of(self.settings, LoopKind.FIX), fix=fix)


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
