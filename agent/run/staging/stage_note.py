"""What the model reads about a decision on its stage, when its run continues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol import Prompted

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts

DROPPED = "The person dropped all that was staged: each file is as it is in the workspace."
_DECIDED = "The person decided on what was staged."
_KEPT = "What was not applied stays staged."


def decided_words(lines: Sequence[str], *, is_over: bool) -> str:
    """Return the message about a decision. `lines`: what was applied and what was not."""
    return " ".join([_DECIDED, *lines, *([] if is_over else [_KEPT])])


def message_about_stage(facts: RunFacts, text: str) -> Prompted | None:
    """Return the event of this message, or None if a call of the model has no result yet, which has to come first."""
    return None if facts.main.unanswered() else Prompted(kind="note", text=text)
