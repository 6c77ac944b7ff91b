"""Success that is no command: a file, a function of the user's, actions that happened (REQUIREMENTS 2.3.3)."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

import msgspec

from ..protocol import Predicates, UserError
from ..workspace import Finished, Sandbox, Workspace
from .module_names import require_function
from .schema import load_schema
from .verdict import Verdict

_CHILD = Path(__file__).with_name("predicate_child.py")


class Acted(Protocol):
    """A tool call with what came of it, as the journal's facts hold it."""

    @property
    def tool(self) -> str:
        """Its name."""
        ...

    @property
    def arguments(self) -> object:
        """As the model gave them."""
        ...

    @property
    def ok(self) -> bool | None:
        """None: it has not ended."""
        ...


def judge_file(path: str, workspace: Workspace) -> Verdict:
    """`--until-file`: a file (relative to the workspace) exists and is not empty."""
    target = workspace.root / path
    name = f"until-file {path}"
    try:
        if not target.exists():
            return Verdict(name, False, f"{path} does not exist")
        if not target.is_file():
            return Verdict(name, False, f"{path} is no file")
        size = target.stat().st_size
    except OSError as error:
        return Verdict(name, False, f"{path}: {error.strerror or error}")
    return Verdict(name, size > 0, f"{path} has {size:,} bytes" if size else f"{path} is empty")


def judge_required(action: str, actions: Sequence[Acted]) -> Verdict:
    """`--require tool` or `tool:text`: such a call was made and succeeded, with the text in one of its arguments."""
    tool, _, text = action.partition(":")
    count = sum(1 for a in actions if a.tool == tool and a.ok is True and (not text or _mentions(a.arguments, text)))
    what = f"`{tool}` with `{text}`" if text else f"`{tool}`"
    times = "once" if count == 1 else f"{count} times"
    detail = f"{what} succeeded {times}" if count else f"no call of {what} has succeeded in this run"
    return Verdict(f"require {action}", count > 0, detail)


def _mentions(arguments: object, text: str) -> bool:
    match arguments:
        case str():
            return text in arguments
        case dict():
            return any(_mentions(value, text) for value in cast("dict[str, object]", arguments).values())
        case list():
            return any(_mentions(value, text) for value in cast("list[object]", arguments))
        case bool() | None:
            return False
        case _:
            return text == str(arguments)


async def judge_python(
    script: str,
    workspace: Workspace,
    state: Mapping[str, object],
    *,
    env: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109 - a whole tree of processes has to end
    sandbox: Sandbox | None = None,
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
    finished = await (sandbox or Sandbox()).run(
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


def require_usable(predicates: Predicates, root: Path) -> None:
    """Raises UserError where a predicate could never hold: a missing file or function, a wrong schema, a wrong name."""
    for script in predicates.until_py:
        file, _, function = script.rpartition(":")
        if not file or not function.isidentifier():
            raise UserError(f"--until-py {script}: write FILE:function")
        if not (root / file).is_file():
            raise UserError(f"--until-py {script}: there is no file {file} in {root}")
        require_function(script, root / file, function)
    if predicates.schema is not None:
        load_schema(root / predicates.schema)
    for action in predicates.require:
        if not action.partition(":")[0].isidentifier():
            raise UserError(f"--require {action}: write a tool's name, or tool:text")
    for command in predicates.until:
        if not command.strip():
            raise UserError("--until: the command is empty")
    for path in predicates.until_file:
        if not path.strip():
            raise UserError("--until-file: the path is empty")
