"""Find out whether a chat is about to decide on what its child run staged (decision 0043, section 6)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...journal.claim import holder
from ...journal.journal import Journal
from ...protocol import ChildStarted, ToolFinished

if TYPE_CHECKING:
    from ...protocol import RunSpec

CHAT_DECIDES = "its chat decides on these changes: `rundry watch {chat}` opens it"


def deciding_chat(spec: RunSpec) -> str:
    """Return the id of the chat that a runner holds and whose call of this child run has no result, else empty.

    Until the chat has decided, nobody else applies or drops what the child staged, or continues the child. Raises
    JournalError.
    """
    above = spec.parent
    if above is None or not above.stages or not Path(above.journal).exists() or holder(Path(above.journal)) is None:
        return ""
    journal = Journal.open_for_reading(Path(above.journal))
    try:
        events = [stamped.event for stamped in journal.read_types((ChildStarted, ToolFinished))]
    finally:
        journal.close()
    calls = {one.call_id for one in events if isinstance(one, ChildStarted) and one.run_id == spec.run_id}
    ended = {one.call_id for one in events if isinstance(one, ToolFinished)}
    return above.run_id if calls - ended else ""
