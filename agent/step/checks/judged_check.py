"""Run a check of a run whose result is judged later: nothing is compared, and nobody is asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ...protocol import Prompted
from ...verdict.checks.check_environment import prepared_environment
from ..resources.unit_view import refresh_unit
from ..tool_calls.direct_changes import look_now, record_check_changes
from ..tool_calls.protected_changes import decide_protected
from .layered_check import place_of_check

if TYPE_CHECKING:
    from ...state.recorder import Events
    from ...verdict.checks.check_environment import CheckEnvironment
    from ..resources.run_context import RunContext
    from .layered_check import CheckPlace

T = TypeVar("T")
_NAMED = 3


async def run_judged_check(
    ctx: RunContext, name: str, run: Callable[[CheckEnvironment], Awaitable[T]], events: Events
) -> tuple[T, CheckPlace]:
    """Run a check in a layer of its own, in its unit or in the workspace. Returns its result, and where it ran.

    It has an empty temp folder.
    Raises PersonInterrupted, and LayerRefused if no layer could be opened; then nothing ran.
    """
    await refresh_unit(ctx, events)
    async with place_of_check(ctx, name, events) as place, background_suspended(ctx, events):
        sandbox = ctx.sandbox.for_checks()
        async with written_in_place(ctx, place, name, events):
            with prepared_environment(sandbox, ctx.env) as environment:
                result = await run(msgspec.structs.replace(environment, layer=place.access))
        await place.ended()
        return result, place


@asynccontextmanager
async def written_in_place(
    ctx: RunContext, place: CheckPlace | None, name: str, events: Events
) -> AsyncGenerator[None]:
    """Record what a check changes in the workspace itself during the block.

    `place` is None if several checks run there.
    """
    if place is not None and place.is_apart:
        yield
        return
    before = await look_now(ctx)
    try:
        yield
    finally:
        changed = await record_check_changes(ctx, before, name, events)
        if place is not None:
            place.wrote = dict(changed.overwritten)
        await decide_protected(ctx, events, name, changed)


def temp_note(ctx: RunContext) -> str:
    """Return a line about files of commands that a check does not see, or empty if there are none."""
    names = ctx.sandbox.left_in_temp()
    if not names:
        return ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"\n[rundry: /tmp is empty for a check; commands left there: {', '.join(names[:_NAMED])}{more}]\n"


@asynccontextmanager
async def background_suspended(ctx: RunContext, events: Events) -> AsyncGenerator[None]:
    """Suspend the background commands that cannot be kept from writing to the workspace in another way."""
    stopped = await ctx.background.suspend()
    try:
        for name in stopped:
            line = f"`{name}` is suspended while a check runs: it could write to the workspace"
            if line not in ctx.not_held:
                ctx.not_held.append(line)
                events.record(Prompted(kind="background", text=f"{line}."))
        yield
    finally:
        await ctx.background.resume()
