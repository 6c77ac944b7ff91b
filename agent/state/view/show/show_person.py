"""Show proposals, questions, messages and hand-offs: what passes between a run and a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ....protocol import (
    PERSON,
    CommandEffects,
    CommandRefused,
    CommandTaken,
    ConversationCut,
    HandoffClosed,
    HandoffOpened,
    Interrupted,
    LoopKind,
    ModelQuoted,
    PlanAccepted,
    PlanChanged,
    ProposalDecided,
    ProposalOpened,
    ProposalRebased,
    QuestionAnswered,
    QuestionAsked,
    Queued,
    Said,
    Stamped,
    TierAsked,
    TierPassed,
    Undone,
    Unqueued,
)
from ....protocol.events.person import CONFLICT, KEPT_AS_IT_IS
from ....protocol.text.counts import plural
from ....protocol.text.effect_words import effect_lines, effects_title, entry_name
from ....protocol.text.plan_lines import plan_steps, plan_summary
from ....protocol.text.plan_text import FOLLOW_PLAN
from ....protocol.text.shorten_text import first_line
from ...common.void_end import after_undo, void_words
from .change_blocks import add, end_blocks, is_short, note, touch
from .short_numbers import clock, money, short
from .show_answers import is_taken_back
from .titles import call_kind, command_name, proposal_title, try_label

if TYPE_CHECKING:
    from ....protocol.events.person import PersonEvent
    from ..block import Block
    from ..view_state import ViewState

_NAMED = 5
"""Maximum number of files, not reverted by an undo, that are named individually."""

_REASON = 60
"""Characters of the reason of a rule or a mode in a row."""
_INTERRUPTIONS = {
    "interrupt": "",
    "steer": " for the message below",
    "pause": " to pause",
    "stop": " to stop the run",
    "deadline": ", because the deadline passed",
    "wheel": ": you took control",
}
"""Ends of the line about an interruption, by its detail."""
_HandoffEvent = HandoffOpened | HandoffClosed | TierAsked | TierPassed | ModelQuoted
HANDOFF = (HandoffOpened, HandoffClosed, TierAsked, TierPassed, ModelQuoted)


def show_person(state: ViewState, stamped: Stamped, event: PersonEvent) -> None:
    """Show an event between the run and a person."""
    match event:
        case ProposalOpened():
            _opened(state, stamped, event)
        case ProposalRebased():
            _rebased(state, stamped, event)
        case ProposalDecided():
            _decided(state, stamped, event)
        case QuestionAsked() | QuestionAnswered():
            _question(state, stamped, event)
        case Queued() | Unqueued():
            pass  # the line of waiting messages shows them
        case Said():
            _said(state, stamped, event)
        case Interrupted():
            end_blocks(state, stamped, "text", "reasoning", "preparing", status="cut")
            note(state, stamped, f"interrupted the {event.what}{_why(event.detail)}")
            state.activity = ""
        case CommandTaken():
            state.taken.add(event.command_id)
            _end_compaction(state, event)
        case CommandRefused():
            state.refused[event.command_id] = event.why
            _end_compaction(state, event)
            add(state, stamped, "fault", text=f"{command_name(event.command)} was refused: {event.why}")
        case PlanChanged():
            if not try_label(stamped.work):  # each of several tries has a plan of its own
                state.plan = list(event.lines)
            note(state, stamped, f"plan: {plan_summary(plan_steps(event.lines))}", detail="\n".join(event.lines))
        case PlanAccepted():
            state.accepted = event
        case ConversationCut():
            _cut(state, stamped, event)
        case Undone():
            _undone(state, stamped, event)
        case _:
            assert_never(event)


def show_handoff(state: ViewState, stamped: Stamped, event: _HandoffEvent) -> None:
    """Show an event of a hand-off."""
    match event:
        case HandoffOpened():
            block = add(state, stamped, "stall", text=event.suggested_action, title=f"hand-off: {event.reason}")
            block.status = "waiting"
        case HandoffClosed():
            state.waiting = ""
            note(state, stamped, f"hand-off closed by {event.by}" + (f": {event.note}" if event.note else ""))
        case TierAsked():
            until = "" if event.until is None else f"for {clock(event.until - stamped.at)}"
            note(state, stamped, f"asks {event.name}", right=until)
        case TierPassed():
            note(state, stamped, f"tier {event.number} passed: {event.why}")
        case ModelQuoted():
            state.quoted = event
            note(state, stamped, _quote_words(event), right=f"/model {event.model} once more switches")
        case _:
            assert_never(event)


def _end_compaction(state: ViewState, answered: CommandTaken | CommandRefused) -> None:
    """Note that the summary was written, or not."""
    if answered.command == "compact" and state.activity == "compacting":
        state.activity = ""


def _cut(state: ViewState, stamped: Stamped, event: ConversationCut) -> None:
    state.prompt_tokens = event.tokens_after
    if not event.summary:
        state.plan = []
        note(state, stamped, "conversation cleared: the messages above are no longer sent to the model")
        return
    kept = f" and the newest {plural(event.kept, 'message')}" if event.kept else ""
    text = f"conversation compacted: instead of the messages above, the model reads this summary{kept}"
    cost = "$?" if event.usd is None else f"{money(event.usd)} USD"
    sizes = f"{short(event.tokens_before)} → {short(event.tokens_after)} tokens, {cost}"
    note(state, stamped, text, right=sizes, detail=event.summary).open = is_short(event.summary)
    note(state, stamped, "/compact show lists all that the model reads now, /compact undo sends the messages again")


def _undone(state: ViewState, stamped: Stamped, event: Undone) -> None:
    state.check = None  # its verdict no longer holds
    if is_taken_back(event):
        return
    what = f"back to before step {event.step}" if event.step is not None else plural(event.changes, "change")
    what = what if event.path is None else f"{plural(event.changes, 'change')} of {event.path}"
    detail = "\n".join([*event.files, *event.also])
    note(
        state, stamped, f"undone: {what}", right=plural(len(event.files), "file") if event.files else "", detail=detail
    )
    if state.outcome is not None:
        state.outcome = after_undo(state.outcome, event)
        if words := void_words(state.outcome):
            note(state, stamped, f"the outcome `{state.outcome.reason.value}` is void: {words}")
    for kept in event.kept[:_NAMED]:
        note(state, stamped, kept)
    if len(event.kept) > _NAMED:
        more = event.kept[_NAMED:]
        note(state, stamped, f"left as they are: {len(more)} more", detail="\n".join(more))


def _opened(state: ViewState, stamped: Stamped, event: ProposalOpened) -> None:
    waits = bool(event.asks)
    index = state.at_call.get(event.call_id)
    title = proposal_title(event.tool, event.path, event.command, event.added, event.removed)
    if event.url is not None:
        title = f"{title} {event.query or event.url}"
    elif event.effects is not None:
        title = event.effects.heading or f"changes of {event.effects.command}"
        _mark_as_ran(state)
    elif event.server is not None and not event.name:
        title = f"other tools or instructions of the MCP server {event.server}"
    if index is None:
        block = add(state, stamped, call_kind(event.tool), title=title)
        index = len(state.blocks) - 1
    else:
        block = touch(state, index)
        block.title = f"you: {title}" if block.title.startswith("you: ") else title
    block.status = "waiting" if waits else "running"
    if event.effects is not None:
        block.detail = "\n".join(effect_lines(event.effects))
        block.right = effects_title(event.effects)
    elif event.diff:
        block.detail, block.detail_kind = event.diff, "diff"
    elif event.call is not None:
        block.detail, block.detail_kind = event.call, "json"
    elif event.plan is not None:
        block.detail = event.plan
    state.at_proposal[event.proposal_id] = index
    if waits:
        state.activity = ""
        state.busy.halt(stamped.at)


def _mark_as_ran(state: ViewState) -> None:
    """Show that the command whose changes are decided on has ended."""
    for index in state.at_call.values():
        if (block := state.blocks.in_memory_at(index)).kind == "command" and block.status == "running":
            touch(state, index).status = "ran"


def _rebased(state: ViewState, stamped: Stamped, event: ProposalRebased) -> None:
    index = state.at_proposal.get(event.proposal_id)
    opened = state.proposals.get(event.proposal_id)
    if index is not None:
        block = touch(state, index)
        block.detail, block.detail_kind = event.diff, "diff"
        if opened is not None:
            block.title = proposal_title(opened.tool, opened.path, opened.command, event.added, event.removed)


def _decided(state: ViewState, stamped: Stamped, event: ProposalDecided) -> None:
    opened = state.proposals.get(event.proposal_id)
    state.waiting = "" if state.waiting == "gate" else state.waiting
    index = state.at_proposal.get(event.proposal_id)
    if opened is not None and not opened.call_id:
        state.at_proposal.pop(event.proposal_id, None)  # the proposal of a call can change until the call ends
    if index is not None:
        block = touch(state, index)
        _mark(block, event, (opened.hunks if opened is not None else 0) + sum(map(len, event.cuts.values())))
        if opened is not None and opened.effects is not None:
            _mark_entries(block, event, opened.effects)
    for rule in event.rules or ([event.rule] if event.rule else []):
        note(state, stamped, f"from now on: {rule}")
    if opened is not None and event.decision != "reject":
        state.activity = "running"
        if opened.effects is None:  # else what made the changes has ended
            state.busy.start(stamped.at)


def _mark(block: Block, event: ProposalDecided, hunks: int) -> None:
    by = "" if event.by == "person" else f" by {event.by}"
    match event.decision:
        case "approve":
            block.status = "running" if event.by == "policy" else "approved"
            block.right = "" if event.by == "policy" else f"approved{by}"
        case "part":
            block.status = "part"
            block.right = f"{event.taken} of {hunks} hunks approved{by}"
        case _:
            block.status = "rejected"
            block.right = _rejected(event, by)
    why = [f"skipped: {reason}" for _, reason in sorted(event.left.items())]
    if event.reason or why:
        block.text = "\n".join([*([event.reason] if event.reason else []), *why])


def _rejected(event: ProposalDecided, by: str) -> str:
    """Return how a proposal ended that was not approved. A rule and the mode give their reason in the row."""
    why = event.reason or ""
    if event.by == PERSON and why.startswith(CONFLICT):
        return "kept as it is" if KEPT_AS_IT_IS in why else "asked again"
    return f"rejected{by}: {first_line(why, _REASON)}" if event.by == "policy" and why else f"rejected{by}"


def _mark_entries(block: Block, event: ProposalDecided, effects: CommandEffects) -> None:
    """Show which entries of what a command would change were skipped or changed, and why."""
    if event.decision == "part":
        left = sum(entry.skipped for entry in event.entries.values())
        count = len(effects.entries)
        by = "" if event.by == PERSON else f" by {event.by}"
        block.right = f"{count - left} of {plural(count, 'change')} approved{by}"
    why = list[str]()
    for at, decided in sorted(event.entries.items()):
        name = entry_name(effects.entries[at]) if at < len(effects.entries) else str(at)
        what = "skipped" if decided.skipped else "edited" if decided.edited else "in part"
        reasons = "; ".join([*([decided.reason] if decided.reason else []), *decided.left.values()])
        why.append(f"{name}: {what}{f', {reasons}' if reasons else ''}")
    if why:
        block.text = "\n".join([*([event.reason] if event.reason else []), *why])


def _question(state: ViewState, stamped: Stamped, event: QuestionAsked | QuestionAnswered) -> None:
    if isinstance(event, QuestionAsked):
        options = [f"{n}  {option}" for n, option in enumerate(event.options, 1)]
        add(state, stamped, "question", text="\n".join([event.question, *options]), status="waiting")
        state.at_question[event.question_id] = len(state.blocks) - 1
        state.activity = ""
        state.busy.halt(stamped.at)
        return
    state.waiting = "" if state.waiting == "question" else state.waiting
    index = state.at_question.pop(event.question_id, None)
    if index is not None:
        block = touch(state, index)
        block.status = "ok"
        block.right = "answered" if event.by == "person" else f"answered by {event.by}"
    add(state, stamped, "say" if event.by == "person" else "note", text=event.text)


def _said(state: ViewState, stamped: Stamped, event: Said) -> None:
    state.waiting, state.accepted = "", None
    if state.loop is LoopKind.CHAT:  # a chat's budget is for each message (docs/requirements.md 3.1)
        state.busy.measured = state.least_busy = 0.0
    sender = [f"from {event.by}"] if event.by != PERSON else []
    carries = "  ".join([*sender, *(image.label for image in event.images)])
    first = (i for i, b in enumerate(state.blocks[:3]) if b.kind == "task" and _begins_with(event.text, b.text))
    if event.kind == "task" and (index := next(first, None)) is not None:
        block = touch(state, index)
        block.text, block.right = event.text.replace(f"{FOLLOW_PLAN}\n\n", "", 1), carries or block.right
        return
    add(state, stamped, event.kind, text=event.text).right = carries


def _begins_with(said: str, task: str) -> bool:
    """Return whether a message is the task, or the task with more below it: the plan that is carried out."""
    return said == task or said.startswith(f"{task}\n\n")


def _why(detail: str) -> str:
    """Return why a person interrupted the run, as the end of a sentence."""
    return _INTERRUPTIONS.get(detail, f": {detail}" if detail else "")


def _quote_words(event: ModelQuoted) -> str:
    """Describe the cost of a switch: `openai/gpt-x has a cold cache: it reads 48k tokens again for 0.14 USD`."""
    cost = "at an unknown price" if event.cold_usd is None else f"for {money(event.cold_usd)} USD"
    words = f"{event.model} has a cold cache: it reads {short(event.prompt_tokens)} tokens again {cost}"
    return words if not event.warm_usd else f"{words}; the model now, from its cache, for {money(event.warm_usd)}"
