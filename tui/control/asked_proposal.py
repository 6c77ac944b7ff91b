"""Find the proposal of a decision: named by its digest, or shown on the terminal with a question."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rundry.agent import SHORT_DIGEST, UserError, effect_lines, effects_title, plural

from ..text.show_text import one_line, path_line, show

if TYPE_CHECKING:
    from rundry.agent import ProposalOpened, RunState, SuspectResult

NOT_RECORDED = "the decision was not recorded, and you can give it again"
"""Added to the error if the run cannot be resumed."""
_LEAST = 6
"""Least number of characters of a digest that can name a proposal."""


class Declined(Exception):
    """The person answered the question with no."""


def has_terminal() -> bool:
    """Return whether a person can read a question and answer it."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def chosen(
    state: RunState, run_id: str, verdict: str, digest: str | None, proposal_id: str | None = None
) -> ProposalOpened:
    """Return the proposal that the decision is about. Raises UserError, Declined."""
    found = list(state.proposals.values())
    if not found:
        raise UserError(f"no proposal waits in {run_id}, so there is nothing to {verdict}")
    if proposal_id is not None:
        found = [opened for opened in found if opened.proposal_id == proposal_id]
        if not found:
            known = ", ".join(state.proposals)
            raise UserError(f"no proposal {proposal_id!r} waits in this run; waiting: {known}")
    if digest is not None:
        return _named(found, run_id, digest)
    if len(found) > 1 or not has_terminal():
        names = "; ".join(f"--digest {opened.digest[:SHORT_DIGEST]} ({what_of(opened)})" for opened in found)
        raise UserError(f"{verdict} needs the digest of what it decides on: {names}")
    _ask(found[0], state, verdict)
    return found[0]


def is_about_result(suspect: SuspectResult, state: RunState, digest: str | None) -> bool:
    """Return whether the decision is about a suspect check, and not about a proposal."""
    return (
        not state.proposals if digest is None else len(digest) >= _LEAST and suspect.digest.startswith(digest.lower())
    )


def confirm_result(suspect: SuspectResult, run_id: str, verdict: str, digest: str | None) -> None:
    """Show the suspect result and ask, unless a digest names it. Raises UserError, Declined."""
    if digest is not None:
        return
    if not has_terminal():
        named = f"--digest {suspect.digest[:SHORT_DIGEST]} (suspect check {one_line(suspect.command)})"
        raise UserError(f"{verdict} needs the digest of what it decides on in {run_id}: {named}")
    print(one_line(f"suspect check {suspect.command}: {suspect.suspect}"))
    print(one_line(f"digest {suspect.digest[:SHORT_DIGEST]}"))
    for name in suspect.missing:
        print(one_line(f"  did not run: {name}"))
    if suspect.missing_count > len(suspect.missing):
        print(one_line(f"and {suspect.missing_count - len(suspect.missing)} more"))
    _confirm(f"{verdict.capitalize()} this result?")


def what_of(opened: ProposalOpened) -> str:
    """Return the tool and what it is about: `edit_file calc/core.py`."""
    if opened.effects is not None:
        return f"changes of {one_line(opened.effects.command)}"
    if opened.plan is not None:
        return "plan"
    named = opened.command or opened.name or opened.server or opened.url or ""
    if opened.tool.endswith(f"__{named}"):  # a tool of an MCP server has its name already
        named = ""
    about = path_line(opened.path) if opened.path else one_line(named)
    return f"{one_line(opened.tool)} {about}".strip()


def _named(found: list[ProposalOpened], run_id: str, digest: str) -> ProposalOpened:
    fitting = [opened for opened in found if len(digest) >= _LEAST and opened.digest.startswith(digest.lower())]
    if len(fitting) == 1:
        return fitting[0]
    known = "; ".join(f"{opened.digest[:SHORT_DIGEST]} ({what_of(opened)})" for opened in found)
    if len(digest) < _LEAST:
        raise UserError(f"{digest!r} is too short for a digest: give at least {_LEAST} characters. Open now: {known}")
    raise UserError(f"no open proposal of {run_id} has the digest {digest[:SHORT_DIGEST]!r}. Open now: {known}")


def _ask(opened: ProposalOpened, state: RunState, verdict: str) -> None:
    print(*proposal_lines(opened, state.conflicts.get(opened.proposal_id)), sep="\n")
    _confirm(f"{verdict.capitalize()} exactly this?")


def _confirm(question: str) -> None:
    print(f"\n{one_line(question)} [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Declined


def proposal_lines(opened: ProposalOpened, conflict: str | None) -> Iterator[str]:
    """Yield what the proposal would do, its digest, and why it needs approval."""
    size = f"  +{opened.added} -{opened.removed}, {plural(opened.hunks, 'hunk')}" if opened.path else ""
    size = size if opened.effects is None else f"  {effects_title(opened.effects)}"
    yield f"{what_of(opened)}{size}"
    yield f"digest {opened.digest[:SHORT_DIGEST]}"
    for reason in opened.asks:
        yield f"asks   {one_line(reason)}"
    if conflict is not None:
        yield f"conflict: {one_line(conflict)}"
    yield ""
    if opened.effects is not None:
        yield from (one_line(line) for line in effect_lines(opened.effects))
        yield from (_coloured(line) for line in show(opened.diff).splitlines())
        return
    number = 0
    for line in show(opened.diff or opened.command or opened.call or opened.plan or opened.request).splitlines():
        if line.startswith("@@"):
            number += 1
            line = f"{line}  (hunk {number})"
        yield _coloured(line)


def _coloured(line: str) -> str:
    colour = {"+": "32", "-": "31", "@": "36"}.get(line[:1])
    if colour is None or "NO_COLOR" in os.environ or not sys.stdout.isatty():
        return line
    return f"\x1b[{colour}m{line}\x1b[0m"
