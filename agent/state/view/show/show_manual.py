"""Show a person's own actions (commands, control, rewinding) and background commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ....protocol import (
    BackgroundEnded,
    BackgroundSaid,
    BackgroundStarted,
    ConversationRestored,
    Rewound,
    ShellFinished,
    ShellStarted,
    Stamped,
    WheelGiven,
    WheelTaken,
)
from ....protocol.text.counts import plural
from ....protocol.text.shorten_text import first_line
from .change_blocks import add, is_short, note, touch

if TYPE_CHECKING:
    from ..view_state import ViewState

ManualEvent = (
    ShellStarted
    | ShellFinished
    | WheelTaken
    | WheelGiven
    | Rewound
    | ConversationRestored
    | BackgroundStarted
    | BackgroundSaid
    | BackgroundEnded
)


def show_manual(state: ViewState, stamped: Stamped, event: ManualEvent) -> None:
    """Show an event about a person's own action or a background command."""
    match event:
        case ShellStarted():
            prefix = "!" if event.told else "!!"
            add(state, stamped, "command", title=f"{prefix} {event.command}", status="running")
            state.at_shell[event.shell_id] = len(state.blocks) - 1
        case ShellFinished():
            _shell_finished(state, stamped, event)
        case WheelTaken():
            state.waiting = state.activity = ""
            note(state, stamped, "you are in control: what you type runs; /control NOTE returns control")
            if state.loop is not None and state.loop.traits.commits_passes:
                note(state, stamped, "your changes belong to the pass: they are kept or rolled back with it")
        case WheelGiven():
            state.check = None
            done = f"{plural(event.actions, 'action')}, {plural(len(event.files), 'file')} changed"
            lines = [*([event.note] if event.note else []), *event.files]
            note(state, stamped, "you returned control to the model", right=done, detail="\n".join(lines))
        case Rewound():
            _rewound(state, stamped, event)
        case ConversationRestored():
            state.prompt_tokens = 0  # known again with the next call
            note(state, stamped, "undone: the messages above are sent to the model again")
        case BackgroundStarted() | BackgroundSaid():
            pass  # the line of the running commands shows them
        case BackgroundEnded():
            block = note(state, stamped, f"{event.name} ended: {event.how}", detail=event.output)
            block.seconds = event.seconds or None
        case _:
            assert_never(event)


def _shell_finished(state: ViewState, stamped: Stamped, event: ShellFinished) -> None:
    index = state.at_shell.pop(event.shell_id, None)
    if index is None:
        add(state, stamped, "command", title="!")
        index = len(state.blocks) - 1
    state.printed.pop(index, None)
    block = touch(state, index)
    block.status, block.seconds = "ok" if event.ok else "failed", event.seconds
    files = f", {plural(len(event.files), 'file')} changed" if event.files else ""
    block.right = event.how.replace("exit code", "exit") + files
    block.detail = event.output
    block.open = is_short(event.output)  # the person wants to read the output


def _rewound(state: ViewState, stamped: Stamped, event: Rewound) -> None:
    state.check = None  # its verdict no longer holds
    where = f"step {event.step}" if event.step is not None else f"“{first_line(event.text, 48)}”"
    note(
        state,
        stamped,
        f"back to before {where}: later messages are no longer sent to the model",
        right=plural(state.blocks.since(event.upto), "line"),
    )
