"""The fixed part of each prompt: system prompt, project instructions and tools."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from ...protocol import Message, ToolSpec
from ...protocol.tools.traits import TOOL_TRAITS, LeftOut
from ...tools.brief import brief
from ..prompt import Instructions, split_instructions, without_spared

Count = Callable[[Sequence[Message], Sequence[ToolSpec]], int]
"""Counts the tokens of a prompt."""

_SHARE, _SHARE_OF_LARGE = 0.2, 1 / 3
"""Shares of the space left by the task that the project's instructions may take."""
_LARGE = 8_000
"""Tokens of space from which on the instructions may take the larger share."""
_FIXED_SHARE = 0.55
"""Share of that space for the whole fixed part. The rest is for the rounds."""
_LEAST_SHARE = 0.1
"""Share that the instructions keep until optional tools are left out."""
_LEAST = 60
"""Tokens below which part of the instructions is useless."""


def _left_out(*when: LeftOut) -> frozenset[str]:
    return frozenset(name for name, tool in TOOL_TRAITS.items() if tool.left_out in when)


_COMFORT = _left_out("first")
_SEARCH = _left_out("first", "second")
_ALL_BUT_FILES = _left_out("first", "second", "third")
"""Optional tools: a task can be done with reading, editing and writing files alone."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """The fixed part as sent, and what was shortened."""

    system: str
    tools: Sequence[ToolSpec]
    name: str = ""
    """Name of the instructions' file; empty: there is none."""
    kept: int = 0
    """Characters of the instructions that are sent."""
    length: int = 0
    """Characters of the whole instructions."""
    is_brief: bool = False
    """Whether the tools are described in one sentence each."""
    left_out: tuple[str, ...] = ()
    """Tools that are not offered."""

    @property
    def is_shortened(self) -> bool:
        """Whether the user should know about it."""
        return self.kept < self.length or self.is_brief or bool(self.left_out)


@dataclass(frozen=True, slots=True)
class _Rung:
    """One way to shorten the tools and the program's own text, and the share that the instructions keep."""

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
    share: float | None = None,
    needed: Collection[str] = (),
) -> Fixed:
    """Fit the fixed part into half of `space` tokens, with the first of these steps that suffices.

    Shorten the instructions to `share` of the space; describe the tools briefly; reduce the system prompt; leave out
    optional tools; leave out the instructions; leave out the search tools; leave out all tools but those for files, for
    the end, and the `needed` ones. The last step is taken even if it does not suffice.
    """
    usual = _SHARE if space < _LARGE else _SHARE_OF_LARGE
    share = usual if share is None else min(share, usual)
    head, told = split_instructions(system)
    for rung in _ladder(head, tools, needed):
        others = count([_system(rung.head)], rung.tools)
        most = min(share * space, _FIXED_SHARE * space - others)
        wanted = 0 if told is None else count([_system(told.render())], ())
        if most >= min(wanted, rung.least * min(1.0, share / usual) * space):
            return _filled(rung, told, count, most)
    return _filled(_leanest_rung(head, tools, needed), told, count, 0)


def leanest(system: str, tools: Sequence[ToolSpec], needed: Collection[str] = ()) -> Fixed:
    """Return the fixed part in its shortest form."""
    head, told = split_instructions(system)
    return _filled(_leanest_rung(head, tools, needed), told, lambda messages, tools: 0, -1)


def _ladder(head: str, tools: Sequence[ToolSpec], needed: Collection[str]) -> Iterator[_Rung]:
    yield _Rung(head, tools, _LEAST_SHARE)
    short = [brief(tool) for tool in tools]
    is_brief = bool(tools)
    yield _Rung(head, short, _LEAST_SHARE, is_brief)
    lean = without_spared(head)
    yield _Rung(lean, short, _LEAST_SHARE, is_brief)
    kept, left_out = _without(short, _COMFORT.difference(needed))
    yield _Rung(lean, kept, _LEAST_SHARE, is_brief, left_out)
    yield _Rung(lean, kept, 0.0, is_brief, left_out)
    kept, left_out = _without(short, _SEARCH.difference(needed))
    yield _Rung(lean, kept, 0.0, is_brief, left_out)


def _leanest_rung(head: str, tools: Sequence[ToolSpec], needed: Collection[str]) -> _Rung:
    kept, left_out = _without([brief(tool) for tool in tools], _ALL_BUT_FILES.difference(needed))
    return _Rung(without_spared(head), kept, 0.0, bool(tools), left_out)


def _without(tools: Sequence[ToolSpec], names: Collection[str]) -> tuple[list[ToolSpec], tuple[str, ...]]:
    return [tool for tool in tools if tool.name not in names], tuple(t.name for t in tools if t.name in names)


def _filled(rung: _Rung, told: Instructions | None, count: Count, most: float) -> Fixed:
    """Return the fixed part with as much of the instructions as `most` tokens hold."""
    if told is None:
        return Fixed(rung.head, rung.tools, is_brief=rung.is_brief, left_out=rung.left_out)
    sent = _cut(told, count, most)
    system = f"{rung.head}\n\n{sent.render()}" if sent.text else rung.head
    return Fixed(system, rung.tools, told.name, len(sent.text), told.length, rung.is_brief, rung.left_out)


def _cut(told: Instructions, count: Count, most: float) -> Instructions:
    """Cut the instructions to `most` tokens; without text if too little would remain."""
    length = len(told.text)
    while (tokens := count([_system((sent := told.cut(length)).render())], ())) > most:
        if most < _LEAST or length <= 1:
            return told.cut(0)
        length = min(length - 1, int(length * most / tokens))
    return sent


def _system(text: str) -> Message:
    return Message(role="system", text=text)
