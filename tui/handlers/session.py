"""Handle actions about the session: palette, editor, theme, trust, demo, leaving."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import RundryError, Trust

if TYPE_CHECKING:
    from ..run_controller import RunController
    from ..screens.prompt import Prompt
    from ..screens.services import Host, Services


class SessionHandlers:
    """Handlers that concern the app and not the run."""

    def __init__(
        self,
        controller: RunController,
        prompt: Prompt,
        services: Services,
        host: Host,
        *,
        leave: Callable[[], None],
    ) -> None:
        self._controller, self._prompt, self._services, self._host = controller, prompt, services, host
        self._leave = leave

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {
            "palette": self._palette,
            "editor": self._editor,
            "theme": self._theme,
            "trust": self._trust,
            "demo": self._demo,
            "suspend": self._suspend,
            "quit": self._quit,
            "copy_or_leave": self._copy_or_leave,
        }

    def _palette(self, _argument: str) -> None:
        self._host.action_command_palette()

    def _editor(self, _argument: str) -> None:
        self._services.after_pending_keys(self._edit_message)

    def _edit_message(self) -> None:
        try:
            text = self._services.edit(self._prompt.whole_text, "message.md")
        except RundryError as error:
            self._prompt.tell(str(error))
            return
        if text is not None:
            self._prompt.fill(text.rstrip("\n"))

    def _theme(self, argument: str) -> None:
        self._prompt.tell(f"theme {self._host.choose_theme(argument)}")

    def _trust(self, _argument: str) -> None:
        start = self._controller.start
        folder = start.workspace if start is not None else Path(self._controller.state.workspace)
        names = dict.fromkeys([*Trust().trust(folder), *self._controller.extensions.current.trust()])
        if not names:
            self._prompt.tell("this folder has nothing to trust")
            return
        # The list may be cut off at the width of the screen, so it comes last.
        self._prompt.tell(f"trusted; config and hooks apply from the next start: {', '.join(names)}")

    def _demo(self, _argument: str) -> None:
        self._host.leave_for("demo")

    def _suspend(self, _argument: str) -> None:
        self._host.action_suspend_process()

    def _copy_or_leave(self, _argument: str) -> None:
        self._host.copy_or_leave()

    def _quit(self, _argument: str) -> None:
        self._leave()
