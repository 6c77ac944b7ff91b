"""Handle control, rewind and the summary of the conversation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import Act, Compact, GiveWheel, Point, Rewind, RundryError, TakeWheel

from ..editor import edit_text

if TYPE_CHECKING:
    from ..screens.main import MainScreen


def _wheel(screen: MainScreen, argument: str) -> None:
    controller = screen.controller
    if controller.state.driving:
        controller.put(GiveWheel(note=argument))
    else:
        if controller.is_orphaned:
            raise RundryError("this run has no runner: use /resume first, then /control")
        controller.put(TakeWheel())


def _edit(screen: MainScreen, argument: str) -> None:
    """A file in the person's editor; what came of it is written by the model's own tool."""
    if not screen.controller.state.driving:
        raise RundryError("/edit works only while you are in control: use /control first")
    if not argument:
        screen.fill("/edit ")
        return
    path = Path(screen.controller.state.workspace) / argument
    try:
        before = path.read_bytes() if path.exists() else None
        text = (before or b"").decode("utf-8")
    except OSError as error:
        raise RundryError(f"{argument} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise RundryError(f"{argument} is not UTF-8 text: edit it with a `!` command") from None
    edited = edit_text(screen.rundry, text, path.name)
    if edited is None:
        screen.tell("left unchanged")
        return
    expects = "" if before is None else hashlib.sha256(before).hexdigest()
    screen.controller.put(Act(tool="write_file", arguments={"path": argument, "content": edited}, expects=expects))


def _finish(screen: MainScreen, argument: str) -> None:
    if not screen.controller.state.driving:
        raise RundryError("/finish works only while you are in control: use /control first")
    if not argument:
        screen.fill("/finish ")
        return
    screen.controller.put(Act(tool="finish", arguments={"answer": argument, "citations": []}))


def _rewind(screen: MainScreen, argument: str) -> None:
    """Where there is something to go back to, it is asked which."""
    from ..screens.dialogs.rewind import RewindScreen

    del argument
    controller = screen.controller
    if not controller.begun:
        raise RundryError("there is no run yet")
    if controller.state.activity:
        raise RundryError("a step is running: press esc to interrupt it first")
    points = controller.points()
    if not points:
        raise RundryError("there is no earlier message")
    blocks = controller.state.blocks

    def title(point: Point) -> str:
        for index in range(len(blocks) - blocks.since(point.seq), len(blocks)):
            block = blocks[index]
            if block.step is not None and block.step != point.step:
                break
            if block.step is not None and (block.title or block.text):
                return block.title or block.text.strip().split("\n", 1)[0]
        return ""

    def chosen(point: Point | None) -> None:
        if point is None:
            return
        try:
            controller.rewind(Rewind(seq=point.seq))
        except RundryError as error:
            screen.tell(str(error))
            return
        if point.text is not None and not controller.is_the_task(point.text):
            screen.fill(point.text)

    screen.rundry.push_screen(RewindScreen(points, title, controller.changes()), chosen)


def _compact(screen: MainScreen, argument: str) -> None:
    if argument not in ("", "undo"):
        raise RundryError(f"/compact {argument}: use /compact or /compact undo")
    asked = screen.controller.put(Compact(undo=bool(argument)))
    if not argument:
        screen.tell("requesting a summary of the conversation", asked=asked)


DOINGS: Mapping[str, Callable[[MainScreen, str], None]] = {
    "wheel": _wheel,
    "edit_file": _edit,
    "finish": _finish,
    "rewind": _rewind,
    "compact": _compact,
}
