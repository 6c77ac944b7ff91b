"""What screens and handlers need from the app."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from textual.app import App
from textual.message import Message
from textual.screen import Screen

from ..keys.user_editor import edit_text, open_file

if TYPE_CHECKING:
    from rundry.agent import StopHow

    from .run_controller import RunController

Result = TypeVar("Result")


class Host(Protocol):
    """The part of `RundryApp` that the main screen uses."""

    def notify_user(self, phase: str) -> None:
        """Notify the user outside of the terminal if the run needs them."""
        ...

    def leave(self, stop: StopHow | None) -> None:
        """Close the view; `stop` says how the run is stopped, if at all."""
        ...

    def leave_refused(self, why: str, *, later: bool) -> None:
        """Close the view because the run cannot start or continue."""
        ...

    def leave_for(self, what: str) -> None:
        """Close the view and open another one."""
        ...

    def copy_or_leave(self) -> None:
        """Copy the selection; without one, leave if it is the second time in two seconds."""
        ...

    def choose_theme(self, name: str) -> str:
        """Switch to a theme, or to the next one if `name` is empty, and return its name. Raises RundryError."""
        ...

    def action_suspend_process(self) -> None:
        """Suspend the screen, so that the shell has the terminal; the run continues."""
        ...

    def action_command_palette(self) -> None:
        """Open the command palette."""
        ...


class SentByDialog(Message):
    """Posted to the screen when a dialog that closed has sent something to the run."""


class Services:
    """Opens dialogs, copies to the clipboard and starts the user's editor."""

    def __init__(self, screen: Screen[Any], controller: RunController) -> None:
        """`screen`: the one above which dialogs open."""
        self._screen, self._controller = screen, controller

    @property
    def _app(self) -> App[Any]:
        return cast("App[Any]", self._screen.app)

    def open(self, dialog: Screen[Result], closed: Callable[[Result | None], None] | None = None) -> None:
        """Open a dialog; `closed` receives its result."""

        def handle(result: Result | None) -> None:
            sent = self._controller.sent
            if closed is not None:
                closed(result)
            if self._controller.sent > sent:
                self._screen.post_message(SentByDialog())

        self._app.push_screen(dialog, handle)

    async def ask(self, dialog: Screen[Result]) -> Result | None:
        """Open a dialog and return its result, in work that `run` started."""
        return await self._app.push_screen_wait(dialog)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Start work that takes longer, next to what the screen does."""
        self._screen.run_worker(work)

    def redraw(self) -> None:
        """Draw the whole screen again."""
        self._app.refresh(layout=True)

    def copy(self, text: str) -> None:
        """Copy a text to the clipboard, if the terminal allows it."""
        self._app.copy_to_clipboard(text)

    def selected_text(self) -> str:
        """Return the text selected with the mouse, or an empty string."""
        return self._screen.get_selected_text() or ""

    def edit(self, text: str, name: str) -> str | None:
        """Return the text as the user's editor left it, or None if it is unchanged. Raises RundryError."""
        return edit_text(self._app, text, name)

    def is_focused(self, name: str) -> bool:
        """Return whether the part of the screen with this id has the focus."""
        return self._screen.focused is not None and self._screen.focused.id == name

    def focus(self, name: str) -> None:
        """Focus the part of the screen with this id."""
        self._screen.set_focus(self._screen.query_one(f"#{name}"))

    def open_file(self, path: Path, line: int) -> None:
        """Open a file at a line in the user's editor. Raises RundryError."""
        open_file(self._app, path, line)

    def after_pending_keys(self, work: Callable[[], None]) -> None:
        """Call `work` after the focused widget has handled the keys that arrived before."""
        (self._screen.focused or self._screen).call_later(work)
