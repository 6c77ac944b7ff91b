"""Assemble the prompt of the next call: the conversation and the tools, fitted to the model's window."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ...budget.count_margin import expected, most_counted
from ...protocol import Message, Model, PromptShortened, RunSpec, ToolSpec
from ..formats.format_words import LONGEST_INSTRUCTION, MOST_TEST, first_failure
from ..formats.text_edits import FileSpace, TextEdits
from ..model_call.images_shown import with_accepted_images
from .fit_conversation import Fitted, fit
from .fit_fixed_part import Fixed, FixedLimits, shorten_fixed
from .smallest_window import needed_room, output_room, prompt_room, smallest_window

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts
    from ...state.recorder import Events
    from ..resources.models_in_use import ModelsInUse
    from ..resources.run_context import RunContext

MOST_SECONDS = 15.0
"""Seconds for reading the first prompt; a slower one is shortened."""
_MOST_FIXED = 900
"""Tokens of system prompt and tools on a server that would need more, besides the project's instructions."""
_SHARES = (None, 0.1, 0.0)
"""Shares of the project's instructions in a prompt that shows a file, in the order in which they are tried."""
_BELOW_REFUSED = 0.9
"""Share of a refused prompt's tokens that the next prompt may have."""
_CHECK_SHARE = 0.4
"""Share of the space for a file that the check's output and the newest answer may use instead."""
_MOST_TRIED = 200
"""Approximate tokens of the lines about earlier tries."""
_LEAST_FILE = 60
"""Fewest tokens of a file that are worth showing."""


