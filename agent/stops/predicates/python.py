"""`--until-py FILE:function`: a predicate of the user's own (REQUIREMENTS 2.3.3)."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ...workspace import Finished, Sandbox, Workspace
from ..verdict import Verdict

_CHILD = Path(__file__).with_name("python_child.py")


async def judge_python(
    script: str,
    workspace: Workspace,
    state: Mapping[str, object],
    *,
    env: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109 - a whole tree of processes has to end
    sandbox: Sandbox,
) -> Verdict:
    """`--until-py FILE:function`, in a child process without keys; the state is JSON on its standard input.

    The function returns True, False or (bool, text). FILE is relative to the workspace; what lies beside it can be
    imported.
    """
    name = f"until-py {script}"
    file, _, function = script.rpartition(":")
    mark = f"rundry-verdict-{secrets.token_hex(8)} "
    # As text: a sandbox may hide the folder in which rundry itself stands.
    argv = [sys.executable, "-I", "-B", "-c", _CHILD.read_text(), str(workspace.root / file), function, mark]
    finished = await sandbox.run(
        argv,
        workspace.root,
        cwd=workspace.root,
        env=env,
        timeout=timeout,
        stdin=json.dumps(state, default=str).encode(),
    )
    if finished.timed_out:
        return Verdict(name, False, f"it timed out after {timeout:.3g} s")
    if finished.error is not None:
        return Verdict(name, False, f"it could not be started: {finished.error}")
    return _read_verdict(name, finished, mark)


def _read_verdict(name: str, finished: Finished, mark: str) -> Verdict:
    text = finished.full.decode("utf-8", "replace")
    _, found, told = text.rpartition(mark)
    if not found:
        last = text.strip().rpartition("\n")[2][:300]
        return Verdict(name, False, f"it ended without a verdict (exit code {finished.exit_code}): {last}")
    passed, detail = msgspec.json.decode(told.strip().partition("\n")[0], type=tuple[bool, str])
    return Verdict(name, passed, detail)
