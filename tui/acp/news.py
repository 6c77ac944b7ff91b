"""Events that an editor has no form of its own for, in words."""

from __future__ import annotations

from rundry.agent import (
    AnswerRead,
    AwaitBegan,
    ChangeCommitted,
    CommandRefused,
    ConversationCut,
    EditFormatChosen,
    EditFormatOffered,
    Event,
    Fault,
    HandoffClosed,
    HandoffOpened,
    HookRan,
    LimitsChanged,
    McpServerChanged,
    ModelSwitched,
    Paused,
    Prompted,
    ProposalDecided,
    Restarted,
    RuleAdded,
    RunEnded,
    RunStarted,
    Sleeping,
    StallDetected,
    Undone,
    Waiting,
    answer_words,
    await_words,
    clock,
    command_name,
    duration,
    hook_lines,
    plural,
    stall_words,
)

from ..control.end_words import JOBS_ENDED, end_line, ended_jobs_words, outcome_line


def news_lines(event: Event) -> list[str]:
    """Return what the person should read about an event; nothing for most of them."""
    match event:
        case RunStarted(notes=notes):
            return list(notes)
        case RunEnded():
            return end_lines(event)
        case Waiting(why="message", detail=detail) if detail:
            return [f"-> budget: {detail}", "A limit ends each turn; `/limit NAME VALUE` changes it."]
        case HandoffOpened(reason=reason, suggested_action=action):
            return [f"Handed to you: {reason}", f"Next: {action}", "`/handoff` shows the whole record."]
        case Fault(kind=kind, text=text, retry_in=again):
            return [f"{kind}: {text}" + ("" if again is None else f" (retry in {duration(again)})")]
        case EditFormatChosen() | AnswerRead() | Restarted() | EditFormatOffered():
            return [words] if (words := answer_words(event)) else []
        case StallDetected():
            what, signature, done = stall_words(event)
            return [f"{what}: {signature} ({done})"]
        case ProposalDecided(decision="reject", by=by, reason=reason):
            return [f"rejected by the {by}{f': {reason}' if reason else ''}"] if by != "person" or reason else []
        case _:
            return _changes(event)


def end_lines(ended: RunEnded) -> list[str]:
    """Return how a run ended: the reason that programs read, the evidence and the costs."""
    jobs = ended_jobs_words(ended)
    return [outcome_line(ended), end_line(ended).strip(), *([f"{JOBS_ENDED}: {jobs}"] if jobs else [])]


def _rest_line(event: Sleeping | AwaitBegan | Paused) -> str:
    match event:
        case Sleeping(seconds=seconds, why=why):
            return f"sleeping for {clock(seconds)}: {why}. `/wake` wakes it."
        case AwaitBegan(what=what, name=name, text=text):
            return f"waiting for {await_words(what, name, text)}. `/wake` ends it."
        case Paused(why=why):
            return f"paused{f': {why}' if why else ''}"


def _changes(event: Event) -> list[str]:
    match event:
        case CommandRefused(command=command, why=why):
            return [f"{command_name(command)} was refused: {why}"]
        case HandoffClosed(by=by) if by != "person":
            return [f"{by} took over"]
        case Sleeping() | AwaitBegan() | Paused():
            return [_rest_line(event)]
        case McpServerChanged(name=name, state="failed" | "ended" as state, detail=detail):
            return [f"MCP server {name} {state}: {detail}"]
        case ConversationCut(summary=summary):
            return ["the conversation was " + ("compacted" if summary else "cleared")]
        case Undone(by=by, files=files, kept=kept, also=also) if by != "restart" or kept:
            return [f"undone: {plural(len(files), 'file')}", *also[:5], *kept[:5]]
        case HookRan():
            return hook_lines(event)
        case ChangeCommitted(path=path, commit=commit, why_not=why):
            return [f"{path} {f'committed as {commit[:9]}' if commit else f'not committed: {why}'}"]
        case _:
            return _from_now_on(event)


def _from_now_on(event: Event) -> list[str]:
    match event:
        case Prompted(kind="unused", text=text):
            return [text]
        case ModelSwitched(model=model):
            return [f"the model is {model} from now on"]
        case LimitsChanged(limits=limits):
            named = {name: "not limited" if value is None else value for name, value in limits.items()}
            return [f"{name} is {value} from now on" for name, value in named.items()]
        case RuleAdded(rule=rule):
            return [f"{rule.verdict} {rule.command or rule.path or rule.host or rule.tool or 'everything'} from now on"]
        case _:
            return []