def fit_prompt(
    ctx: RunContext,
    work: str | None,
    tools: Sequence[ToolSpec],
    edits: TextEdits | None = None,
    *,
    limit: int | None = None,
) -> Fitted:
    """Return the prompt of the next call. `limit`: its limit in tokens after the provider refused a longer one.

    Our count decides, as long as an answer still fits by what the provider counted for earlier prompts. The prompt is
    only shortened further if it would not, because each change of its beginning makes the provider read it again.
    """
    model = ctx.models.current
    room = prompt_room(model.window, model.max_output)
    if (refused := ctx.prompts.refused(model.name)) is not None:
        room = min(room, int(refused * _BELOW_REFUSED))

    def count(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        return model.count(messages if edits is None else edits.as_sent(messages), tools)

    def fit_into(room: int) -> Fitted:
        return fit(
            with_accepted_images(model, ctx.facts, ctx.facts.conversation(work)),
            count=count,
            window=model.window,
            room=room,
            tools=tools,
            limits=fixed_limits(ctx, work, tools, edits),
            limit=limit,
        )

    fitted, newest = fit_into(room), ctx.facts.newest_prompt(model.name)
    answer = output_room(model.window, model.max_output)
    if expected(fitted.tokens, newest) + answer // 2 <= model.window:
        return fitted
    return fit_into(most_counted(room, newest))


def fixed_limits(
    ctx: RunContext, work: str | None, tools: Sequence[ToolSpec], edits: TextEdits | None = None
) -> FixedLimits:
    """Return what the fixed part of a prompt has to keep, and how long it may be."""
    is_slow = edits is None and seconds_to_read(ctx, work, tools) > MOST_SECONDS
    return FixedLimits(
        needed=required_tools(ctx.facts.spec),
        share=None if edits is None else edits.share,
        limit=_MOST_FIXED if is_slow else None,
    )


def seconds_to_read(ctx: RunContext, work: str | None, tools: Sequence[ToolSpec]) -> float:
    """Return the seconds in which the server reads the first prompt of this conversation.

    Returns 0 if its speed is unknown.
    """
    model = ctx.models.current
    speed = reading_speed(model)
    conversation = ctx.facts.conversation(work)
    system = next((m.text for m in conversation.messages if m.role == "system"), "")

    def estimate() -> float:
        return model.count(conversation.current(), tools) / speed if speed else 0.0

    return ctx.prompts.seconds_to_read(model.name, system, len(tools), estimate)


def reading_speed(model: Model) -> float | None:
    """Return the tokens per second that a server of the user's own reads, or None if unknown, or not their own."""
    return None if model.served is None or not model.served.self_hosted else model.served.read_speed


def window_too_small(
    facts: RunFacts, models: ModelsInUse, edits: TextEdits | None, work: str | None, tools: Sequence[ToolSpec]
) -> str:
    """Return the message that even the shortest prompt does not fit, with the smallest window that works."""
    conversation = facts.conversation(work)
    system = next((m.text for m in conversation.messages if m.role == "system"), "")
    task = next((m.text for m in conversation.messages if m.role == "user"), "")
    more = LONGEST_INSTRUCTION if edits is not None else ""
    room = needed_room(system, tools, task, models.current.count, needed=required_tools(facts.spec), more=more)
    return (
        f"{models.current.name}, {models.current.window} tokens: this context window is too small for the task: "
        f"use one of at least {smallest_for(models.current, room)} tokens"
    )


def smallest_for(model: Model, room: int) -> int:
    """Return the smallest window in which the prompt may use `room` tokens, given the length of the model's answers."""
    short = model.max_output if model.max_output is not None and model.max_output < model.window else None
    return smallest_window(room, max_output=short)


def file_space(ctx: RunContext) -> FileSpace:
    """Return the tokens for the file that is shown to the model in a file format."""
    model, facts, conversation = ctx.models.current, ctx.facts, ctx.facts.main
    messages = conversation.messages
    system = next((m.text for m in messages if m.role == "system"), "")
    said = {*conversation.said}
    kept = [m for m, seq in zip(messages, conversation.seqs, strict=True) if m.role == "user" and seq in said]
    task = model.count(kept, ()) if kept else 0
    output = "\n".join(first_failure(c.output) for c in facts.verdicts.checks.values() if not c.passed)
    newest = max(model.count_text(output), MOST_TEST) + _MOST_TRIED
    space = prompt_room(model.window, model.max_output) - task

    def left(share: float | None) -> int:
        fixed = shorten_fixed(system, (), count=model.count, space=space, limits=FixedLimits(share=share))
        room = space - model.count(
            [Message(role="system", text=fixed.system), Message(role="user", text=LONGEST_INSTRUCTION)], ()
        )
        return max(_LEAST_FILE, int(room - min(newest, room * _CHECK_SHARE)))

    quickly_read = ctx.prompts.quickly_read(model.name, reading_speed(model), MOST_SECONDS)
    return FileSpace([(share, left(share)) for share in _SHARES], model, quickly_read)


def note_shortened(ctx: RunContext, fixed: Fixed, work: str | None, tools: Sequence[ToolSpec], events: Events) -> None:
    """Record for the user how the fixed part of the prompt is shortened, once for each way.

    The prompts of the works of a search differ in length, so one event stands for all.
    """
    edits = ctx.edits
    is_shown = edits is not None and edits.is_active
    how = (
        ()
        if work is not None
        else (edits.share if edits is not None and is_shown else fixed.kept, fixed.is_brief, fixed.left_out)
    )
    seconds = 0.0 if is_shown else seconds_to_read(ctx, work, tools)
    seen = (ctx.models.current.window, *how)
    if fixed.is_shortened and ctx.prompts.is_new_shortening(seen):
        events.record(
            PromptShortened(
                window=ctx.models.current.window,
                seconds=seconds if seconds > MOST_SECONDS else None,
                file=fixed.name if fixed.kept < fixed.length else "",
                kept=fixed.kept,
                length=fixed.length,
                brief_tools=fixed.is_brief,
                tools_left_out=list(fixed.left_out),
            )
        )


def required_tools(spec: RunSpec) -> Collection[str]:
    """Return tools that are never left out: those that a predicate requires, and `search` if that is the task."""
    required = {action.partition(":")[0] for action in spec.predicates.require}
    return required if spec.finder is None else required | {"search"}
