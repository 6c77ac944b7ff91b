"""The app: themes, the palette, keys, and the main screen. Screens and handlers do the rest."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import App, SystemCommand
from textual.driver import Driver
from textual.screen import Screen
from textual.widgets import Input

from ..control.view_result import ViewResult
from ..keys.keymap import LEAVES
from ..keys.lookup import ACTIONS, READ_ONLY_ACTIONS
from ..keys.screen_keymap import keymap_of, set_keymap
from ..start.remaps import check_keys, one_line_about
from ..text.first_frame import Typed
from ..text.show_text import one_line
from ..theme.colour_depth import TRUE_COLOR, Depth
from ..theme.live_themes import ThemeLoaded, Themes
from .main_screen import MainScreen
from .notify import Notifier
from .terminal_driver import with_enter_keys, with_known_widths, with_quiet_input

if TYPE_CHECKING:
    from textual.drivers.linux_driver import LinuxDriver

    from rundry.agent import StopHow

    from ..control.run_controller import RunController
    from ..keys.action import Action


_TOUCHES = (events.InputEvent, events.Paste, events.Resize, events.AppFocus, events.AppBlur)


class RundryApp(App[ViewResult], inherit_bindings=False):
    """Textual app that shows one run."""

    TITLE = "rundry"
    ENABLE_COMMAND_PALETTE = False  # rundry has its own, see `action_command_palette`
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
        notifier: Notifier | None = None,
        depth: Depth = TRUE_COLOR,
        themes: Path | None = None,
    ) -> None:
        """`depth`: number of colours of the terminal. `themes`: the folder of the user's themes, or None."""
        super().__init__(ansi_color=None if depth else True)
        self._themes = Themes(self, depth, themes)
        self.controller = controller
        self._theme_wanted = theme
        self._theme_mistake = ""
        self._remaps, self._wrong_keys = check_keys(keys or {})
        self._typed = typed or Typed()
        self._notifier = notifier or Notifier(os.environ, quiet=True)
        self._held: list[events.Event] | None = []
        """Keys that arrived before the draft was put into the message box. Enter among them sends that draft."""
        self.crash = ""
        """The traceback of the error that ended the app."""

    def on_mount(self) -> None:
        """Open the screen, and put in what the person typed before."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.exit, ViewResult(signal=number))
        self.theme, self._theme_mistake = self._themes.start(self._theme_wanted)
        self.set_keymap({name: keys or f"no-key-of-{name}" for name, keys in self._remaps.items()})
        set_keymap(self, self._remaps)
        screen = MainScreen(self.controller, self._remaps, self)
        self.push_screen(screen)
        self.run_worker(self._themes.watch(), exit_on_error=False)
        self.call_after_refresh(self._hand_over, screen)

    def _hand_over(self, screen: MainScreen) -> None:
        if self._wrong_keys:
            screen.prompt.tell(one_line_about(self._wrong_keys))
        if self._theme_mistake:
            screen.prompt.tell(self._theme_mistake)
        box = screen.message.box
        if self._typed.begun_with:
            box.recalled.add(self._typed.begun_with)
        for line in self._typed.take_sent():
            box.load_text(line)
            box.send(steer=False)
        draft = self._typed.take_draft()
        if draft:
            self.controller.expect_message()
            box.fill(draft + box.text)
        held, self._held = self._held or [], None
        for event in held:
            self.post_message(event)
        self.controller.expect_message(is_typing=False)
        gc.freeze()  # removes stalls of 150 ms

    def get_driver_class(self) -> type[Driver]:
        """Return the driver of this platform, with emoji at the width that the layout counts."""
        base: type[Driver] = super().get_driver_class()
        if base.__name__ == "LinuxDriver":
            base = with_quiet_input(cast("type[LinuxDriver]", base))
        return with_known_widths(with_enter_keys(base))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield a palette command for each action."""
        if not isinstance(screen, MainScreen):
            return
        places = ("main",) if screen.controller.state.finder is None else ("main", "board")
        only_shows = screen.controller.is_read_only
        for action in ACTIONS:
            is_offered = action.where in places and not (only_shows and action.name not in READ_ONLY_ACTIONS)
            if action.name != "palette" and is_offered:
                yield SystemCommand(action.label, self._about(action), _Do(screen, action.name))
        for name, takes, about in () if only_shows else screen.controller.extensions.user_commands():
            yield SystemCommand(f"/{name}", one_line(f"{takes}  {about}".strip()), _Fill(screen, f"/{name} "))

    def action_command_palette(self) -> None:
        """Open the palette, and run what is chosen there."""
        from ..pages.palette import CommandPicker

        commands = list(self.get_system_commands(self.screen))

        def chosen(number: int | None) -> None:
            if number is not None:
                commands[number].callback()

        if commands:
            details = {action.label: action.detail for action in ACTIONS}
            self.push_screen(CommandPicker(commands, details), chosen)

    def _about(self, action: Action) -> str:
        slash = f"/{action.slash} {action.takes}".strip() if action.typed else ""
        return f"{keymap_of(self).shown(action.name):<5} {slash}".rstrip()

    def notify_user(self, phase: str) -> None:
        """Notify the person about something new that needs them, if they look elsewhere."""
        controller = self.controller
        self._notifier.update(
            controller.state,
            phase,
            focused=self.app_focus,
            journal=controller.link.journal,
            write=self._write_to_terminal,
        )

    def _write_to_terminal(self, text: str) -> None:
        """Write a control sequence to the terminal, between two frames."""
        if not self.is_headless and self._driver is not None:
            self._driver.write(text)

    def choose_theme(self, name: str) -> str:
        """Switch to a theme, or to the next one if `name` is empty, and return its name. Raises RundryError."""
        self.theme = self._themes.choose(name)
        return self.theme

    def on_theme_loaded(self, event: ThemeLoaded) -> None:
        """Tell the person which theme was loaded, or what is wrong with it."""
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.prompt.tell(event.line)

    async def action_quit(self) -> None:
        """Handle Ctrl+Q as the main screen does."""
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.ask_to_leave()

    def on_key(self, event: events.Key) -> None:
        """Handle Ctrl+Z and Ctrl+C above the main screen, where its bindings do not apply."""
        below = next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)
        name = keymap_of(self).action_of(event.key, "main")
        if below is None or name not in ("suspend", *LEAVES):
            return
        event.stop()
        if name == "suspend":
            below.action_do(name)
        elif name == "quit":
            below.ask_to_leave()
        else:
            self.copy_or_leave()

    def copy_or_leave(self) -> None:
        """Copy the selection of the main screen; without one, interrupt a proposal, and leave the second time.

        A dialog is closed first, which interrupts nothing.
        """
        below = next(screen for screen in self.screen_stack if isinstance(screen, MainScreen))
        is_above = self.screen is not below
        while self.screen is not below:
            self.pop_screen()
        below.copy_or_leave(interrupts=not is_above)

    async def on_event(self, event: events.Event) -> None:
        """Replace hidden characters of a paste into an input line of textual, such as that of the palette, by marks."""
        if isinstance(event, events.Paste) and isinstance(self.focused, Input):
            event = events.Paste(one_line(event.text))
        # A dialog that opens before the draft is put in delays that until it closes, so its keys are not held.
        is_dialog_open = any(screen.is_modal for screen in self.screen_stack)
        if self._held is not None and isinstance(event, events.Key | events.Paste) and not is_dialog_open:
            self._held.append(event)
            return
        if isinstance(event, _TOUCHES):
            for screen in self.screen_stack:
                if isinstance(screen, MainScreen):
                    screen.touched()
        await super().on_event(event)

    def _fatal_error(self) -> None:
        """Print no traceback with local variables, as textual does: they contain keys and foreign text."""
        from rundry.agent import Redactor

        self.crash = Redactor.from_env(os.environ)(traceback.format_exc())
        self._close_messages_no_wait()

    def leave(self, stop: StopHow | None) -> None:
        """End the view; `stop` says how the run is stopped, if at all."""
        self.exit(ViewResult(stop=stop))

    def leave_refused(self, why: str, *, later: bool) -> None:
        """End the view, because the run that the command line named cannot begin or continue."""
        self.exit(ViewResult(refused=why, later=later))

    def leave_for(self, what: str) -> None:
        """End this view and open another."""
        self.exit(ViewResult(next=what))


@dataclass(frozen=True, slots=True)
class _Do:
    screen: MainScreen
    name: str

    def __call__(self) -> None:
        self.screen.action_do(self.name)


@dataclass(frozen=True, slots=True)
class _Fill:
    screen: MainScreen
    text: str

    def __call__(self) -> None:
        self.screen.prompt.fill(self.text)
