"""Find suspect results of checks, and accept those that a person accepted before (docs/requirements.md 2.3.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import CheckAccepted, CheckFinished
from ...state.facts.verdicts import result_of

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Recorder


def suspects_of(facts: RunFacts) -> list[CheckFinished]:
    """Return the suspect results that nobody has accepted, of the run or of the items of a migration."""
    return facts.verdicts.suspects if facts.finder is None else facts.finder.suspects.checks


def suspect_digest(facts: RunFacts) -> str:
    """Return the digest of these results, which a decision names; empty if there are none."""
    return facts.verdicts.suspect_digest if facts.finder is None else facts.finder.suspects.digest


def accept_same_results(facts: RunFacts, events: Recorder) -> None:
    """Accept suspect results that the person accepted earlier in this pass, if the checks gave them again."""
    verdicts = facts.verdicts
    for check in verdicts.suspects:
        if result_of(check) in verdicts.accepted_results:
            events.record(CheckAccepted(command=check.command))
