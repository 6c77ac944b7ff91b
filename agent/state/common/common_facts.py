"""The part of a run's state that the runner decides from and the views show: one fold for both."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...budget.ledger import LEDGER_EVENTS, Ledger
from ...protocol import Stamped, has_own_tree
from .await_facts import AWAIT_EVENTS, Awaits
from .child_facts import CHILDREN_EVENTS, Children
from .handoff_facts import HANDOFF_EVENTS, HandoffFacts
from .manual_facts import MANUAL_EVENTS, ManualControl
from .message_queue_facts import QUEUE_EVENTS, MessageQueue
from .person_requests import REQUEST_EVENTS, PersonRequests


@dataclass(slots=True)
class CommonFacts:
    """Usage, proposals and questions, waits, queue, hand-off, manual control and child runs, from events only."""

    ledger: Ledger = field(default_factory=Ledger)
    requests: PersonRequests = field(default_factory=PersonRequests)
    awaits: Awaits = field(default_factory=Awaits)
    queue: MessageQueue = field(default_factory=MessageQueue)
    handoff: HandoffFacts = field(default_factory=HandoffFacts)
    manual: ManualControl = field(default_factory=ManualControl)
    children: Children = field(default_factory=Children)

    def apply(self, stamped: Stamped) -> None:
        """Fold the next event of the types in `COMMON_EVENTS`."""
        kind = type(stamped.event)
        if kind in LEDGER_EVENTS:
            self.ledger.apply(stamped)
        if kind in REQUEST_EVENTS:
            self.requests.apply(stamped)
        if kind in AWAIT_EVENTS:
            self.awaits.apply(stamped)
        if has_own_tree(stamped.work):  # of these, only usage, proposals, questions and waits concern the run
            return
        if kind in QUEUE_EVENTS:
            self.queue.apply(stamped.event)
        if kind in HANDOFF_EVENTS:
            self.handoff.apply(stamped)
        if kind in MANUAL_EVENTS:
            self.manual.apply(stamped)
        if kind in CHILDREN_EVENTS:
            self.children.apply(stamped)


COMMON_EVENTS = (
    LEDGER_EVENTS | REQUEST_EVENTS | AWAIT_EVENTS | QUEUE_EVENTS | HANDOFF_EVENTS | MANUAL_EVENTS | CHILDREN_EVENTS
)
"""The events that change `CommonFacts`; all others are ignored."""
