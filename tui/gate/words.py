"""What the gate says around a proposal, line by line. No textual in here."""

from __future__ import annotations

from rundry.agent import ProposalOpened

from ..reducer.numbers import plural
from ..text import one_line, show

VERBS = {"edit_file": "edit", "write_file": "write", "run_command": "run"}


def headline(proposal: ProposalOpened) -> tuple[str, str]:
    """`edit src/calc.py`, and `3 hunks  +12 −4` or where a command runs."""
    verb = VERBS.get(proposal.tool, one_line(proposal.tool))
    if proposal.path is not None:
        new = "new file  " if proposal.before is None else ""
        counts = f"{plural(proposal.hunks, 'hunk')}  +{proposal.added} −{proposal.removed}"
        return f"{verb} {one_line(proposal.path)}", new + counts
    held = proposal.sandbox if proposal.sandbox is not None else "unsandboxed"
    return f"{verb} a command", f"in {one_line(proposal.cwd or '.')}   {held}"


def body(proposal: ProposalOpened) -> str:
    """A command whole, with every hidden character as a mark; never cut."""
    return show(proposal.command or "")


def keys(proposal: ProposalOpened, *, always_shown: bool, narrow: bool) -> list[tuple[str, str]]:
    """Keys and what they do, the ones that matter most first."""
    found = [("y", "approve"), ("n", "reject")]
    if proposal.path is not None:
        found.append(("e", "edit"))
    found.append(("tab", "reason"))
    if proposal.rule is not None and not proposal.danger:
        found.append(("A", "always: once more" if always_shown else "always…"))
    if proposal.hunks > 1:
        found.append(("] [", "hunk"))
    if not narrow:
        found.append(("f", "full"))
    return found
