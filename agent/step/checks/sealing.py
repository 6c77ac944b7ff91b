"""Record the content of all guarded files at the start of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...protocol import Refusal
from ...workspace.seals.names import TooManyNames

if TYPE_CHECKING:
    from ...workspace.seals.seals import Seals


async def capture(seals: Seals, paths: Iterable[str]) -> None:
    """Approve the present state of these paths and of all files that are guarded by name.

    Raises Refusal for a folder with too many files: a guard that does not see them all keeps no promise.
    """
    try:
        await asyncio.to_thread(seals.capture, paths)
    except asyncio.CancelledError:
        seals.stop()  # a thread cannot be cancelled, and the process would wait for it
        raise
    except TooManyNames as error:
        why = f"{error}, so the guard of the check cannot watch them all"
        raise Refusal(f"{why}: name a smaller folder with --cwd, or use --guard none") from None
