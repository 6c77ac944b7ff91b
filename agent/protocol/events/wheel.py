"""Events about a person in control, restored conversations, and background commands."""

from __future__ import annotations

from .base import EventBase


class ShellStarted(EventBase, frozen=True, kw_only=True):
    """A command of the person's own starts, entered as `!cmd` or `!!cmd`."""

    shell_id: int
    """Id of the command that started it."""
    command: str
    told: bool
    """The output is sent to the model."""


class ShellFinished(EventBase, frozen=True, kw_only=True):
    """A command of the person ended."""

    shell_id: int
    how: str
    """`exit code 0`, `timed out`, `interrupted`, or why the command did not start."""
    ok: bool
    output: str
    """Beginning and end of the output."""
    seconds: float = 0.0
    full: str | None = None
    """Blob of the whole output, if it is longer."""
    files: list[str] = []
    """Files that changed in the meantime. They belong to the person, and undo does not revert them."""


class WheelTaken(EventBase, frozen=True, kw_only=True):
    """A person took control: the loop pauses, and the person's actions are recorded like those of the model."""

    world: str | None
    """The workspace when the person took control."""
    by: str = "person"


class WheelGiven(EventBase, frozen=True, kw_only=True):
    """Control returned to the model."""

    note: str = ""
    actions: int = 0
    files: list[str] = []
    """Files that changed in the meantime."""
    finished: bool = False
    """The person ended the task, and its required conditions hold."""
    by: str = "person"


class Rewound(EventBase, frozen=True, kw_only=True):
    """The conversation was reset to its state before event `upto`; later messages are no longer sent to the model.

    An `undone` event before this one lists the reverted files.
    """

    upto: int
    text: str = ""
    """The person's message at that point, which the person can edit and send again."""
    step: int | None = None
    """The step to which the run was rewound, if the target was not a message."""
    by: str = "person"


class ConversationRestored(EventBase, frozen=True, kw_only=True):
    """The newest cut of the conversation was undone: the old rounds are sent to the model again."""

    by: str = "person"


class BackgroundStarted(EventBase, frozen=True, kw_only=True):
    """A command continues in the background, in parallel with the steps."""

    name: str
    command: str
    outputs: list[str] = []
    """Folders of the workspace that it can write; `.`: all of it."""


class BackgroundSaid(EventBase, frozen=True, kw_only=True):
    """The newest output of a background command; reported less often the longer it runs."""

    name: str
    line: str


class BackgroundEnded(EventBase, frozen=True, kw_only=True):
    """A background command ended by itself or was ended."""

    name: str
    how: str
    """`exit code 0`, `stopped by the model`, `stopped by the person`, `the run ended`, ..."""
    ok: bool = False
    output: str = ""
    """Its last lines of output."""
    full: str | None = None
    """Blob of its output, beginning and end."""
    seconds: float = 0.0
    with_run: bool = False
    """Whether it still ran when the run ended."""


WheelEvent = (
    BackgroundEnded
    | BackgroundSaid
    | BackgroundStarted
    | ConversationRestored
    | Rewound
    | ShellFinished
    | ShellStarted
    | WheelGiven
    | WheelTaken
)
"""The events of this module."""
