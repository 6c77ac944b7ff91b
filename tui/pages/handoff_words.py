"""The words of a hand-off page, part by part. Foreign text has passed `tui.text.show_text`. Does not import textual."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rundry.agent import (
    SHORT_DIGEST,
    Budget,
    ChangedFile,
    HandoffOpened,
    HandoffRecord,
    LastAction,
    ModelShare,
    OpenProposal,
    Spent,
    call_title,
    clock,
    decision_commands,
    digests_of,
    money,
    plural,
    short,
    stall_kind_words,
)

from ..head.header_title import model_name
from ..text.show_text import one_line, path_line, show, strip

Run = tuple[str, str]
"""A piece of a line and its kind: `plain`, `bright`, `dim`, `next`, `good`, `bad`, `added` or `removed`."""
Line = list[Run]
_CHECK_LINES = 14
_DIFF_LINES = 60
_RULER = re.compile(r"\s*([-=_*~#])?\1*\s*")
"""Lines that only separate others, and empty ones."""


@dataclass(frozen=True, slots=True)
class Part:
    """A label with its lines."""

    label: str
    lines: Sequence[Line]


def parts(opened: HandoffOpened, run_id: str = "", waiting: Mapping[str, str] | None = None) -> Iterator[Part]:
    """Yield the parts, the reason and the next step first. Empty parts are left out.

    `waiting`: digest of each proposal that is still open, by its id, or None for those of the record.
    """
    record = opened.record
    digests = digests_of(record) if waiting is None else waiting
    yield Part("why", [_why(opened.reason)])
    yield Part("next", [[(one_line(opened.suggested_action), "next")]])
    if digests and run_id:
        yield Part("decide", list(_ways(run_id, digests.values())))
    if record.questions:
        yield Part("asks", [line for text in record.questions for line in _text(text, "bright")])
    if record.task:
        yield Part("task", _text(record.task))
    if record.open_proposals:
        yield Part("waits", [line for p in record.open_proposals for line in _proposal(p, digests.get(p.proposal_id))])
    if record.failing_check is not None:
        yield Part("check", _check(record))
    if record.tried:
        yield Part("tried", [_tried(t.what, t.times, t.why) for t in record.tried])
    yield Part("left", [_left(record.spent, record.budget)])
    if len(record.shares) > 1:
        yield Part("models", [_share(share) for share in record.shares])
    if record.last_actions:
        yield Part("last", list(_actions(record.last_actions)))
    if record.files_changed:
        yield Part("changed", _changes(record.files_changed, record.changes))


def _why(reason: str) -> Line:
    """Return the reason; the kind of a detector in words for people."""
    kind, colon, signature = reason.partition(": ")
    words = stall_kind_words(kind)
    if not colon or words == kind:
        return [(one_line(reason), "bright")]
    return [(f"it {words}", "bright"), (f"   {one_line(signature)}", "plain")]


def _text(text: str, kind: str = "plain") -> list[Line]:
    return [[(line, kind)] for line in show(text).splitlines()] or [[("", kind)]]


def _ways(run_id: str, digests: Iterable[str]) -> Iterator[Line]:
    """Yield the keys of the gate, and the commands that do the same."""
    yield [("y or n at the gate of the run, or:", "plain")]
    for digest in digests:
        yield from ([(one_line(command), "bright")] for command in decision_commands(run_id, digest))


def _proposal(proposal: OpenProposal, digest: str | None) -> Iterator[Line]:
    named = [] if digest is None else [(f"   digest {digest[:SHORT_DIGEST]}", "dim")]
    if proposal.command is not None:
        yield [("run ", "dim"), (one_line(proposal.command), "bright"), *named]
        return
    if proposal.call is not None:
        yield [("call ", "dim"), (one_line(proposal.tool), "bright"), *named]
        yield from _text(proposal.call, "plain")
        return
    if proposal.path is None:
        yield [("changes of a command", "bright"), *named]
        yield from _text(proposal.diff)
        return
    yield [("edit ", "dim"), (path_line(proposal.path), "bright"), *named]
    yield from _diff(proposal.diff)


def _check(record: HandoffRecord) -> list[Line]:
    check = record.failing_check
    assert check is not None  # the caller checked this
    how = "timed out" if check.timed_out else f"exit code {check.exit_code}"
    count = f", {check.failing} failing" if check.failing is not None else ""
    lines = [line for line in strip(check.output).splitlines() if _RULER.fullmatch(line) is None]
    shown = lines[-_CHECK_LINES:]
    gone = [[(f"⋯ {plural(len(lines) - len(shown), 'line')} above", "dim")]] if len(lines) > len(shown) else []
    head: Line = [(one_line(check.command), "bright"), (f"   ✗ {how}{count}", "bad")]
    return [head, *gone, *([(line, "plain")] for line in shown)]


def _tried(what: str, times: int, why: str) -> Line:
    often = f"  {times} times" if times > 1 else ""
    return [(one_line(what), "plain"), (often, "bright"), (f"  {one_line(why)}" if why else "", "dim")]


def _left(spent: Spent, budget: Budget) -> Line:
    about = "~" if spent.estimated else ""
    usd = "$?" if spent.unpriced else f"{about}{money(spent.usd)}"
    rows = (
        ("step", str(spent.steps), None if budget.steps is None else str(budget.steps)),
        ("tok", about + short(spent.tokens.total), None if budget.tokens is None else short(budget.tokens)),
        ("usd", usd, None if budget.usd is None else f"{budget.usd:.2f}"),
        ("time", clock(spent.seconds), None if budget.seconds is None else clock(budget.seconds)),
    )
    line: Line = []
    for name, used, limit in rows:
        line += [(f"{name} ", "dim"), (used, "plain"), ("" if limit is None else f"/{limit}", "dim"), ("   ", "plain")]
    return line[:-1]


def _share(share: ModelShare) -> Line:
    usd = "$?" if share.usd is None else f"{money(share.usd)} usd"
    used = f"{plural(share.calls, 'call')}  {short(share.tokens_in + share.tokens_out)} tok  {usd}"
    return [(one_line(model_name(share.model)), "plain"), (f"   {used}", "dim")]


def _actions(actions: Sequence[LastAction]) -> Iterator[Line]:
    """Yield a line for each action. Equal actions in a row share one line."""
    for _, same in groupby(actions, key=lambda action: (action.tool, action.arguments, action.ok, action.result)):
        group = list(same)
        again: Line = [(f"  {len(group)} times", "bright")] if len(group) > 1 else []
        yield [*_action(group[0]), *again]


def _action(action: LastAction) -> Line:
    sign = {True: ("✓ ok", "good"), False: ("✗ failed", "bad"), None: ("no result", "dim")}[action.ok]
    said = "" if action.ok else f"  {one_line(_first(action.result))}"
    title = one_line(call_title(action.tool, action.arguments))
    return [(f"{action.step or '-':>3}  ", "dim"), (title, "plain"), ("   ", "plain"), sign, (said, "dim")]


def _changes(files: Sequence[str], changes: Sequence[ChangedFile]) -> list[Line]:
    known = {change.path: change for change in changes}
    lines: list[Line] = []
    for path in files:
        change = known.get(path)
        counts: Line = [] if change is None else [(f"  +{change.added}", "added"), (f" −{change.removed}", "removed")]
        lines.append([(path_line(path), "bright"), *counts])
        if change is not None:
            lines += _diff(change.diff)
    return lines


def _diff(text: str) -> Iterator[Line]:
    """Yield the lines of a diff without those that name the file, which is shown above."""
    lines = show(text).splitlines()
    lines = lines[2:] if lines[0:1] and lines[0].startswith("--- ") else lines
    for line in lines[:_DIFF_LINES]:
        kind = {"+": "added", "-": "removed", "@": "dim"}.get(line[:1], "plain")
        yield [(line, kind)]
    if len(lines) > _DIFF_LINES:
        yield [(f"⋯ {plural(len(lines) - _DIFF_LINES, 'line')} more; y copies all of them", "dim")]


def _first(text: str) -> str:
    return text.strip().split("\n", 1)[0]
