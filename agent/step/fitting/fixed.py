"""The part of a prompt that is the same at each call: system prompt, project instructions and tools."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from ...protocol import Message, ToolSpec
from ...tools.brief import brief
from ..prompt import Instructions, split_instructions, without_spared

Count = Callable[[Sequence[Message], Sequence[ToolSpec]], int]
"""Tokens of a prompt."""

SHARE = 0.2
"""Of the room that the task leaves: what the project's instructions may take."""
_FIXED_SHARE = 0.5
"""Of that room: what all of the fixed part may take. The rest is for the rounds."""
_LEAST_SHARE = 0.1
"""What the instructions keep until only the tools that every task needs are left."""
_LEAST = 40
"""Tokens below which a part of the instructions says nothing."""
_SPARED = frozenset({"update_plan", "start_command", "stop_command", "ask_person"})
_SCARCE = _SPARED | {"fetch_url", "search", "run_command", "list_files"}
"""Without these a task can still be done: files can be read, edited and written."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """The fixed part as it is sent, and what was shortened."""

    system: str
    tools: Sequence[ToolSpec]
    name: str = ""
    """Of the instructions' file; empty: there is none."""
    kept: int = 0
    """Characters of the instructions that are sent."""
    length: int = 0
    """Characters of the instructions."""
    is_brief: bool = False
    """The tools are described in one sentence each."""
    left_out: tuple[str, ...] = ()
    """Tools that are not offered."""

    @property
    def is_shortened(self) -> bool:
        """A person should know about it."""
        return self.kept < self.length or self.is_brief or bool(self.left_out)


@dataclass(frozen=True, slots=True)
class _Rung:
    """One way to shorten the tools and the program's own words, and the share that the instructions must have left."""

    head: str
    tools: Sequence[ToolSpec]
    least: float
    is_brief: bool = False
    left_out: tuple[str, ...] = ()


def shorten_fixed(
    system: str,
    tools: Sequence[ToolSpec],
    *,
    count: Count,
    space: int,
    share: float = SHARE,
    needed: Collection[str] = (),
) -> Fixed:
    """Fit the fixed part into half of `space` tokens, by the first of these steps that suffices.

    The instructions are shortened; the tools are described briefly; the system prompt is reduced; the tools for
    comfort are left out; the instructions are left out; all tools but those for files, for the end and the `needed`
    ones are left out. The last step is taken even where it does not suffice.
    """
    head, told = split_instructions(system)
    for rung in _ladder(head, tools, needed):
        others = count([_system(rung.head)], rung.tools)
        most = min(share * space, _FIXED_SHARE * space - others)
        wanted = 0 if told is None else count([_system(told.render())], ())
        if most >= min(wanted, rung.least * min(1.0, share / SHARE) * space):
            return _filled(rung, told, count, most)
    return _filled(_leanest_rung(head, tools, needed), told, count, 0)


def leanest(system: str, tools: Sequence[ToolSpec], needed: Collection[str] = ()) -> Fixed:
    """The fixed part in its shortest form."""
    head, told = split_instructions(system)
    return _filled(_leanest_rung(head, tools, needed), told, lambda messages, tools: 0, -1)


def _ladder(head: str, tools: Sequence[ToolSpec], needed: Collection[str]) -> Iterator[_Rung]:
    yield _Rung(head, tools, _LEAST_SHARE)
    short = [brief(tool) for tool in tools]
    is_brief = bool(tools)
    yield _Rung(head, short, _LEAST_SHARE, is_brief)
    lean = without_spared(head)
    yield _Rung(lean, short, _LEAST_SHARE, is_brief)
    kept, left_out = _without(short, _SPARED.difference(needed))
    yield _Rung(lean, kept, _LEAST_SHARE, is_brief, left_out)
    yield _Rung(lean, kept, 0.0, is_brief, left_out)


def _leanest_rung(head: str, tools: Sequence[ToolSpec], needed: Collection[str]) -> _Rung:
    kept, left_out = _without([brief(tool) for tool in tools], _SCARCE.difference(needed))
    return _Rung(without_spared(head), kept, 0.0, bool(tools), left_out)


def _without(tools: Sequence[ToolSpec], names: Collection[str]) -> tuple[list[ToolSpec], tuple[str, ...]]:
    return [tool for tool in tools if tool.name not in names], tuple(t.name for t in tools if t.name in names)


def _filled(rung: _Rung, told: Instructions | None, count: Count, most: float) -> Fixed:
    """The fixed part with as much of the instructions as `most` tokens hold."""
    if told is None:
        return Fixed(rung.head, rung.tools, is_brief=rung.is_brief, left_out=rung.left_out)
    kept = _kept(told, count, most)
    system = f"{rung.head}\n\n{told.render(kept)}" if kept else rung.head
    return Fixed(system, rung.tools, told.name, kept, told.length, rung.is_brief, rung.left_out)


def _kept(told: Instructions, count: Count, most: float) -> int:
    """Characters of the instructions that fit into `most` tokens: whole lines, where there are any."""
    length = len(told.text)
    while length:
        tokens = count([_system(told.render(length))], ())
        if tokens <= most:
            break
        if most < _LEAST:
            return 0
        length = min(length - 1, int(length * most / tokens))
    return length


def _system(text: str) -> Message:
    return Message(role="system", text=text)
