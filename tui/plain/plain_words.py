"""State, budget and help of a session in words. Does not import textual."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rundry.agent import Block, ViewState, plural

from ..head.meters import meters
from ..text.show_text import one_line, show
from .headless.headless_lines import block_words, model_words

_NAMES = {"tok": "tokens", "usd": "US dollars", "step": "steps", "page": "pages", "ctx": "context"}
HELP = (
    "Type a message and press Enter: the model reads it. While the model works, it reads it after the step.",
    "At the gate: approve, reject REASON, approve hunks 1 3, always, reason TEXT, show.",
    "status: what happens now. budget: what is used and what is left. details: what the last step returned.",
    "help: these lines. quit, or Control+D: leave. Control+C: interrupt the model.",
    "!COMMAND runs a command of yours. Commands with a slash: ",
)


def budget_lines(state: ViewState, now: float) -> Iterator[str]:
    """Return one line for each limit: `steps: 7 of 40 used, 17 percent`."""
    found = meters(state, now)
    for meter in found:
        used = meter.used.strip()
        limit = f" of {meter.limit}" if meter.limit else ""
        share = f", {round(meter.share * 100)} percent" if meter.share is not None and meter.limit else ""
        held = f", {meter.held} more may still be billed" if meter.held else ""
        yield f"{_NAMES.get(meter.name, meter.name)}: {used}{limit} used{share}{held}"
    if not found:
        yield "nothing is used yet"


def status_line(state: ViewState, phase: str) -> str:
    """Return the state of the run: `step 7, running: pytest -q. Gate: ask. Model: qwen3:8b.`"""
    steps = state.common.ledger.limited.steps
    words = [f"step {steps}, {phase}" if steps else phase]
    if state.try_words:
        words.append(state.try_words)
    if state.check is not None:
        counts = f" ({state.failure_change} failing)" if state.failure_change else ""
        failing = "passed" if state.check.passed else f"fails{counts}"
        words.append(f"check {failing}")
    words.append(f"gate {state.gate_mode.value}")
    if state.model:
        words.append(f"model {one_line(model_words(state.model))}")
    if state.queue:
        words.append(f"{plural(len(state.queue), 'message')} queued")
    return ". ".join(words) + "."


def entry_lines(block: Block) -> Iterator[str]:
    """Return the lines of one entry of the transcript, in full."""
    who = f"step {block.step}: " if block.step is not None else ""
    match block.kind:
        case "text":
            yield from _labelled("model: ", block.text)
            if block.status == "cut":
                yield "the answer was cut off"
        case "task" | "say" | "steer":
            yield from _labelled("you: ", block.text)
        case "reasoning" | "question" | "outcome":
            return
        case "tool" | "edit" | "command" | "check":
            word = _STATES.get(block.status, "")
            known = "fail" if word == "failed" else word
            yield f"{who}{block_words(block)}{f', {word}' if known not in one_line(block.right) else ''}"
        case _:
            words = [one_line(part) for part in (block.title, block.text, block.right) if part]
            if words:
                yield f"{_KINDS.get(block.kind, '')}{'  '.join(words)}"
            if block.kind == "note" and block.open:
                yield from show(block.whole_detail).split("\n")


_STATES = {"failed": "failed", "cut": "cut off", "rejected": "rejected", "passed": "passed"}
_KINDS = {"fault": "error: ", "stall": "the run stalls: "}


def _labelled(label: str, text: str) -> Iterator[str]:
    lines = show(text).strip("\n").split("\n")
    yield label + lines[0]
    yield from lines[1:]


def detail_lines(blocks: Sequence[Block]) -> Iterator[str]:
    """Return the folded content of the newest entry that has one."""
    block = next((block for block in reversed(blocks) if block.has_detail), None)
    if block is None:
        yield "there are no details yet"
        return
    yield from _labelled(f"{one_line(block.title)}: ", block.whole_detail)
