"""What a person does with their own hands, how they take the conversation back, and what runs in the background."""

from __future__ import annotations

from .base import EventBase


class ShellStarted(EventBase, frozen=True, kw_only=True):
    """A command of the person's own begins, `!cmd` or `!!cmd`."""

    shell_id: int
    """The command that brought it."""
    command: str
    told: bool
    """The model hears of it."""


class ShellFinished(EventBase, frozen=True, kw_only=True):
    shell_id: int
    how: str
    """`exit code 0`, `timed out`, `interrupted`, or why it did not start."""
    ok: bool
    output: str
    """Head and tail."""
    seconds: float = 0.0
    full: str | None = None
    """Blob of all that it printed, where that is more."""
    files: list[str] = []
    """What changed in the workspace meanwhile; it is the person's, and no undo takes it back."""


class WheelTaken(EventBase, frozen=True, kw_only=True):
    """A person drives: the loop rests, and what they do is recorded like the model's own actions."""

    world: str | None
    """The workspace as they found it."""
    by: str = "person"


class WheelGiven(EventBase, frozen=True, kw_only=True):
    """The model drives again."""

    note: str = ""
    actions: int = 0
    files: list[str] = []
    """What changed meanwhile."""
    finished: bool = False
    """They ended the task, and what had to hold holds."""
    by: str = "person"


class Rewound(EventBase, frozen=True, kw_only=True):
    """The conversation is what it was before event `upto`; what came after that no longer goes to the model.

    What was taken back of the files stands in an `undone` before this.
    """

    upto: int
    text: str = ""
    """The person's message at that place, for the person to edit and send again."""
    step: int | None = None
    """The step that it went back to, where it was no message."""
    by: str = "person"


class ConversationRestored(EventBase, frozen=True, kw_only=True):
    """The newest cut of the conversation is taken back: the old rounds go to the model again."""

    by: str = "person"


class BackgroundStarted(EventBase, frozen=True, kw_only=True):
    """A command runs on beside the steps."""

    name: str
    command: str


class BackgroundSaid(EventBase, frozen=True, kw_only=True):
    """What it printed last; seldom told, the longer it runs."""

    name: str
    line: str


class BackgroundEnded(EventBase, frozen=True, kw_only=True):
    name: str
    how: str
    """`exit code 0`, `stopped by the model`, `stopped by the person`, `the run ended`, ..."""
    ok: bool = False
    output: str = ""
    """Its last lines."""
    full: str | None = None
    """Blob of what it printed, head and tail."""
    seconds: float = 0.0
