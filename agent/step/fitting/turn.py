"""What goes to the model in the next call: the conversation and the tools, made to fit its window."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...protocol import Message, Model, PromptShortened, Record, RunSpec, ToolSpec
from ..constrained import ASK, Constrained, FileSpace, plain_messages
from ..context import Fitted, fit
from ..kit import Kit
from .fixed import SHARE, Fixed, shorten_fixed
from .smallest import needed_room, prompt_room, smallest_window

_OF_CONSTRAINED = 0.1
"""Share of the project's instructions where the model gets a whole file: the file comes first."""
_CHECK_SHARE = 0.4
"""Of what is left for a file: what the check's output and the newest answer may take."""
_LEAST_FILE = 60
"""Tokens of a file below which there is nothing to see."""


def fit_turn(
    kit: Kit,
    work: str | None,
    tools: Sequence[ToolSpec],
    form: Constrained | None = None,
    *,
    harder: bool = False,
) -> Fitted:
    """The prompt of the next call. `harder`: shorter than what was sent, which the provider refused."""
    model = kit.model
    share = SHARE if form is None else 0.0 if form.needs_all_space else _OF_CONSTRAINED

    def count(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        return model.count(messages if form is None else plain_messages(messages), tools)

    return fit(
        kit.facts.conversation(work),
        count=count,
        window=model.window,
        room=prompt_room(model.window, model.max_output),
        tools=tools,
        needed=required_tools(kit.facts.spec),
        share=share,
        harder=harder,
    )


def too_small(kit: Kit, work: str | None, tools: Sequence[ToolSpec]) -> str:
    """Why even the shortest prompt does not fit."""
    conversation = kit.facts.conversation(work)
    system = next((m.text for m in conversation.messages if m.role == "system"), "")
    task = next((m.text for m in conversation.messages if m.role == "user"), "")
    more = ASK if kit.constrained is not None and work is None else ""
    room = needed_room(system, tools, task, kit.model.count, needed=required_tools(kit.facts.spec), more=more)
    return (
        f"{kit.model.name}, {kit.model.window} tokens: this window is too small for the task; "
        f"the smallest one that works has {smallest_for(kit.model, room)} tokens"
    )


def smallest_for(model: Model, room: int) -> int:
    """The smallest window whose prompt may take so many tokens, as far as this model's answers go."""
    short = model.max_output if model.max_output is not None and model.max_output < model.window else None
    return smallest_window(room, max_output=short)


def file_space(kit: Kit) -> FileSpace:
    """The tokens for the file that a constrained edit shows."""
    model, conversation = kit.model, kit.facts.main
    messages = conversation.messages
    system = next((m.text for m in messages if m.role == "system"), "")
    users = [i for i, m in enumerate(messages) if m.role == "user"]
    answers = [i for i, m in enumerate(messages) if m.role == "assistant"]
    task = model.count([messages[users[0]]], ()) if users else 0
    start = answers[-1] if answers else users[0] + 1 if users else len(messages)
    newest = model.count(plain_messages(messages[start:]), ())
    space = prompt_room(model.window, model.max_output) - task

    def left(share: float) -> int:
        fixed = shorten_fixed(system, (), count=model.count, space=space, share=share)
        room = space - model.count([Message(role="system", text=fixed.system), Message(role="user", text=ASK)], ())
        return max(_LEAST_FILE, int(room - min(newest, room * _CHECK_SHARE)))

    return FileSpace(left(_OF_CONSTRAINED), left(0.0), model.count_text)


def note_shortened(kit: Kit, fixed: Fixed, record: Record) -> None:
    """Tell the person how the fixed part of the prompt is shortened, once, and each time that it changes."""
    seen = (kit.model.window, fixed.kept if kit.constrained is None else 0, fixed.is_brief, fixed.left_out)
    if fixed.is_shortened and seen != kit.noted_shortening:
        record(
            PromptShortened(
                window=kit.model.window,
                file=fixed.name if fixed.kept < fixed.length else "",
                kept=fixed.kept,
                length=fixed.length,
                brief_tools=fixed.is_brief,
                tools_left_out=list(fixed.left_out),
            )
        )
    kit.noted_shortening = seen


def required_tools(spec: RunSpec) -> Collection[str]:
    """Tools that a predicate wants to be used: they are never left out."""
    return {action.partition(":")[0] for action in spec.predicates.require}
