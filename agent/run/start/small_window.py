"""Refuse a model whose context window is too small for the run, and name the smallest window that works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ...models.counting import Counter
from ...protocol import FILE_FORMATS, FinderSpec, LoopKind, Message, Model, RunSpec, ToolSpec, UserError
from ...protocol.tools.traits import reading_tools
from ...search.fix_items import fixer_tools
from ...search.lenses import prompts
from ...state.search.finding_facts import LensFacts
from ...step.formats.choose_format import choose_format
from ...step.formats.format_words import LONGEST_INSTRUCTION
from ...step.prompt.next_prompt import required_tools, smallest_for
from ...step.prompt.smallest_window import needed_room, smallest_window
from ...step.prompt.system_prompt import system_prompt
from ...tools.tool_table import tool_specs
from .offered_tools import tools_of_run

if TYPE_CHECKING:
    from ...step.prompt.fit_fixed_part import Count

_PASS = 48
"""Tokens of the message with which a search starts a pass."""
_BYTES = 2
"""Upper bound of the tokens per byte for any tokenizer. Tokens are counted only if this bound does not fit."""


def check_context(spec: RunSpec) -> None:
    """Raise UserError if `--context` is too small. Does not open the model."""
    window = spec.model.context
    if window is None or smallest_window(_needed(spec, _bound)) <= window:
        return
    smallest = smallest_window(_needed(spec, Counter(spec.model.name).prompt))
    if window < smallest:
        raise UserError(f"--context {window}: {_too_small(smallest)}")


def refuse_window(spec: RunSpec, model: Model) -> str | None:
    """Return why the model's window is too small for the run, or None."""
    spec = msgspec.structs.replace(spec, edit_format=choose_format(spec, model)[0])
    if smallest_for(model, _needed(spec, _bound)) <= model.window:
        return None  # found without loading the encoding
    smallest = smallest_for(model, _needed(spec, model.count))
    return f"{model.name}, {model.window} tokens: {_too_small(smallest)}" if model.window < smallest else None


def _too_small(smallest: int) -> str:
    return f"this context window is too small for the task: use one of at least {smallest} tokens"


def _needed(spec: RunSpec, count: Count) -> int:
    if spec.finder is not None:
        return _needed_by_search(spec, spec.finder, count)
    is_by_files = spec.edit_format in FILE_FORMATS
    return needed_room(
        system_prompt(spec),
        () if is_by_files else tool_specs(tools_of_run(spec)),
        "" if spec.loop is LoopKind.CHAT else spec.task,
        count,
        needed=required_tools(spec),
        more=LONGEST_INSTRUCTION if is_by_files else "",
    )


def _needed_by_search(spec: RunSpec, finder: FinderSpec, count: Count) -> int:
    """Return the tokens that its longest prompt needs, or 0 if no model is used."""
    if finder.check is not None:
        systems = [prompts.fixer_system(spec.task, spec.workspace, finder.check)]
        tools = fixer_tools(finder.hosts)
    else:
        lenses = [LensFacts(lens.name, lens.prompt) for lens in finder.lenses]
        systems = [prompts.lens_system(spec.task, spec.workspace, lens, finder.paths) for lens in lenses]
        tools = [*reading_tools(finder.hosts), "report"]
    needed = required_tools(spec)
    each = [needed_room(system, tool_specs(tools), "", count, needed=needed) + _PASS for system in systems]
    return max(each, default=0)


def _bound(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
    """Return an upper bound of the tokens for any tokenizer."""
    return _BYTES * (len(msgspec.json.encode(messages)) + len(msgspec.json.encode(tools)))
