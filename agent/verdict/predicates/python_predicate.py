"""Check `--until-py FILE:function`: the user's own predicate (docs/requirements.md 2.3.3, docs/decisions/0014)."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...sandbox.command_access import NO_ACCESS, Access
from ..checks.predicate_verdict import PredicateVerdict

if TYPE_CHECKING:
    from ...host.processes.processes import Finished
    from ...host.workspace_paths import Workspace
    from ...sandbox.sandbox import Sandbox

_ISOLATED = Path(__file__).with_name("isolated")
_MODULES = ("predicate_wire", "remote_objects", "code_process", "approved_imports", "audit_hook", "predicate_process")
"""Modules of `isolated`, each after those that it imports."""


async def judge_python(
    script: str,
    workspace: Workspace,
    state: Mapping[str, object],
    *,
    env: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109 - a whole tree of processes has to end
    sandbox: Sandbox,
    approved: Mapping[str, str] | None = None,
    access: Access = NO_ACCESS,
) -> PredicateVerdict:
    """Call the predicate in a sandboxed process without keys. Modules that are not approved run in a second process.

    The function returns True, False or (bool, text). FILE is relative to the workspace, and can import modules from
    its own folder. `approved`: SHA-256 of the guarded files by path relative to the workspace. `timeout`: seconds.
    `access`: its permissions.
    """
    name = f"until-py {script}"
    mark = f"rundry-verdict-{secrets.token_hex(16)} "
    try:
        question = _question(script, workspace.seen) | {"mark": mark, "approved": dict(approved or {}), "state": state}
    except (OSError, UnicodeDecodeError) as error:
        return PredicateVerdict(name, False, f"{script.rpartition(':')[0]} cannot be read: {error}")
    finished = await sandbox.run(
        [sys.executable, "-I", "-B", "-c", (_ISOLATED / "boot.py").read_text(encoding="utf-8")],
        workspace.root,
        access,
        cwd=workspace.root,
        env=env,
        timeout=timeout,
        stdin=_block(_sources()) + _block(json.dumps(question, default=str).encode()),
    )
    if finished.timed_out:
        return PredicateVerdict(name, False, f"it timed out after {timeout:.3g} s")
    if finished.error is not None:
        return PredicateVerdict(name, False, f"it could not be started: {finished.error}")
    return _read_verdict(name, finished, mark, sandbox)


def _question(script: str, root: Path) -> dict[str, object]:
    """Return what to call. A file outside the workspace is read here: the sandboxed process may not read it."""
    file, _, function = script.rpartition(":")
    path = root / file
    source = None if path.is_relative_to(root) else path.read_text(encoding="utf-8")
    return {"file": str(path), "function": function, "source": source, "root": str(root)}


def _block(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


@cache
def _sources() -> bytes:
    return json.dumps({name: (_ISOLATED / f"{name}.py").read_text(encoding="utf-8") for name in _MODULES}).encode()


def _read_verdict(name: str, finished: Finished, mark: str, sandbox: Sandbox) -> PredicateVerdict:
    """Read the verdict after the mark, which only the predicate's process knows."""
    text = finished.full.decode("utf-8", "replace")
    _, found, after = text.rpartition(mark)
    try:
        if not found:
            raise ValueError("no mark")
        passed, detail, is_closed = msgspec.json.decode(after.partition("\n")[0], type=tuple[bool, str, bool])
    except (ValueError, msgspec.DecodeError):
        last = text.strip().rpartition("\n")[2][:300]
        return PredicateVerdict(name, False, f"it ended without a verdict (exit code {finished.exit_code}): {last}")
    missing: list[str] = []
    if sandbox.kind is None:
        missing.append(f"{name}: no sandbox keeps the code under test from other processes and files of yours")
    elif not is_closed:
        missing.append(f"{name}: the code under test could have read the memory of the predicate's process")
    return PredicateVerdict(name, passed, detail, missing)
