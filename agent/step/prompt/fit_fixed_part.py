"""Shorten the fixed part of each prompt: system prompt, project instructions and tools."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from ...protocol import Message, ToolSpec
from ...protocol.tools.traits import TOOL_TRAITS, LeftOut
from ...tools.brief import brief
from .system_prompt import Instructions, split_instructions, without_optional_sentences

Count = Callable[[Sequence[Message], Sequence[ToolSpec]], int]
"""Counts the tokens of a prompt."""

_SHARE, _SHARE_OF_LARGE = 0.2, 1 / 3
"""Shares of the space left by the task that the project's instructions may take."""
_LARGE = 8_000
"""Space in tokens above which the instructions may use the larger share."""
_FIXED_SHARE = 0.55
"""Share of that space for the whole fixed part. The rest is for the rounds."""
_LEAST_SHARE = 0.1
"""Share that the instructions keep until optional tools are left out."""
_LEAST = 60
"""Tokens of the instructions below which they are left out."""


def _left_out(*when: LeftOut) -> frozenset[str]:
    return frozenset(name for name, tool in TOOL_TRAITS.items() if tool.left_out in when)


_LEFT_OUT_FIRST = _left_out("first")
_LEFT_OUT_SECOND = _left_out("first", "second")
_LEFT_OUT_THIRD = _left_out("first", "second", "third")
"""Optional tools in the order in which they are left out. Reading, editing and writing files is enough for a task."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """The fixed part as sent, and what was shortened."""

    system: str
    tools: Sequence[ToolSpec]
    name: str = ""
    """Name of the instructions' file, or empty if there is none."""
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
class FixedLimits:
    """What the fixed part has to keep, and how long it may be."""

    needed: Collection[str] = ()
    """Tools that are never left out."""
    share: float | None = None
    """Share of the space for the project's instructions. None means the usual share."""
    limit: int | None = None
    """Tokens that it should have besides the instructions, because the server reads slowly. None means as many as fit.
    Only the search tools may be left out for that."""


NO_LIMITS = FixedLimits()


@dataclass(frozen=True, slots=True)
class _Shortening:
    """One way to shorten the tools and the program's own text, with the share that the instructions keep."""

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
    limits: FixedLimits = NO_LIMITS,
) -> Fixed:
    """Fit the fixed part into half of `space` tokens, with the first of these steps that suffices.

    Shorten the instructions to their share of the space; describe the tools briefly; reduce the system prompt; leave
    out optional tools; leave out the instructions; leave out the search tools; leave out all tools except those for
    files, those that end the work, and the needed ones. The last step is applied even if it does not suffice.
    """
    usual = _SHARE if space < _LARGE else _SHARE_OF_LARGE
    share, needed = usual if limits.share is None else min(limits.share, usual), limits.needed
    head, given = split_instructions(system)
    fitting: Fixed | None = None
    for shortening in _shortenings(head, tools, needed):
        others = count([_system(shortening.head)], shortening.tools)
        left = min(share * space, _FIXED_SHARE * space - others)
        wanted = 0 if given is None else count([_system(given.render())], ())
        if left >= min(wanted, shortening.least * min(1.0, share / usual) * space):
            fitting = _filled(shortening, given, count, left)
            if limits.limit is None or others <= limits.limit:
                return fitting
    return fitting or _filled(_shortest(head, tools, needed), given, count, 0)


def shortest_fixed(system: str, tools: Sequence[ToolSpec], needed: Collection[str] = ()) -> Fixed:
    """Return the fixed part in its shortest form."""
    head, given = split_instructions(system)
    return _filled(_shortest(head, tools, needed), given, lambda messages, tools: 0, -1)


def _shortenings(head: str, tools: Sequence[ToolSpec], needed: Collection[str]) -> Iterator[_Shortening]:
    yield _Shortening(head, tools, _LEAST_SHARE)
    short = [brief(tool) for tool in tools]
    is_brief = bool(tools)
    yield _Shortening(head, short, _LEAST_SHARE, is_brief)
    lean = without_optional_sentences(head)
    yield _Shortening(lean, short, _LEAST_SHARE, is_brief)
    kept, left_out = _without(short, _LEFT_OUT_FIRST.difference(needed))
    yield _Shortening(lean, kept, _LEAST_SHARE, is_brief, left_out)
    yield _Shortening(lean, kept, 0.0, is_brief, left_out)
    kept, left_out = _without(short, _LEFT_OUT_SECOND.difference(needed))
    yield _Shortening(lean, kept, 0.0, is_brief, left_out)


def _shortest(head: str, tools: Sequence[ToolSpec], needed: Collection[str]) -> _Shortening:
    kept, left_out = _without([brief(tool) for tool in tools], _LEFT_OUT_THIRD.difference(needed))
    return _Shortening(without_optional_sentences(head), kept, 0.0, bool(tools), left_out)


def _without(tools: Sequence[ToolSpec], names: Collection[str]) -> tuple[list[ToolSpec], tuple[str, ...]]:
    return [tool for tool in tools if tool.name not in names], tuple(t.name for t in tools if t.name in names)


def _filled(shortening: _Shortening, given: Instructions | None, count: Count, limit: float) -> Fixed:
    """Return the fixed part with as much of the instructions as `limit` tokens hold."""
    if given is None:
        return Fixed(shortening.head, shortening.tools, is_brief=shortening.is_brief, left_out=shortening.left_out)
    sent = _cut(given, count, limit)
    system = f"{shortening.head}\n\n{sent.render()}" if sent.text else shortening.head
    return Fixed(
        system, shortening.tools, given.name, len(sent.text), given.length, shortening.is_brief, shortening.left_out
    )


def _cut(given: Instructions, count: Count, limit: float) -> Instructions:
    """Cut the instructions to `limit` tokens; without text if too little would remain."""
    length = len(given.text)
    while (tokens := count([_system((sent := given.cut(length)).render())], ())) > limit:
        if limit < _LEAST or length <= 1:
            return given.cut(0)
        length = min(length - 1, int(length * limit / tokens))
    return sent


def _system(text: str) -> Message:
    return Message(role="system", text=text)
