"""Handle actions of the view only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import RundryError, Trust

from ..actions import keys_of
from ..editor import edit_text

if TYPE_CHECKING:
    from ..screens.main import MainScreen


def _help(screen: MainScreen, argument: str) -> None:
    from ..screens.dialogs.help import HelpScreen

    del argument
    screen.rundry.push_screen(HelpScreen(screen.keymap))


def _palette(screen: MainScreen, argument: str) -> None:
    del argument
    screen.rundry.action_command_palette()


def _to_gate(screen: MainScreen, argument: str) -> None:
    del argument
    if screen.gate.display:
        screen.set_focus(screen.gate)
    elif screen.controller.state.finder is not None:
        screen.show_board(True)
        screen.set_focus(screen.search.board)
    else:
        screen.tell("no proposal is waiting")


def _unfold(screen: MainScreen, argument: str) -> None:
    del argument
    screen.show_behind_gate()
    screen.transcript.action_unfold()


def _unfold_all(screen: MainScreen, argument: str) -> None:
    del argument
    screen.show_behind_gate()
    screen.transcript.action_unfold_all()


def _read(screen: MainScreen, argument: str) -> None:
    del argument
    screen.show_board(False)
    screen.show_behind_gate()
    screen.set_focus(screen.transcript)


def _find(screen: MainScreen, argument: str) -> None:
    if not argument:
        screen.fill("/find ")
        return
    screen.show_board(False)
    found = screen.transcript.find(argument)
    if not found.total and screen.transcript.is_searching:
        screen.tell("searching older entries")
    elif found.total:
        screen.tell(f"{found.current} of {found.total}; n and N continue, esc returns")
        screen.show_behind_gate()
        screen.set_focus(screen.transcript)
    else:
        screen.tell(f"nothing found for {argument}")


def _copy(screen: MainScreen, argument: str) -> None:
    del argument
    text = screen.get_selected_text() or last_answer(screen)
    if not text:
        screen.tell("nothing to copy yet")
        return
    screen.rundry.copy_to_clipboard(text)
    screen.tell(f"copied {len(text)} characters, if the terminal allows it (OSC 52)")


def last_answer(screen: MainScreen) -> str:
    """The newest text of the model, as it came."""
    blocks = screen.controller.state.blocks
    return next((block.text for block in reversed(blocks) if block.kind in ("text", "outcome") and block.text), "")


def _editor(screen: MainScreen, argument: str) -> None:
    del argument
    (screen.focused or screen).call_later(_edit_message, screen)  # behind the letters that came in one go with the key


def _edit_message(screen: MainScreen) -> None:
    box = screen.message.box
    try:
        text = edit_text(screen.rundry, box.pastes.unfold(box.text), "message.md")
    except RundryError as error:
        screen.tell(str(error))
        return
    if text is not None:
        box.fill(text.rstrip("\n"))


def _theme(screen: MainScreen, argument: str) -> None:
    names = screen.rundry.themes_offered()
    if argument and argument not in names:
        raise RundryError(f"/theme {argument}: use one of {', '.join(names)}")
    now = names.index(screen.rundry.theme) if screen.rundry.theme in names else -1
    screen.rundry.theme = argument or names[(now + 1) % len(names)]
    screen.tell(f"theme {screen.rundry.theme}")


def _trust(screen: MainScreen, argument: str) -> None:
    del argument
    start = screen.controller.start
    folder = start.workspace if start is not None else Path(screen.controller.state.workspace)
    names = Trust().trust(folder)
    what = ", ".join(names) or "this folder has no config to trust"
    screen.tell(f"trusted: {what}; it applies from the next start")


def _demo(screen: MainScreen, argument: str) -> None:
    del argument
    screen.rundry.leave_for("demo")


def _replay(screen: MainScreen, argument: str) -> None:
    from ..replay import SPEEDS, Film, Player
    from ..replay.screen import ReplayScreen

    journal = screen.controller.link.journal
    speed = argument.removesuffix("x") or "1"
    if speed not in map(str, SPEEDS):
        raise RundryError(f"/replay {argument}: use {', '.join(f'{each}x' for each in SPEEDS)}")
    if journal is None or screen.controller.state.last_seq == 0:
        raise RundryError("there is nothing to replay yet")

    def left(why: str | None) -> None:
        screen.tell(why or "back to the run; the replay changed nothing")

    player = Player(Film(journal), int(speed))
    keys = keys_of("board", screen.keymap)
    screen.rundry.push_screen(ReplayScreen(player, keys, board_wanted=screen.board_wanted), left)


def _quit(screen: MainScreen, argument: str) -> None:
    del argument
    screen.ask_to_leave()


DOINGS: Mapping[str, Callable[[MainScreen, str], None]] = {
    "help": _help,
    "palette": _palette,
    "to_gate": _to_gate,
    "unfold": _unfold,
    "unfold_all": _unfold_all,
    "read": _read,
    "find": _find,
    "copy": _copy,
    "editor": _editor,
    "theme": _theme,
    "trust": _trust,
    "demo": _demo,
    "replay": _replay,
    "quit": _quit,
}
