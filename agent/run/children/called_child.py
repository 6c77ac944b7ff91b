"""The child run that the model of a chat starts with `start_child`: what it may do, and what its end says (0043)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ...budget.ledger import negative
from ...protocol import (
    Budget,
    ChildFinished,
    FileChanged,
    GateMode,
    LoopKind,
    ParentRef,
    Predicates,
    RunSpec,
    Spent,
    StageBegan,
    StageEnded,
    exit_code,
)
from ...protocol.loops import SMALL
from ...protocol.text.counts import plural
from ...protocol.text.shorten_text import first_line, line_cut
from ...protocol.tools.traits import TOOL_TRAITS
from ...state.view.show.short_numbers import money
from ...tools.fit_text import head_and_tail, lines_of
from ...tools.tool_result import ToolResult
from ..start.offered_tools import tools_of_run
from ..units.pass_texts import LINE
from .share import least_of, raised_limits, share_of

if TYPE_CHECKING:
    from pathlib import Path

    from ...journal.journal import Journal
    from ...protocol import Reason, RunEnded
    from ...state.common.child_facts import Child
    from ...state.facts.run_facts import RunFacts
    from ...step.resources.run_context import RunContext
    from ...tools.tool_arguments import StartChild

_LONGEST_NAME = 60
_SHARED_PART = 75.0
"""Percent of the budget that the child runs of one answer share equally, if the model gives them no part."""
_CHANGES = frozenset[str]({"change", "command", "stop"})
"""Effects of tools for which a child run needs a stage."""
_STARTS = frozenset({GateMode.EFFECTS, GateMode.AUTO, GateMode.STAGE})
"""Modes of a chat in which a command starts without a question, so that it does in a stage of its child, too."""
_ADVICE = 'a child run can only read here: give it `tools` such as ["read_file", "list_files", "search"]'


def shown_name(given: StartChild) -> str:
    """Return the name of a child run in one short line."""
    return line_cut(given.name, _LONGEST_NAME) or line_cut(given.task, _LONGEST_NAME)


def tools_of_child(facts: RunFacts, given: StartChild) -> list[str]:
    """Return the tools that the child run gets. Raises ValueError for one that the chat does not have, and for none.

    A tool with a quota is not among them, because the child would count its calls from zero.
    """
    quotas = facts.spec.gate.quotas
    own = [name for name in tools_of_run(facts.spec) if TOOL_TRAITS[name].effect != "child" and name not in quotas]
    if unknown := [name for name in given.tools if name not in own]:
        raise ValueError(f"a child run cannot have {', '.join(unknown)}: choose among {', '.join(own)}")
    if not own:  # an empty list in its spec would mean all tools
        raise ValueError("a child run would have no tool")
    return [name for name in own if not given.tools or name in given.tools]


def can_change(tools: Sequence[str], mode: GateMode) -> bool:
    """Return whether a child run with these tools could change something, in a chat whose gate has this mode."""
    return mode is not GateMode.READ and any(TOOL_TRAITS[name].effect in _CHANGES for name in tools)


def why_only_reads(ctx: RunContext) -> str:
    """Return why child runs of this chat cannot change anything, for the model, or empty if they can."""
    if ctx.stage is not None:
        return f"this chat works in a stage, and a layer over a stage does not exist; {_ADVICE}"
    return "" if ctx.layers is not None else f"there are no layers for its changes; {_ADVICE}"


def gate_of_child(mode: GateMode) -> GateMode:
    """Return the mode of a child run that can change something, from that of its chat. It is never wider.

    Edits are staged. Commands start only if they start in the chat, else they ask.
    """
    return GateMode.READ if mode is GateMode.READ else GateMode.STAGE if mode in _STARTS else GateMode.EDITS


def share_of_call(facts: RunFacts, part: float | None, among: int) -> Budget:
    """Return the budget of a child run. `among`: number of child runs that the same answer starts.

    What its open siblings have not used yet is reserved for them.
    """
    used, reserved = facts.ledger.limited, Spent()
    for child in facts.common.children.by_number.values():
        if child.is_open:
            reserved += _unused(child.budget, child.spent)
    wanted = share_of(facts.budget, used, 100 / (part or _SHARED_PART / max(1, among)))
    share = least_of(wanted, share_of(facts.budget, used + reserved, 1))
    return share if share.steps is not None else msgspec.structs.replace(share, steps=SMALL.steps)


def _unused(budget: Budget, spent: Spent) -> Spent:
    def left(limit: float | None, used: float) -> float:
        return 0.0 if limit is None else max(0.0, limit - used)

    return Spent.of_figures(
        int(left(budget.steps, spent.steps)),
        int(left(budget.tokens, spent.counted_tokens)),
        left(budget.usd, spent.counted_usd),
        left(budget.seconds, spent.seconds),
    )


def limits_of_tree(facts: RunFacts) -> Budget:
    """Return the limits for the sums of the ledger: in a chat, each message has the whole budget again."""
    if not facts.ledger.has_message_budgets:
        return facts.budget
    earlier = facts.ledger.spent + negative(facts.ledger.since)
    return msgspec.convert(raised_limits(facts.budget, earlier), Budget)


def spec_of_called(ctx: RunContext, child: Child, given: StartChild, tools: Sequence[str]) -> RunSpec:
    """Return the spec of a child run. Its rules are those that the chat has now."""
    facts, parent = ctx.facts, ctx.facts.spec
    stages = can_change(tools, facts.gate_mode)
    return msgspec.structs.replace(
        parent,
        run_id=child.run_id,
        loop=LoopKind.GOAL,
        task=given.task,
        first_message=None,
        images=[],
        model=facts.model_spec,
        budget=child.budget,
        gate=msgspec.structs.replace(
            parent.gate,
            mode=gate_of_child(facts.gate_mode) if stages else GateMode.READ,
            falls_back=False,
            rules=list(ctx.gate.policy.rules),
            unsandboxed_ok=False,
            quotas={},
        ),
        mcp=[],
        predicates=Predicates(holdout_files=parent.predicates.holdout_files),
        on_stall="stop",
        tiers=[],
        notify=None,
        answers_in_text=True,
        park=None,
        parent=ParentRef(run_id=parent.run_id, journal=str(ctx.journal.path), number=child.number, stages=stages),
        commit=False,
        commit_hooks=False,
        stage_patch=None,
        tools=list(tools),
        plan=[],
        plan_of=None,
        file=None,
    )


def stage_of_child(journal: Journal) -> str | None:
    """Return the name of the stage of an ended child run, or None if it has none any more."""
    last = next(reversed(journal.read_types((StageBegan, StageEnded))), None)
    return last.event.folder if last is not None and isinstance(last.event, StageBegan) else None


def ended_words(child: Child, ended: RunEnded) -> str:
    """Return how a child run ended, for the model and for the entry of the call."""
    usd = "" if child.spent.unpriced else f", ${money(child.spent.usd)}"
    return f"{ended.reason.words}, {plural(ended.steps, 'step')}{usd}"


def result_of(ctx: RunContext, child: Child, ended: RunEnded, lines: Sequence[str] = (), stays: str = "") -> ToolResult:
    """Return the result of the call: how the child run ended, its answer, and what became of its changes.

    `stays`: why some of them stay in its stage. Empty means that none do.
    """
    lines = [*lines, *([stays] if stays else [])]
    head = f"{child.words.capitalize()}: {ended_words(child, ended)} ({ended.detail})."
    answer = (ended.answer or "").strip()
    start, end, left_out = head_and_tail(answer, max(1, ctx.tools.limit - len(head) - sum(map(len, lines))))
    full = None
    if left_out:
        full = ctx.journal.blobs.keep(answer.encode())
        where = f'path "{ctx.tools.register_output(full)}" and start_line={len(lines_of(start)) + 1}'
        start = f"{start.rstrip()}\n[{left_out:,} lines left out; use read_file with {where}]\n{end}"
    said = f"Its answer:\n{start}" if start else "It gave no answer."
    text = "\n".join([head, said, *lines])
    return ToolResult(ok=ended.complete, text=text, summary=ended_words(child, ended), full=full, stays=stays)


def left_in_stage(child: Child, files: Sequence[str]) -> str:
    """Return where the changes of a child run are that nobody decided on, for the model and the person."""
    return child.stays_words(f"nobody decided on {plural(len(files), 'file')}") if files else ""


def has_own_journal(journal: Journal, parent: str | Path) -> bool:
    """Return whether this is the journal of a child run of this run, and not of the run that it was forked from."""
    above = journal.spec.parent
    return above is not None and above.journal == str(parent)


def finished_child(child: Child, ended: RunEnded, *, resumes: bool = False) -> ChildFinished:
    """Return the event of the end of a child run. `resumes`: it continues when its parent is resumed."""
    return ChildFinished(
        number=child.number,
        run_id=child.run_id,
        reason=ended.reason,
        detail=ended.detail,
        complete=ended.complete,
        exit_code=ended.exit_code,
        limit=ended.limit,
        resumes=resumes,
        files_changed=ended.files_changed,
        said=first_line(ended.answer or "", LINE),
    )


def applied_files(above: Journal, journal: Journal, work: str | None) -> list[str]:
    """Return the files that were applied of a child's stage: by its parent (`above`), or by `rundry apply`."""
    changes = [
        *(each.event for each in above.read_types((FileChanged,)) if each.work == work),
        *(each.event for each in journal.read_types((FileChanged,))),
    ]
    applied = (event for event in changes if isinstance(event, FileChanged) and not event.staged)
    return sorted({event.path for event in applied if event.before != event.after})


def failed_child(child: Child, why: str, reason: Reason) -> ChildFinished:
    """Return the event of a child run that has no end and is not continued."""
    code = exit_code(reason, complete=False)
    return ChildFinished(
        number=child.number, run_id=child.run_id, reason=reason, detail=why, complete=False, exit_code=code
    )
