"""List the files of the workspace that are not ignored, for completion after `@`. Does not import textual."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from itertools import islice
from pathlib import Path

from rundry.agent import Ignore

MOST = 20_000


def list_files(root: Path, most: int = MOST) -> list[str]:
    """Return the paths relative to `root`, at most `most`."""
    return [path for path, _ in islice(Ignore(root).walk(), most)]


class FileList:
    """The files of the workspace, listed in a thread at the first request."""

    def __init__(
        self,
        root: Callable[[], Path],
        start_worker: Callable[[Coroutine[object, object, None]], object],
        on_found: Callable[[], object],
    ) -> None:
        """`on_found` is called when the list is complete."""
        self._root, self._start_worker, self._on_found = root, start_worker, on_found
        self._found: Sequence[str] | None = None

    def paths(self) -> Sequence[str]:
        """Return the paths known now; the first call starts the search and returns none."""
        if self._found is None:
            self._found = ()
            self._start_worker(self._find())
        return self._found

    async def _find(self) -> None:
        self._found = await asyncio.to_thread(list_files, self._root())
        self._on_found()
