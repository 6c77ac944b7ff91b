"""Format the record of a hand-off as Markdown, for standard output, mails and exports, and the commands that decide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ...protocol.text.path_text import quoted_path
from ...protocol.text.shorten_text import line_cut

if TYPE_CHECKING:
    from ...protocol import (
        Budget,
        ChangedFile,
        FailingCheck,
        HandoffOpened,
        HandoffRecord,
        LastAction,
        ModelShare,
        OpenProposal,
        Spent,
        Tried,
    )

_LINE = 200
"""Maximum number of characters of an entry in a list."""
SHORT_DIGEST = 12
"""Number of characters of a digest that are shown."""


def handoff_markdown(
    opened: HandoffOpened, *, run_id: str = "", journal: str = "", waiting: Mapping[str, str] | None = None
) -> str:
    """Return the record as Markdown: reason and suggested action first, then the details. Empty parts are omitted.

    `waiting`: the digest of each open proposal, by proposal id; None means the proposals of the record.

    The text quotes models, files and tools: sanitize it with `tui.text.show_text` before you print it on a terminal.
    """
    record = opened.record
    lines = [
        f"# Hand-off: {line_cut(opened.reason, _LINE)}",
        "",
        f"**Next:** {line_cut(opened.suggested_action, _LINE)}",
    ]
    digests = digests_of(record) if waiting is None else waiting
    if run_id and not digests and record.failing_check is not None and record.failing_check.digest:
        lines += ["", *_next_commands(run_id, [record.failing_check.digest])]
    elif run_id and record.staged_child:
        decides = f"`rundry apply {record.staged_child}`"
        lines += ["", f"Decide with {decides}, then continue with `rundry resume {run_id}`."]
    elif run_id:
        lines += ["", *_next_commands(run_id, list(digests.values()))]
    for title, part in _parts(record, digests):
        lines += ["", f"## {title}", "", *part]
    if journal:
        lines += ["", f"Journal of the run: `{journal}`"]
    return "\n".join(lines) + "\n"


def digests_of(record: HandoffRecord) -> dict[str, str]:
    """Return the digest of each proposal that was open at the hand-off, by its id."""
    return {opened.proposal_id: opened.digest for opened in record.open_proposals if opened.digest}


def decision_commands(run_id: str, digest: str) -> tuple[str, str]:
    """Return the commands that approve and reject a proposal."""
    named = f"{run_id} --digest {digest[:SHORT_DIGEST]}"
    return f"rundry approve {named}", f'rundry reject {named} --reason "..."'


def limit_lines(spent: Spent, budget: Budget) -> list[str]:
    """Return a line for each limit, such as `steps 7 of 40, 33 left`."""
    usd = "unknown" if spent.unpriced else f"{spent.usd:.4f}"
    rows = [
        _left("steps", spent.steps, 0, budget.steps, "{:,.0f}"),
        _left("tokens", spent.tokens.total, spent.held_tokens, budget.tokens, "{:,.0f}"),
        f"usd {usd} used" if spent.unpriced else _left("usd", spent.usd, spent.held_usd, budget.usd, "{:.4f}"),
        _left("seconds", spent.seconds, 0, budget.seconds, "{:.0f}"),
    ]
    return [f"about {row}" if spent.estimated and row.startswith(("tokens", "usd")) else row for row in rows]


def action_words(action: LastAction) -> str:
    """Describe an action in one line, such as `step 4 run_command {"command":"make"}`."""
    arguments = action.arguments
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return f"step {action.step or '-'} {action.tool} {text}"


def _next_commands(run_id: str, digests: Sequence[str]) -> list[str]:
    """Return lines with the commands that resume the run or decide on its proposals."""
    if not digests:
        return [f'Resume it with `rundry resume {run_id} --hint "..."`.']
    commands = [decision_commands(run_id, digest) for digest in digests]
    if len(commands) == 1:
        ((approve, reject),) = commands
        return [f"Decide with `{approve}`, or with `{reject}`."]
    return ["Decide on each proposal with:", "", *(f"- `{approve}`, or `{reject}`" for approve, reject in commands)]


def _parts(record: HandoffRecord, digests: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    if record.task:
        yield "Task", _quoted(record.task)
    if record.questions:
        yield "The model asks", [line for text in record.questions for line in _quoted(text)]
    if record.open_proposals:
        yield (
            "Waits for a decision",
            [line for p in record.open_proposals for line in _proposal(p, digests.get(p.proposal_id))],
        )
    if record.failing_check is not None:
        yield "Failing check", _check(record.failing_check)
    if record.tried:
        yield "What was tried", [_tried(tried) for tried in record.tried]
    if record.files_changed:
        yield "Changed files", _changes(record.files_changed, record.changes)
    if record.last_actions:
        yield "Last actions", [_action(action) for action in record.last_actions]
    yield "Spent", [f"- {row}" for row in limit_lines(record.spent, record.budget)] + _shares(record.shares)


def _proposal(proposal: OpenProposal, digest: str | None) -> list[str]:
    """Format a proposal. `digest`: None if it can no longer be decided."""
    what = quoted_path(proposal.path) if proposal.path is not None else ""
    named = "" if digest is None else f" (digest `{digest[:SHORT_DIGEST]}`)"
    head = [f"{f'`{proposal.tool}` {what}'.rstrip()}{named}", ""]
    if proposal.command is not None:
        return [*head, *_fenced(proposal.command, "sh"), ""]
    if proposal.call is not None:
        return [*head, *_fenced(proposal.call, "json" if proposal.call.startswith("{") else ""), ""]
    return [*head, *_fenced(proposal.diff, "diff"), ""]


def _check(check: FailingCheck) -> list[str]:
    how = "timed out" if check.timed_out else f"exit code {check.exit_code}"
    count = f", {check.failing} failing" if check.failing is not None else ""
    head = f"`{line_cut(check.command, _LINE)}`: {how}{count}"
    lines = [head, "", *_fenced(check.output)] if check.output.strip() else [head]
    return [*lines, "", *_suspect(check)] if check.suspect else lines


def _suspect(check: FailingCheck) -> list[str]:
    """Return the missing tests, one line each."""
    more = check.missing_count - len(check.missing)
    names = [f"- {line_cut(name, _LINE)}" for name in check.missing] + ([f"- and {more} more"] if more > 0 else [])
    return [f"Suspect: {line_cut(check.suspect, _LINE)}", *names]


def _tried(tried: Tried) -> str:
    times = f" ({tried.times} times)" if tried.times > 1 else ""
    why = f": {line_cut(tried.why, _LINE)}" if tried.why else ""
    return f"- {line_cut(tried.what, _LINE)}{times}{why}"


def _changes(files: Sequence[str], changes: Sequence[ChangedFile]) -> list[str]:
    known = {change.path: change for change in changes}
    lines = [f"- {quoted_path(path)}{_counts(known.get(path))}" for path in files]
    for change in changes:
        if change.diff:
            lines += ["", *_fenced(change.diff, "diff")]
    return lines


def _counts(change: ChangedFile | None) -> str:
    return "" if change is None else f" (+{change.added} -{change.removed})"


def _action(action: LastAction) -> str:
    how = {True: "ok", False: "failed", None: "no result"}[action.ok]
    return f"- {line_cut(action_words(action), _LINE)}: {how}: {line_cut(action.result, _LINE)}"


def _shares(shares: Sequence[ModelShare]) -> list[str]:
    if len(shares) < 2:
        return []
    rows = ["", "| model | calls | tokens in | out | usd |", "| --- | ---: | ---: | ---: | ---: |"]
    for share in shares:
        usd = "?" if share.usd is None else f"{share.usd:.4f}"
        name = line_cut(share.model, _LINE).replace("|", "/")
        rows.append(f"| {name} | {share.calls} | {share.tokens_in:,} | {share.tokens_out:,} | {usd} |")
    return rows


def _left(name: str, used: float, held: float, limit: float | None, form: str) -> str:
    extra = f", {form.format(held)} held for interrupted calls" if held else ""
    if limit is None:
        return f"{name} {form.format(used)}{extra}, no limit"
    return f"{name} {form.format(used)} of {form.format(limit)}{extra}, {form.format(max(0, limit - used - held))} left"


def _quoted(text: str) -> list[str]:
    return [f"> {line}".rstrip() for line in text.splitlines()]


def _fenced(text: str, kind: str = "") -> list[str]:
    """Return a fenced block. The fence is longer than any fence in the text, so that no quoted text can close it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return [f"{fence}{kind}", *text.rstrip("\n").splitlines(), fence]
