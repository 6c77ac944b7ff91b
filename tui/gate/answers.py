"""Send the user's decision on the proposal that was painted."""

from __future__ import annotations

from collections.abc import Callable

from rundry.agent import Decide

from .view import ProposalView


class Answers:
    """Turns a key into a decision, and keeps track of whether it was sent."""

    def __init__(self, view: ProposalView, send: Callable[[Decide], None]) -> None:
        self._view, self._send = view, send

    def decide(self, answer: Callable[[str], Decide | str]) -> None:
        """Send what `answer` returns for the digest that was painted; a text says why it cannot be decided."""
        view = self._view
        painted = view.arming.painted
        if painted is None or view.review.is_answered:
            return
        command = answer(painted.digest)
        if isinstance(command, str):
            view.say(command)
            return
        view.arming.decided()
        view.review.answer(command)
        self._send(command)
        view.show_current()

    def always(self) -> None:
        """Show the rule first; if it is shown, approve and write it."""
        view = self._view
        name, reason = view.shown.proposal.proposal_id, view.review.thoughts.reason or None
        if view.always_shown:
            self.decide(
                lambda digest: Decide(proposal_id=name, digest=digest, verdict="approve", always=True, reason=reason)
            )
        else:
            view.show_rule()

    def sent(self, command: Decide, command_id: int | None) -> None:
        """Record the id of the decision in the inbox; None: the run is resumed with it."""
        self._view.review.sent(command.proposal_id, command_id)

    def not_sent(self, command: Decide, why: str) -> None:
        """Reopen the proposal of a decision that could not be sent."""
        self._view.review.take_back(command.proposal_id)
        self._view.say(why)
