"""The process behind one browser tab: a read-only view of a run, drawn for textual-serve.

Started as `python -m rundry.tui.web.web_view JOURNAL FLAGS`, with the flags as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from rundry.agent import Session, StopHow

from ..app.app import RundryApp
from ..app.exit_report import report_crash
from ..app.notify import Notifier
from ..control.run_controller import RunController
from ..control.view_result import ViewResult
from ..start.new_run import Setup
from .read_only import ReadOnlyLink

LOOK_SECONDS = 0.5
"""Seconds between two checks whether the server still exists."""


class WebApp(RundryApp):
    """The screens of a run without a way to act: leaving only closes this view."""

    server = 0
    """Process id of the server that started this view."""

    def on_mount(self) -> None:
        """End with the server even if that is killed. Textual calls the handler of `RundryApp` as well."""
        self.set_interval(LOOK_SECONDS, self._end_with_server)

    def _end_with_server(self) -> None:
        if os.getppid() != self.server:
            self.exit(ViewResult())

    def leave(self, stop: StopHow | None) -> None:
        """Close the view; the run continues."""
        self.exit(ViewResult())


def main() -> int:
    """Show the run until the tab is closed, and return the exit code."""
    path, flags = Path(sys.argv[1]), json.loads(sys.argv[2])
    server = os.getppid()
    setup = Setup(flags, headless=False, begins=False)
    controller = RunController(ReadOnlyLink(Session.attach(path)))
    controller.is_read_only = True
    settings = setup.settings
    app = WebApp(controller, theme=settings.theme, keys=settings.keys, notifier=Notifier(os.environ, quiet=True))
    app.server = server
    try:
        app.run()
    finally:
        controller.link.close()
    if app.crash:
        report_crash(app.crash, setup.folder / "view.log")
    return 1 if app.crash else 0


if __name__ == "__main__":
    sys.exit(main())
