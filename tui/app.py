"""The app: themes, the palette, keys, and the one screen. What happens is in the screens and the doings."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.screen import Screen
from textual.widgets import Input

from .actions import ACTIONS, keymap
from .first_frame import Typed
from .notify import Caller
from .run_controller import RunController
from .screens.main import MainScreen
from .text import one_line
from .theme import SHIPPED, register_themes


@dataclass(frozen=True, slots=True)
class Parting:
    """Result of the view: how the user left it."""

    stop: str | None = None
    """`wrap_up` or `now`: the run is being stopped; None: it continues or has ended."""
    signal: int = 0
    """The signal that ended the view."""
    failed: bool = False
    """The screen itself failed."""
    refused: str = ""
    """Why the run could not start or continue."""
    later: bool = False
    """A later retry can succeed."""
    next: str = ""
    """The view to open next: `demo`."""


_TOUCHES = (events.InputEvent, events.Paste, events.Resize, events.AppFocus, events.AppBlur)


class RundryApp(App[Parting]):
    """Textual app that shows one run."""

    TITLE = "rundry"
    ENABLE_COMMAND_PALETTE = True
    INLINE_PADDING = 0
    CSS: ClassVar[str] = """
    App { background: $background; }
    """

    def __init__(
        self,
        controller: RunController,
        *,
        theme: str = "dark",
        keys: Mapping[str, str] | None = None,
        typed: Typed | None = None,
        caller: Caller | None = None,
    ) -> None:
        super().__init__()
        self.controller = controller
        self._theme_wanted = theme
        self._remaps, self._wrong_keys = keymap(keys or {})
        self._typed = typed or Typed()
        self._caller = caller or Caller(os.environ, quiet=True)
        self._held: list[events.Event] | None = []
        """Keys that came before the draft stood in the box: an Enter among them is for that draft."""
        self.crash = ""
        """The traceback of what ended the app."""

    def on_mount(self) -> None:
        """Open the screen and hand over what was typed before it stood."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.exit, Parting(signal=number))
        register_themes(self)
        self.theme = self._theme_wanted if self._theme_wanted in self.available_themes else "dark"
        self.set_keymap(self._remaps)
        screen = MainScreen(self.controller, self._remaps, self)
        self.push_screen(screen)
        self.call_after_refresh(self._hand_over, screen)

    def _hand_over(self, screen: MainScreen) -> None:
        for line in self._wrong_keys:
            screen.prompt.tell(line)
        box = screen.message.box
        if self._typed.begun_with:
            box.recalled.add(self._typed.begun_with)
        for line in self._typed.take_sent():
            box.text = line
            box.send(steer=False)
        draft = self._typed.take_draft()
        if draft:
            self.controller.expect_message()
            box.fill(draft + box.text)
        held, self._held = self._held or [], None
        for event in held:
            self.post_message(event)
        gc.freeze()  # removes stalls of 150 ms

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield a palette command for each action."""
        if not isinstance(screen, MainScreen):
            return
        places = ("main",) if screen.controller.state.finder is None else ("main", "board")
        for action in ACTIONS:
            if action.name != "palette" and action.where in places:
                yield SystemCommand(action.label, _about(action.name), _Do(screen, action.name))

    def call_person(self, phase: str) -> None:
        """Call where something new needs the person, and they look elsewhere."""
        controller = self.controller
        self._caller.see(
            controller.state,
            phase,
            focused=self.app_focus,
            journal=controller.link.journal,
            write=self._write_to_terminal,
        )

    def _write_to_terminal(self, text: str) -> None:
        """A control sequence, between two frames."""
        if not self.is_headless and self._driver is not None:
            self._driver.write(text)

    def choose_theme(self, name: str) -> str:
        """Switch to a theme, or to the next one if `name` is empty, and return its name. Raises RundryError."""
        from rundry.agent import RundryError

        names = list(SHIPPED)
        if name and name not in names:
            raise RundryError(f"/theme {name}: use one of {', '.join(names)}")
        now = names.index(self.theme) if self.theme in names else -1
        self.theme = name or names[(now + 1) % len(names)]
        return self.theme

    async def action_quit(self) -> None:
        """Ctrl+Q asks as the screen does."""
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.ask_to_leave()

    def on_key(self, event: events.Key) -> None:
        """Ctrl+C above the main screen, where no binding of ours holds: back to it, and twice leaves from anywhere."""
        below = next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)
        if event.key != "ctrl+c" or below is None:
            return
        event.stop()
        while self.screen is not below:
            self.pop_screen()
        below.action_copy_or_leave()

    async def on_event(self, event: events.Event) -> None:
        """What is pasted into a line of textual's own (the palette's) is drawn as it is: what hides becomes a mark."""
        if isinstance(event, events.Paste) and isinstance(self.focused, Input):
            event.text = one_line(event.text)
        if self._held is not None and isinstance(event, events.Key | events.Paste):
            self._held.append(event)
            return
        if isinstance(event, _TOUCHES):
            for screen in self.screen_stack:
                if isinstance(screen, MainScreen):
                    screen.touched()
        await super().on_event(event)

    def _fatal_error(self) -> None:
        """Instead of textual's page of local variables: they hold keys, and texts as they came."""
        from rundry.agent import Redactor

        self.crash = Redactor.from_env(os.environ)(traceback.format_exc())
        self._close_messages_no_wait()

    def leave(self, stop: str | None) -> None:
        """End the view; `stop` says how the run is stopped, if at all."""
        self.exit(Parting(stop=stop))

    def leave_refused(self, why: str, *, later: bool) -> None:
        """End the view: the run that the command line asked for cannot begin or go on."""
        self.exit(Parting(refused=why, later=later))

    def leave_for(self, what: str) -> None:
        """End this view and open another."""
        self.exit(Parting(next=what))


@dataclass(frozen=True, slots=True)
class _Do:
    screen: MainScreen
    name: str

    def __call__(self) -> None:
        self.screen.action_do(self.name)


def _about(name: str) -> str:
    from .actions import BY_NAME, shown_key

    action = BY_NAME[name]
    slash = f"/{action.slash} {action.takes}".strip() if action.typed else ""
    return "   ".join(part for part in (shown_key(action.keys) if action.keys else "", slash) if part)
