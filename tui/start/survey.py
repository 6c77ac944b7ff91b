"""Describe which models and servers were found on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..text.show_text import one_line

if TYPE_CHECKING:
    from rundry.agent import Survey

NO_MODEL = (
    "no model is set up: name one with --model, for example --model ollama_chat/qwen3:8b, "
    "or try `rundry demo`; `rundry models` lists the available models"
)


def survey_lines(survey: Survey) -> list[str]:
    """Return a line for each thing that was looked for."""
    lines = [f"key        {key.variable} is set ({key.provider})" for key in survey.keys]
    for server in survey.servers:
        names = ", ".join(one_line(model.name) for model in server.models[:6]) or "no model"
        lines.append(f"server     {one_line(server.kind)} at {one_line(server.api_base)}: {names}")
    if not survey.keys:
        lines.append(f"no key     {_few(survey.variables_asked)}")
    if not survey.servers:
        lines.append(f"no server  {_few(survey.addresses_asked)}")
    return lines


def _few(names: Sequence[str], limit: int = 5) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
