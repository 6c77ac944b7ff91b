"""Run a check so that its result can be trusted: on approved content, with no other writer, without old caches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ...protocol import Prompted, Record
from ...stops.check_environment import prepared_environment
from ..resources.moment import changes_since, moment_of
from ..resources.unit_view import refresh_unit
from .judged_check import background_suspended
from .layered_check import place_of_check

if TYPE_CHECKING:
    from ...stops.check_environment import CheckEnvironment
    from ..resources.context import RunContext
    from ..resources.moment import Moment
    from .guarded import Guarded

T = TypeVar("T")
TRIES = 3
_NAMED = 3


async def run_guarded_check(
    ctx: RunContext,
    name: str,
    run: Callable[[CheckEnvironment], Awaitable[T]],
    passed: Callable[[T], bool],
    record: Record,
    *,
    full: bool = True,
    whole: bool = True,
) -> tuple[T, str | None]:
    """Run a check on approved content. Returns its result, and why the result does not count (None: it counts).

    A result that does not count is repeated up to `TRIES` times, unless the check failed. `full`: compare guarded
    files by content. `whole`: the whole workspace must stay unchanged. Raises PersonInterrupted, and
    LayerRefused if no layer could be opened; then nothing ran.
    """
    await refresh_unit(ctx, record)
    guarded = ctx.guarded
    tried, kept = 0, list[Path]()
    while True:
        tried += 1
        _say(record, notes := await guarded.keep_or_restore(record, name, full=full))
        async with place_of_check(ctx, name, record) as place:
            async with background_suspended(ctx, record):
                # Restored files have new times, and background commands may have written until now.
                again = bool(notes or ctx.background.names())
                before = await guarded.open_differences(full=full) if again else []
                stamps, began = guarded.stamps(), await _moment(ctx) if whole else None
                ctx.guarded.drop_bytecode()
                with prepared_environment(ctx.sandbox, ctx.env) as environment:
                    result = await run(msgspec.structs.replace(environment, layer=place.access, read_only=kept))
                written = await place.ended()
                if not passed(result):
                    return result, None
                found = await guarded.tolerate_outputs(await guarded.open_differences(full=full))
                touched = guarded.touched_since(stamps)
                moved = await _moved(ctx.guarded, name, began)
            if written:
                _say(record, await place.ask_about_guarded())
                # Those that are as before in the end may only have been opened for writing.
                kept += [ctx.workspace.root / path for path in written if not place.differs(path)]
        deciding = [*(one.path for one in (*before, *found)), *written] or touched
        names = list(dict.fromkeys(deciding)) or moved
        why = _why(names, is_guarded=bool(deciding)) if names else place.why_unknown or guarded.why_not()
        if why is None:
            return result, None
        if tried == TRIES or not names:
            _say(record, await guarded.keep_or_restore(record, name, full=full))
            return result, why


async def _moment(ctx: RunContext) -> Moment | None:
    """Return the files as they are now; None: the check writes into a layer, so what it changed is known."""
    return None if ctx.layers is not None else await moment_of(ctx.workspace, ctx.unit, ctx.facts.changes.files)


async def _moved(guarded: Guarded, name: str, began: Moment | None) -> list[str]:
    """Return the files that changed during the check, except those that it changes each time; empty if unknown."""
    paths = {change.path for change in await changes_since(began) or () if change.kind != "added"}
    own = guarded.outputs.setdefault(name, set())
    others = sorted(paths - own)
    own |= paths
    return others


def _why(names: list[str], *, is_guarded: bool) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    if is_guarded:
        return f"{shown}{more} changed while it ran, and decides whether the goal is met"
    return f"{shown}{more} changed while it ran, each of {TRIES} times"


def _say(record: Record, notes: list[str]) -> None:
    if notes:
        record(Prompted(kind="guard", text="\n".join(notes)))
