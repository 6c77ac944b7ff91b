"""A transcript on a screen."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Input

from rundry.agent import Block
from rundry.tui.theme.theme import register_themes
from rundry.tui.transcript.transcript import Transcript


class Stage(App[None]):
    CSS = "Input { height: 1; border: none; }"

    def __init__(self) -> None:
        super().__init__()
        self.moved: list[tuple[bool, int]] = []

    def compose(self) -> ComposeResult:
        yield Transcript()
        yield Input()

    def on_mount(self) -> None:
        register_themes(self)
        self.theme = "dark"

    def on_transcript_moved(self, message: Transcript.Moved) -> None:
        self.moved.append((message.follows, message.new_below))


def tool_block(number: int, **more: str) -> Block:
    return Block(
        "tool", number, number, None, 0.0, title=f"read file_{number}.py", status="ok", right="84 lines", **more
    )


def rows_of(transcript: Transcript) -> list[str]:
    return [transcript.render_line(y).text.rstrip() for y in range(transcript.size.height)]


def text_of(transcript: Transcript) -> str:
    return "\n".join(rows_of(transcript))
