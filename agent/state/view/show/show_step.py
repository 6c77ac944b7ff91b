"""Show a step: the call, the streamed answer, tools and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never, get_args

from msgspec.structs import replace

from ....protocol import (
    SHELL_CALL,
    SUMMARY_WORK,
    AwaitBegan,
    AwaitEnded,
    CallAdmitted,
    ChangeCommitted,
    ChangesUndecided,
    Charged,
    ContextTrimmed,
    EffectsAccepted,
    EffectsApplied,
    Fault,
    FileChanged,
    GuardApproved,
    GuardSealed,
    HoldReleased,
    ImagesRefused,
    LockAwaited,
    LockObtained,
    OutputArrived,
    OutputsWritten,
    Prompted,
    PromptRead,
    PromptShortened,
    ReasoningArrived,
    ReasoningKept,
    ReplyFinished,
    Snapshotted,
    StageBegan,
    StageEnded,
    StallDetected,
    Stamped,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
    UndoAccepted,
    Unknown,
    duration,
)
from ....protocol.text.counts import first_names
from ....protocol.text.shorten_text import first_line
from ..view_state import LockWait
from .change_blocks import add, end_blocks, grow, is_short, note, touch
from .short_numbers import short
from .shortening import shortening_lines, trim_words
from .show_children import show_what_stays
from .titles import call_kind, call_title, stall_words, until_words

if TYPE_CHECKING:
    from ..view_state import ViewState

CallEvent = CallAdmitted | ReplyFinished | Fault
WaitEvent = AwaitBegan | AwaitEnded | OutputArrived | PromptRead | LockAwaited | LockObtained
ToolEvent = ToolCalled | ToolFinished | FileChanged
StepEvent = (
    StepStarted
    | StepFinished
    | ContextTrimmed
    | PromptShortened
    | ImagesRefused
    | EffectsAccepted
    | EffectsApplied
    | OutputsWritten
    | StageBegan
    | StageEnded
    | UndoAccepted
    | Snapshotted
    | GuardSealed
    | GuardApproved
    | ChangesUndecided
    | ReasoningKept
    | ChangeCommitted
    | Prompted
    | StallDetected
    | Unknown
)

_STAGE_ENDS = {
    "applied": "what was accepted of the stage is in the workspace",
    "dropped": "the stage was dropped: the workspace stays as it is",
    "lost": "the stage is lost: the machine was restarted before it was on the disk",
}
CALL: tuple[type[CallEvent], ...] = get_args(CallEvent)
WAITS: tuple[type[WaitEvent], ...] = get_args(WaitEvent)
TOOL: tuple[type[ToolEvent], ...] = get_args(ToolEvent)
STEP: tuple[type[StepEvent], ...] = get_args(StepEvent)
NOT_SHOWN = (Charged, HoldReleased)
"""Events of a step that only the meters show."""

_WORDS = 3
"""Most parts of a change in one line."""
_COMMIT = 9
"""Number of characters of a commit id."""
_NOT_SUMMARISED = "the oldest messages do not fit: the summary leaves them out"
_SHOWN_ELSEWHERE = ("ask_person", "update_plan", "start_child")
"""Tools whose calls another event shows: the question, the plan, the child run."""
_AT_GATE = ("edit", "command")
"""Kinds of calls that start when their proposal opens; until then another call is shown."""
_PROMPT_TITLES = {
    "nudge": "sent a reminder",
    "file": "sent a file to the model",
    "hint": "sent a hint to the model",
    "review": "asked for a review",
    "wrap_up": "asked for a final answer",
    "undo": "noted the undo for the model",
    "shell": "reported your command to the model",
    "wheel": "reported your actions to the model",
    "background": "reported the end of the command to the model",
    "guard": "reported the restored files to the model",
    "handover": "described the run to the new model",
    "compact": "asked for a summary of the conversation",
    "wake": "reported the sleep to the model",
    "again": "started over",
    "note": "sent the state of the run to the model",
}


def show_tool(state: ViewState, stamped: Stamped, event: ToolEvent) -> None:
    """Show a tool call, its result, or a file that changed otherwise."""
    match event:
        case ToolCalled():
            _tool_called(state, stamped, event)
        case ToolFinished():
            _tool_finished(state, stamped, event)
        case FileChanged():
            _file_changed(state, stamped, event)
        case _:
            assert_never(event)


def _file_changed(state: ViewState, stamped: Stamped, event: FileChanged) -> None:
    if event.staged:
        state.staged[event.path] = (state.staged.get(event.path, (event.before, None))[0], event.after)
    else:
        _unstage(state, event.path)
    if event.by != "model" and state.rolling_back is None:
        counts = f"+{event.added} −{event.removed}"
        by = event.command or (state.applies_child if event.by == "command" else "") or event.by
        note(state, stamped, f"{event.path} changed by {by}", right=counts)


def show_wait(state: ViewState, stamped: Stamped, event: WaitEvent) -> None:
    """Note what is awaited, the newest output of a command, how far a prompt is read, or a lock."""
    match event:
        case AwaitBegan():
            _await_began(state, stamped, event)
        case AwaitEnded():
            pass  # the result of the call says how it ended
        case OutputArrived(call_id=call_id):
            index = _printing(state, stamped.work, call_id)
            if index is not None:
                state.printed[index] = event.line
        case PromptRead():
            state.prompts_read[stamped.work] = (event.read, event.total)
        case LockAwaited():
            state.locks.append(LockWait(stamped.work, event.lock, event.holder, stamped.at))
        case LockObtained():
            state.locks = [one for one in state.locks if (one.work, one.lock) != (stamped.work, event.lock)]
        case _:
            assert_never(event)


def _await_began(state: ViewState, stamped: Stamped, event: AwaitBegan) -> None:
    if not event.counts:
        state.busy.halt(stamped.at)
    index = state.at_call.get(event.call_id)
    if index is None:
        return
    if event.what == "person":  # its row can be cut, and the person must read what they are to do
        note(state, stamped, f"waiting for you: {event.name}")
    touch(state, index).right = " ".join(until_words(event, stamped.at))


def _printing(state: ViewState, work: str | None, call_id: str) -> int | None:
    """Return the index of the block of the command that printed, or None if it has ended."""
    if not call_id:
        return state.growing.get((work, "check"), state.growing.get((None, "confirm")))
    if call_id.startswith(SHELL_CALL):
        return state.at_shell.get(int(call_id.removeprefix(SHELL_CALL)))
    return state.at_call.get(call_id)


def show_words(state: ViewState, stamped: Stamped, event: TextArrived | ReasoningArrived) -> None:
    """Show streamed text, which is the most frequent event. A summary is shown when it is whole, by its compaction."""
    if stamped.work == SUMMARY_WORK:
        return
    if isinstance(event, TextArrived):
        kind, other, state.activity = "text", "reasoning", "streaming"
    else:
        kind, other, state.activity = "reasoning", "text", "thinking"
    if (stamped.work, other) in state.growing:
        end_blocks(state, stamped, other)
    grow(state, stamped, kind, event.text)


def _note_prompt(state: ViewState, stamped: Stamped, event: Prompted) -> None:
    """Show a message to the model as notes: one line for each session that changed files."""
    lines = [event.text]
    if event.kind == "changed":
        lines = event.text.splitlines()[:-1]  # the last one is advice for the model
    for line in lines:
        note(state, stamped, line)


def _prompt_title(event: Prompted) -> str:
    match event.kind:
        case "instructions":
            return f"loaded {event.text.partition(':')[0].replace('The', 'the', 1)}"
        case "hook":
            return f"context of {event.text.partition(' adds:')[0].replace('The', 'the', 1)}"
        case "mcp":
            return f"sent {event.text.partition(':')[0].removeprefix('[')} to the model"
        case "attached":
            return f"showed {event.path} to the model"
        case kind:
            return _PROMPT_TITLES.get(kind, f"sent to the model: {kind}")


def show_step(state: ViewState, stamped: Stamped, event: StepEvent) -> None:
    """Show the start or end of a step, and what concerns the step as a whole."""
    match event:
        case StepStarted():
            state.step, state.activity, state.waiting, state.sleeping = event.number, "thinking", "", None
        case StepFinished():
            end_blocks(state, stamped, "text", "reasoning")
            state.activity = ""
            state.count_exact(stamped.at, state.busy)
        case ContextTrimmed():
            words = trim_words(event) if stamped.work != SUMMARY_WORK else _NOT_SUMMARISED
            note(state, stamped, words, right=f"{short(event.dropped_tokens)} tokens")
        case PromptShortened():
            for line in shortening_lines(event):
                note(state, stamped, line)
        case ImagesRefused(model=model, shas=shas):
            if not shas and model == state.model:
                state.sees_images = False
        case Prompted(kind="unused" | "changed"):
            _note_prompt(state, stamped, event)
        case Prompted():
            # the transcript already shows the task, a failed check and new problems; the system prompt is not shown
            if event.kind not in ("system", "task", "check", "diagnostics"):
                block = add(state, stamped, "prompted", title=_prompt_title(event))
                block.detail = event.text
        case StallDetected():
            what, signature, done = stall_words(event)
            block = add(state, stamped, "stall", title=f"{what}: {signature}", status=event.response)
            block.right = done
        case ChangeCommitted():
            text = f"committed as {event.commit[:_COMMIT]}" if event.commit else f"not committed: {event.why_not}"
            note(state, stamped, f"{event.path} {text}{f'; {event.note}' if event.note else ''}")
        case ChangesUndecided(guarded=guarded, protected=protected):
            paths = [*guarded, *protected]
            text = f"changed while a command ran, stays until you decide: {first_names(paths, 3)}"
            note(state, stamped, text if paths else "no undecided change is left").detail = "\n".join(paths)
        case EffectsAccepted() | EffectsApplied():
            _of_effects(state, stamped, event)
        case StageBegan() | StageEnded():
            _of_stage(state, stamped, event)
        case OutputsWritten() | UndoAccepted() | Snapshotted() | ReasoningKept() | GuardSealed() | GuardApproved():
            pass  # another event shows the change; only the provider can read the parts
        case Unknown():
            block = add(state, stamped, "unknown", title=event.type)
            block.detail, block.detail_kind = event.raw.decode(errors="replace"), "json"
        case _:
            assert_never(event)


def _of_effects(state: ViewState, stamped: Stamped, event: EffectsAccepted | EffectsApplied) -> None:
    """Note what no other event shows: files that are only counted, and conflicts."""
    if isinstance(event, EffectsAccepted):
        of_child = any(child.words == event.command for child in state.common.children.by_number.values())
        state.applies_child = event.command if of_child else ""
    if isinstance(event, EffectsApplied):
        lines, text = event.conflicts, f"not applied: {first_names(event.conflicts, 1)}"
    else:
        lines = [*event.also, *event.built]
        text = f"{'changed' if event.in_place else 'applied'}: {first_names(lines, _WORDS)}"
    if lines:
        note(state, stamped, text, detail="\n".join(lines))


def show_call(state: ViewState, stamped: Stamped, event: CallEvent) -> None:
    """Show an event of a call to the model. The meters show its usage."""
    state.prompts_read.pop(stamped.work, None)
    match event:
        case CallAdmitted():
            state.prompt_tokens, state.retrying = event.prompt_tokens, None
            if stamped.work == SUMMARY_WORK:
                state.activity = "compacting"  # a chat waits for a message before and after it
            else:
                state.activity, state.waiting, state.wrapping_up = "thinking", "", event.wrap_up
            state.busy.start(stamped.at)
        case ReplyFinished():
            status = "cut" if event.finish in ("cut", "length", "interrupted") else ""
            ended = end_blocks(state, stamped, "text", "reasoning", status=status)
            if not ended and event.finish in ("empty", "refusal"):
                note(state, stamped, "the model answered nothing" if event.finish == "empty" else "the model refused")
            state.busy.halt(stamped.at)
            state.activity = ""
        case Fault():
            end_blocks(state, stamped, "text", "reasoning", status="cut")
            block = add(state, stamped, "fault", title=event.kind, text=event.text)
            block.right = "" if event.retry_in is None else f"retry in {duration(event.retry_in)}"
            state.retrying = None if event.retry_in is None else (_why(event), stamped.at, event.retry_in)
            state.busy.halt(stamped.at)
        case _:
            assert_never(event)


def _unstage(state: ViewState, *paths: str) -> None:
    """Note that these files are no longer staged, also if the run ended with them."""
    for path in paths:
        state.staged.pop(path, None)
    if state.outcome is not None and not {*paths}.isdisjoint(state.outcome.staged):
        left = [path for path in state.outcome.staged if path not in paths]
        state.outcome = replace(state.outcome, staged=left)


def _of_stage(state: ViewState, stamped: Stamped, event: StageBegan | StageEnded) -> None:
    state.in_stage = isinstance(event, StageBegan)
    _unstage(state, *state.staged, *(state.outcome.staged if state.outcome is not None else ()))
    is_called = state.parent is not None and state.parent.stages
    until = "its chat has asked you about them" if is_called else "you apply them"
    began = f"its changes are staged: the workspace stays as it is until {until}"
    note(state, stamped, _STAGE_ENDS[event.how] if isinstance(event, StageEnded) else began)


def _why(fault: Fault) -> str:
    """Describe why a call is repeated: `rate limit of the model`."""
    return f"{fault.kind.replace('-', ' ').replace('_', ' ')}: {first_line(fault.text, 60)}".strip(": ")


def _tool_called(state: ViewState, stamped: Stamped, event: ToolCalled) -> None:
    end_blocks(state, stamped, "text", "reasoning")
    state.activity = "running"
    if event.tool != "start_child":  # the child run has a stopwatch of its own
        state.busy.start(stamped.at)
    if event.tool in _SHOWN_ELSEWHERE:
        return
    whose = "you: " if event.by == "person" else ""
    title = whose + call_title(event.tool, event.arguments)
    kind = call_kind(event.tool)
    block = add(state, stamped, kind, title=title, status="next" if kind in _AT_GATE else "running")
    if event.repaired:
        block.right = "repaired arguments"
    state.at_call[event.call_id] = len(state.blocks) - 1


def _tool_finished(state: ViewState, stamped: Stamped, event: ToolFinished) -> None:
    children = state.common.children.by_number.values()
    state.busy.halt(stamped.at)
    state.activity = "running" if any(child.call_id and child.is_open for child in children) else ""
    index = state.at_call.pop(event.call_id, None)
    if event.stays:
        show_what_stays(state, event)
    if index is None:
        if event.ok or any(child.call_id == event.call_id for child in children):  # the entry of the child says it
            return
        add(state, stamped, "tool", title=call_title(event.tool, None))
        index = len(state.blocks) - 1
    if state.at_proposal:
        state.at_proposal = {name: at for name, at in state.at_proposal.items() if at != index}
    state.printed.pop(index, None)
    block = touch(state, index)
    block.seconds = event.seconds
    if block.status not in ("rejected", "part"):
        approval = "approved" if block.status == "approved" else ""
        block.status = "ok" if event.ok else "failed"
        summary = approval if block.kind == "edit" and event.ok else event.summary  # an edit's title shows the counts
        block.right = summary or ("" if event.ok else first_line(event.result, 60))
    if block.detail_kind != "diff" or not event.ok:
        block.detail, block.detail_kind = event.result, "text"
        block.open = event.by == "person" and is_short(event.result)  # a person in control wants to read the result
