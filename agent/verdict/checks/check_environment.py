"""Prepare the environment in which a check runs: no caches that a command could have filled."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...sandbox.command_access import Access
from .tool_files import check_environment

if TYPE_CHECKING:
    from ...sandbox.command_access import LayerAccess
    from ...sandbox.sandbox import Sandbox


class CheckEnvironment(msgspec.Struct, frozen=True):
    """The environment variables, the sandbox and the private folder of a check."""

    env: Mapping[str, str]
    sandbox: Sandbox
    """Where it runs."""
    empty: Path
    """A private empty folder in the temp folder of the commands."""
    layer: LayerAccess | None = None
    """The layer in which the check runs. None means that it runs in the workspace."""
    read_only: Sequence[Path] = ()
    """Files of the workspace that it must not write."""

    @property
    def access(self) -> Access:
        """The permissions of the check."""
        return Access(empty=self.empty, layer=self.layer, read_only=self.read_only)


class prepared_environment:
    """Provide the environment of a check with a private empty folder, which is removed afterwards."""

    def __init__(self, sandbox: Sandbox, env: Mapping[str, str]) -> None:
        self._sandbox, self._env = sandbox, env

    def __enter__(self) -> CheckEnvironment:
        temp = self._sandbox.temp
        self._folder = tempfile.TemporaryDirectory(prefix="check-", dir=temp, ignore_cleanup_errors=True)
        empty = Path(self._folder.name)
        seen = Path("/tmp") / empty.name if self._sandbox.kind == "bubblewrap" else empty
        return CheckEnvironment(check_environment(self._env, seen), self._sandbox, empty)

    def __exit__(self, *how: object) -> None:
        with suppress(OSError):
            self._folder.cleanup()
