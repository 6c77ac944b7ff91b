"""Recognize that a worker failed because the sandbox refused it the network, and say how to allow it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...host.processes.processes import Finished
from .reply import STANDARD_ERROR

if TYPE_CHECKING:
    from ...sandbox.sandbox import Sandbox
    from .worker import ItemResult, WorkItem

_LONGEST = 2_000
"""Characters of an item in which the address of a server of this machine is looked for."""
_HOW = "no network: allow it with `hosts` or `network` under [worker]"


def with_refusal(worked: ItemResult, item: WorkItem, errors: bytes, sandbox: Sandbox, workspace: Path) -> ItemResult:
    """Return the result. A failure that comes from the missing network says how to allow it."""
    if not worked.error:
        return worked
    text = errors + b"\n" + worked.error.encode("utf-8", "replace")
    failed = Finished(exit_code=1, output=text, dropped=0, timed_out=False, seconds=0.0, error=None, full=text)
    need = sandbox.refused(failed, workspace, command=item.value[:_LONGEST])
    if need is None or not need.network:
        return worked
    cause, sep, rest = worked.error.partition(STANDARD_ERROR)
    return msgspec.structs.replace(worked, error=f"{cause} ({_HOW}){sep}{rest}")
