"""Facts about one try or one item in a worktree: its own events are folded on top of the facts of the whole run."""

from __future__ import annotations

import copy

import msgspec

from ...protocol import (
    BudgetChanged,
    GateModeChanged,
    ImagesRefused,
    LimitsChanged,
    ModelSwitched,
    PassStarted,
    Paused,
    Said,
    Stamped,
    Unpaused,
)
from .pass_facts import PassFacts
from .run_facts import RunFacts


class TryFacts(RunFacts):
    """Facts of a try, whose events count as its main conversation. Cost, proposals and limits are those of the run."""

    def __init__(self, run: RunFacts, started: PassStarted | None, workspace: str) -> None:
        """Start from the run's facts. `started`: the pass of the try. `workspace`: its worktree."""
        super().__init__(msgspec.structs.replace(run.spec, workspace=workspace))
        self._run = run
        self.said: list[str] = []
        """The person's messages to the run that this try has not read yet."""
        self.budget, self.gate_mode, self.paused = run.budget, run.gate_mode, run.paused
        self.model, self.model_spec, self.refused_images = run.model, run.model_spec, run.refused_images
        self.common = run.common
        self.verdicts = copy.deepcopy(run.verdicts)
        if started is not None:
            self.pass_facts = PassFacts(open=started, last=started)
            self.world = started.world

    @property
    def next_step(self) -> int:
        """The number of the next step; steps are numbered across the run."""
        return self._run.next_step

    def apply(self, stamped: Stamped) -> None:
        """Fold an event of this try, also into the facts of the run."""
        self._run.apply(stamped)
        super().apply(msgspec.structs.replace(stamped, work=None))

    def apply_run_event(self, stamped: Stamped) -> None:
        """Fold an event of the run."""
        match stamped.event:
            case BudgetChanged() | LimitsChanged() | GateModeChanged() | ModelSwitched() | Paused() | Unpaused():
                self.apply_settings(stamped.event)
                self._apply_run_state(stamped.event)
            case ImagesRefused():
                self.refused_images = self._run.refused_images
            case Said(text=text):
                self.said.append(text)
            case _:
                pass

    def is_of_other_tree(self, work: str | None) -> bool:
        """Return False: all events of these facts are about the files of its worktree."""
        del work
        return False

    def _apply_common(self, stamped: Stamped) -> None:
        """Do nothing: the run, which shares this state, has already folded the event."""
        del stamped


class ItemFacts(TryFacts):
    """Facts of an item that is worked in a worktree. Its conversation has the name of its work."""

    def __init__(self, run: RunFacts, workspace: str) -> None:
        """Start from the run's facts; `workspace` is the worktree."""
        super().__init__(run, None, workspace)

    def apply(self, stamped: Stamped) -> None:
        """Fold an event of this item, also into the facts of the run."""
        self._run.apply(stamped)
        RunFacts.apply(self, stamped)
