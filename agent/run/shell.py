"""A command of the person's own, `!cmd`: it needs no gate, and the model is told what it printed."""

from __future__ import annotations

from ..protocol import Prompted, Shell
from ..stops import head_and_tail
from ..workspace import run_process
from .conduct import Conduct

SECONDS = 600.0
"""In which a command of the person's own may run."""
_SHOWN = 8_000
"""Characters of its output that are kept."""


async def run_for_person(run: Conduct, command: Shell) -> str | None:
    """Runs it outside of the sandbox, in the workspace. What it printed joins the conversation between two steps."""
    if not command.command.strip():
        return "the command is empty"
    if not command.tell:
        return "this version tells the model of every command: use one `!`"
    kit = run.kit
    done = await run_process(command.command, cwd=kit.workspace.root, env=kit.env, timeout=SECONDS)
    kit.changed = True
    how = done.error or ("timed out" if done.timed_out else f"exit code {done.exit_code}")
    output = head_and_tail(done.output.decode("utf-8", "replace").rstrip(), _SHOWN) or "(no output)"
    run.tell(Prompted(kind="shell", text=f"The person ran `{command.command}` ({how}):\n{output}"))
    return None
