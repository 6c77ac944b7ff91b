"""Choose the edit format for a model, from what is remembered of it and what its server says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...protocol import (
    AUTO_FORMAT,
    BY_TOOLS,
    FILE_FORMATS,
    EditFormat,
    FileFormat,
    LoopKind,
    edit_format_problem,
)

if TYPE_CHECKING:
    from ...protocol import Model, RunSpec
    from ...state.facts.run_facts import RunFacts

FIRST: FileFormat = "functions"
"""The file format that repaired most (docs/decisions/0038)."""
_REMEMBERED: dict[str, EditFormat] = {BY_TOOLS: BY_TOOLS, **{form: form for form in FILE_FORMATS}}
"""Formats by the name under which they are remembered."""
_CODE_ANSWERS = 2
_CALL_IN_JSON = re.compile(r'\{\s*"name"\s*:\s*"[^"\n]+"\s*,\s*"arguments"\s*:')
CHOSEN = "you chose it"
SMALL = 9_000_000_000
"""Weights below which a model writes code more reliably than it calls tools (docs/decisions/0038)."""


def writes_code_only(facts: RunFacts) -> bool:
    """Return whether the model answered twice with code and never made a call that worked, so a file format fits it."""
    return len(code_answers(facts)) >= _CODE_ANSWERS


def code_answers(facts: RunFacts) -> list[str]:
    """Return the answers with code and without a call; none if the person chose the format or a call worked."""
    return [text for text in answers_without_calls(facts) if "```" in text]


def answers_without_calls(facts: RunFacts) -> list[str]:
    """Return the answers in words; none if the person chose the format or a call worked."""
    if not facts.answers.is_automatic or any(action.ok for action in facts.actions):
        return []
    said = [message for message in facts.main.messages if message.role == "assistant"]
    return [message.text for message in said if not message.calls]


def explains_a_call(answer: str) -> bool:
    """Return whether an answer writes a call in JSON as an example instead of making it."""
    return _CALL_IN_JSON.search(answer) is not None


def choose_format(spec: RunSpec, model: Model) -> tuple[EditFormat, str]:
    """Return the format of a run with this model, and the reason in words for the person."""
    if spec.edit_format != AUTO_FORMAT:
        problem = edit_format_problem(spec, AUTO_FORMAT) if spec.edit_format == BY_TOOLS else None
        return spec.edit_format, CHOSEN if problem is None else problem
    if spec.loop is LoopKind.CHAT:
        return BY_TOOLS, "a chat uses tools until you choose another format"
    return format_of_model(model)


def format_of_model(model: Model) -> tuple[EditFormat, str]:
    """Return the format in which a model is likely to make edits that can be applied, and the reason in words."""
    served = model.served
    if served is not None and (remembered := _REMEMBERED.get(served.edit_format or "")) is not None:
        return remembered, f"it is remembered for {model.name} on this server"
    if served is None or not served.self_hosted:
        return BY_TOOLS, "the model is not self-hosted"
    if served.template_knows_tools is False:
        return FIRST, f"the chat template of {model.name} knows no tools"
    if served.parameters is not None and served.parameters < SMALL:
        return FIRST, f"{model.name} has {served.parameters / 1e9:.1f} billion parameters"
    return BY_TOOLS, "the model is large, or its server does not say its size"
