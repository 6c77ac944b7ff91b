"""What the gate says around a proposal, line by line. No textual in here."""

from __future__ import annotations

from collections.abc import Sequence

from rundry.agent import ProposalOpened, Rebasing, plural

from ..text import one_line, path_line, show
from .decision.pending_decision import Shown, Thoughts

VERBS = {"edit_file": "edit", "write_file": "write", "run_command": "run"}
EDITED = "edited by you: y approves your version"
STALE = "the file changed and your version no longer fits: press e to edit it again"
NO_PLACE = "the file of your version is gone: your version is kept in case the file returns"
_NAME = 24
"""Letters of a hunk's name in the line of keys."""


def name(proposal: ProposalOpened) -> str:
    """`edit src/calc.py`, `run a command`."""
    verb = VERBS.get(proposal.tool, one_line(proposal.tool))
    if proposal.path is None:
        return f"{_who(proposal)}{verb} a command"
    if verb == "run":
        verb = "changed by a command:"
    return f"{_who(proposal)}{verb} {path_line(proposal.path)}"


def about(proposal: ProposalOpened) -> str:
    """`3 hunks  +12 −4`, or where a command runs."""
    if proposal.path is not None:
        is_new = proposal.before is None and proposal.after is not None
        what = counted(proposal.hunks, proposal.added, proposal.removed) if proposal.hunks else "empty"
        return f"new file  {what}" if is_new else what if proposal.hunks else ""
    held = proposal.sandbox if proposal.sandbox is not None else "unsandboxed"
    if proposal.beyond is not None:
        held = "again, with that allowed"
    return f"in {one_line(proposal.cwd or '.')}   {held}"


def _who(proposal: ProposalOpened) -> str:
    """`try 2 of 3: `, where the proposal belongs to a try."""
    return f"{one_line(proposal.who)}: " if proposal.who else ""


def counted(hunks: int, added: int, removed: int) -> str:
    """`3 hunks  +12 −4`."""
    return f"{plural(hunks, 'hunk')}  +{added} −{removed}"


def listed(proposal: ProposalOpened) -> str:
    """In a list of what waits."""
    if proposal.path is None:
        return f"{_who(proposal)}run {one_line(proposal.command or '')[:32]}"
    return name(proposal)


def body(proposal: ProposalOpened) -> str:
    """A command whole, with every hidden character as a mark; never cut."""
    return show(proposal.command or "")


def notes(proposal: ProposalOpened, rebasing: Rebasing | None, thoughts: Thoughts) -> list[tuple[str, bool]]:
    """What a person should know before they decide, a line each; true: it is a danger."""
    found: list[tuple[str, bool]] = []
    if rebasing is not None:
        whose = one_line(rebasing.why) or f"your edit of {rebasing.clock}"
        found.append((f"conflict with {whose}", True) if rebasing.conflict else (f"re-based on {whose}", False))
    if thoughts.edited is not None:
        found.append((EDITED, False))
    if thoughts.draft is not None:
        is_gone = rebasing is not None and rebasing.conflict and rebasing.merged is None
        found.append((NO_PLACE if is_gone else STALE, True))
    if proposal.beyond is not None:
        refused = one_line(proposal.beyond)
        found.append((f"the sandbox refused: {refused}. y allows it once", True))
        return found + [(one_line(line), True) for line in proposal.asks if proposal.beyond not in line]
    return found + [(one_line(line), proposal.danger) for line in proposal.asks]


def may_always(proposal: ProposalOpened) -> bool:
    """There is a rule that could be written."""
    return proposal.rule is not None and not proposal.danger and proposal.beyond is None


def keys(
    shown: Shown, thoughts: Thoughts, *, always_shown: bool, current: int, left: str, hunks: int
) -> list[tuple[str, str]]:
    """Keys and what they do, the ones that matter most first.

    `current` is one of `hunks` that stand there, `left` the name of another one that Tab asks about.
    """
    proposal, picks = shown.proposal, thoughts.picks
    if shown.in_conflict and thoughts.edited is None:
        by_hand = [("e", "merge by hand")] * can_be_joined(shown)
        found = [("r", "ask the model again"), ("m", "keep mine"), *by_hand, ("n", "reject")]
    elif picks.count and not picks.taken_count:
        found = [("n", "reject")]
    else:
        found = [("y", _approve(shown, thoughts)), ("n", "reject")]
    if shown.spans:
        found.append(("space", "accept or skip"))
    if is_editable(proposal) and (not shown.in_conflict or thoughts.edited is not None):
        found.append(("e", "edit"))
    on_left = shown.spans and not picks.is_taken(current)
    found.append(("tab", f"why not {one_line(left)[:_NAME]}" if left else "why skipped" if on_left else "reason"))
    if may_always(proposal) and not shown.in_conflict and not picks.left_count and thoughts.edited is None:
        found.append(("A", "always: press again" if always_shown else "always…"))
    if hunks > 1:
        found.append(("] [", "hunk"))
    if len(shown.spans) > 1:
        found.append(("+ -", "all, none"))
    return [*found, ("?", "keys")]


def asking(hunk: str | None) -> list[tuple[str, str]]:
    """While a reason is typed: for the hunk of this name, or for the whole answer."""
    what = "keep this as the reason" if hunk is None else f"keep this as why {one_line(hunk)} is skipped"
    return [("enter", what), ("esc", "go back")]


def reasons(thoughts: Thoughts) -> str:
    """The reason that goes with the whole answer."""
    return f'reason: "{one_line(thoughts.reason)}"' if thoughts.reason else ""


def is_editable(proposal: ProposalOpened) -> bool:
    """A text that is not on the disk yet."""
    return proposal.path is not None and proposal.tool != "run_command"


def can_be_joined(shown: Shown) -> bool:
    """In conflict: both versions stand in one text, to be edited by hand."""
    return shown.rebasing is not None and shown.rebasing.merged is not None


def waiting_list(waiting: Sequence[ProposalOpened], at: int, width: int) -> list[tuple[str, bool]]:
    """The proposals that wait, as many as fit beside each other; true: the one that is shown."""
    found: list[tuple[str, bool]] = []
    used = 0
    for index, proposal in enumerate(waiting):
        text = listed(proposal)
        more = f"and {len(waiting) - index} more"
        if found and used + len(text) + len(more) + 8 > width:
            return [*found, (more, False)]
        found.append((text, index == at))
        used += len(text) + 4
    return found


def _approve(shown: Shown, thoughts: Thoughts) -> str:
    picks = thoughts.picks
    if shown.proposal.beyond is not None:
        return "allow once"
    if thoughts.edited is not None:
        return f"approve {picks.taken_count} of yours" if picks.left_count else "approve yours"
    return f"approve {picks.taken_count}" if picks.left_count else "approve"
