"""Tell the model and the person which seen files another session changed (decisions/0043, 10)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...gate.draft import read_file_state
from ...host.file_errors import PathRefused, UnreadableFile
from ...protocol import Prompted
from ...protocol.messages import SeenContent
from ...protocol.text.counts import first_names

if TYPE_CHECKING:
    from ..resources.run_context import RunContext

_MOST_NAMED = 20
_ADVICE = "What you read of them before is old: read them again before you rely on it."


async def tell_changed(ctx: RunContext) -> None:
    """Record a message if another session left a content that the model has not seen in a file that it has seen."""
    if ctx.gate.others is None or ctx.tools.contents is None:
        return
    found = await asyncio.to_thread(_changed, ctx)
    if found:
        lines = [_line(run_id, seen) for run_id, seen in found.items()]
        seen = [one for each in found.values() for one in each]
        ctx.events.record(Prompted(kind="changed", text="\n".join([*lines, _ADVICE]), seen=seen))


def _changed(ctx: RunContext) -> dict[str, list[SeenContent]]:
    """Return the new contents by the run that wrote them."""
    found = dict[str, list[SeenContent]]()
    others, contents = ctx.gate.others, ctx.tools.contents
    known = {} if contents is None else contents.digests()
    written = {} if others is None or not known else others.written()
    for path, one in sorted(written.items()):
        digest = one.digest or ""
        if path in known and digest not in known[path] and _digest(ctx, path) == digest:
            found.setdefault(one.run_id, []).append(SeenContent(path=path, digest=digest))
    return found


def _digest(ctx: RunContext, path: str) -> str | None:
    """Return the digest of a file as it is now, empty if it is gone, or None if it cannot be read."""
    try:
        return read_file_state(ctx.workspace, path).sha256 or ""
    except (PathRefused, UnreadableFile):
        return None


def _line(run_id: str, seen: list[SeenContent]) -> str:
    changed, deleted = [one.path for one in seen if one.digest], [one.path for one in seen if not one.digest]
    both = [("changed", changed), ("deleted", deleted)]
    parts = [f"{did} {first_names(paths, _MOST_NAMED)}" for did, paths in both if paths]
    return f"Another session ({run_id}) {' and '.join(parts)}."
