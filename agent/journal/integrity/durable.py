"""Events that are flushed to disk: they must survive a power failure because an action depends on them."""

from __future__ import annotations

from ...protocol import (
    BudgetChanged,
    CallAdmitted,
    ChangesUndecided,
    EffectsAccepted,
    EffectsApplied,
    Event,
    GateModeChanged,
    GuardApproved,
    LimitsChanged,
    PassKept,
    ProposalDecided,
    QuestionAnswered,
    RuleAdded,
    RuleRemoved,
    RunStarted,
    ScopeSet,
    StageBegan,
    StageEnded,
    UndoAccepted,
)

_FLUSHED = (
    CallAdmitted,
    GateModeChanged,
    ChangesUndecided,
    EffectsAccepted,
    EffectsApplied,
    GuardApproved,
    LimitsChanged,
    PassKept,
    QuestionAnswered,
    RuleAdded,
    RuleRemoved,
    RunStarted,
    ScopeSet,
    StageBegan,
    StageEnded,
    UndoAccepted,
)
"""RunStarted: a journal without its first event cannot be resumed."""


def must_be_flushed(event: Event) -> bool:
    """Return whether the event admits a paid call or records a person's decision. Flushing takes 0.2 to 5 ms."""
    match event:
        case ProposalDecided(decision=decision, by=by):
            return decision != "reject" or by != "policy"
        case BudgetChanged(by=by):
            return by == "person"
        case _:
            return isinstance(event, _FLUSHED)
