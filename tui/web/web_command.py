"""Carry out `rundry watch --web`: check everything first, then serve until Ctrl+C. Imports little."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from importlib.util import find_spec

from rundry.agent import Journal, UserError

from ..text.show_text import one_line

MISSING = "--web needs textual-serve, which is not installed: install it with `{} -m pip install textual-serve`"


def watch_in_browser(ref: str | None, flags: Mapping[str, object], port: int) -> int:
    """Serve the view of a run to the browser. Return the exit code. Raises RundryError."""
    if find_spec("textual_serve") is None:
        raise UserError(MISSING.format(sys.executable))
    from ..start.new_run import Setup
    from ..start.resuming import find_any

    path = find_any(ref, flags)
    passed = {name: flags.get(name) for name in ("cwd", "runs_dir")}
    Setup(passed, headless=False, begins=False)  # a wrong config is reported here, not in the browser
    journal = Journal.open(path)
    run_id, task = journal.spec.run_id, one_line(" ".join(journal.spec.task.split()))
    journal.close()
    argv = [sys.executable, "-P", "-E", "-m", "rundry.tui.web.web_view", str(path), json.dumps(passed)]

    def show(link: str) -> None:
        print(one_line(f"{run_id}  {task[:70]}"))
        print(one_line(f"open {link}"))
        print("the link works once and only on this machine; the view is read-only")
        print("Ctrl+C ends the view; the run continues", flush=True)

    from .web_server import serve

    return 128 + asyncio.run(serve(port, argv, f"rundry: {task[:70]}", show))
