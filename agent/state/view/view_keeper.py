"""The view state in the runner: it folds each event and is stored from time to time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...host.memory import return_freed_memory
from ..facts.checkpoint import EVERY, checkpoint_bytes, checkpoint_seq
from .load_entries import load_older
from .reduce import show_event
from .stored_views import store_view, stored_view
from .transcript_entries import Blocks
from .view_state import ViewState

if TYPE_CHECKING:
    from ...journal.journal import Journal
    from ...protocol import Stamped
    from ..facts.run_facts import RunFacts

_IN_MEMORY = 64
_BATCH = 10_000
_SHARE = 10
"""Facts grow with a run. They are stored after each further tenth of its events, and earlier if the events since then
have ten times the bytes of the facts. This adds at most a tenth to the written bytes, and a resume reads little.
"""


class ViewKeeper:
    """Folds the view state next to the facts, so that a screen does not need to fold a long run from its start."""

    def __init__(self, journal: Journal, facts: RunFacts) -> None:
        """`facts`: folded from all events so far. Raises JournalError."""
        stored = stored_view(journal, limit=_IN_MEMORY, finder=facts.finder)
        self.state = stored or ViewState(blocks=Blocks(limit=_IN_MEMORY), finder=facts.finder)
        self._journal, self._facts = journal, facts
        self._is_first = stored is None
        self._saved_seq = self.state.last_seq
        self._facts_seq = checkpoint_seq(journal)
        self._facts_at, self._facts_bytes = 0, checkpoint_bytes(journal)
        """The journal's appended bytes when the facts were last stored, and the size of the facts."""
        load_older(self.state, journal)
        self._catch_up()

    def listener(self, on_event: Callable[[Stamped], None]) -> Callable[[Stamped], None]:
        """Return a listener that folds an event into the view, then calls `on_event`. The facts must come first."""

        def fold_event(stamped: Stamped) -> None:
            self._fold(stamped)
            on_event(stamped)

        return fold_event

    def _fold(self, stamped: Stamped) -> None:
        if stamped.seq == self.state.last_seq + 1:
            show_event(self.state, stamped)
        else:
            self._catch_up()
        if stamped.seq - self._saved_seq >= EVERY and self._is_up_to_date and not self._journal.in_transaction:
            with_facts = self._is_facts_checkpoint_due(stamped.seq)
            self._saved_seq = stamped.seq
            size = store_view(self._journal, self._facts, self.state, is_first=self._is_first, with_facts=with_facts)
            if with_facts:
                self._facts_seq, self._facts_at, self._facts_bytes = stamped.seq, self._journal.bytes_appended, size
            self._is_first = False
            return_freed_memory()

    def _is_facts_checkpoint_due(self, seq: int) -> bool:
        since = self._journal.bytes_appended - self._facts_at
        is_due = self._facts_bytes > 0 and since >= _SHARE * self._facts_bytes
        return seq - self._facts_seq >= (EVERY if is_due else max(EVERY, seq // _SHARE))

    @property
    def _is_up_to_date(self) -> bool:
        return self._facts.last_seq == self.state.last_seq

    def _catch_up(self) -> None:
        while events := self._journal.read(self.state.last_seq, _BATCH):
            for stamped in events:
                show_event(self.state, stamped)
