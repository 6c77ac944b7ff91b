"""Events about what a run waits for now: what the model awaits, output of commands, the reading of a prompt, locks."""

from __future__ import annotations

from typing import Literal

from .base import EventBase

SHELL_CALL = "shell_"
"""Beginning of the `call_id` of a person's own command; its `shell_id` follows."""


AwaitKind = Literal["job", "file", "port", "time", "person"]
"""What a call of `wait_for` awaits: a background command, a file of the workspace, a port, a time, a person."""
AwaitEnd = Literal[
    "met",  # what was awaited is there
    "ended",  # the background command ended without it, or nothing is left that could bring it
    "clock",  # the longest time of the wait is over
    "person",  # a person ended the wait with `/wake`
    "message",  # a message arrived
    "interrupt",  # a person interrupted, stopped or took over the step
    "deadline",
    "limit",  # the time limit of the run is reached
    "nobody",  # a person is awaited, and none is there
]
"""What ended a wait."""


class AwaitBegan(EventBase, frozen=True, kw_only=True):
    """A call of `wait_for` waits: no model call is made until it ends. A resumed run continues the same wait."""

    call_id: str
    what: AwaitKind
    name: str = ""
    """The background command, the path, the port, the time in words, or what the person is to do."""
    text: str = ""
    """The text that is awaited in the output of a background command. Empty means its end."""
    until: float | None = None
    """Unix time at which it ends at the latest. None means that it has no limit."""
    counts: bool = True
    """Whether its seconds count against the time limit of the run."""
    mark: str = ""
    """The state of the file at the beginning; another one ends the wait. Empty means that any file does."""


class AwaitEnded(EventBase, frozen=True, kw_only=True):
    """A wait of the model ended."""

    call_id: str
    by: AwaitEnd
    seconds: float = 0.0
    """How long it took, with the time before a resume."""
    mark: str = ""
    """The state of the file at the end, from which the next wait for it begins."""


class OutputArrived(EventBase, frozen=True, kw_only=True):
    """The newest line of a running command, or the progress of a call of an MCP server.

    At most twice a second, and less often the longer it runs.
    """

    command: str
    line: str
    """At most 200 characters, without terminal sequences."""
    call_id: str = ""
    """The tool call that runs the command; `shell_7`: the person's own. Empty means a check."""


class PromptRead(EventBase, frozen=True, kw_only=True):
    """How far a model server has read the prompt of a call, at most twice a second, and less often the longer it reads.

    llama.cpp's server reports it after each batch of the prompt.
    """

    read: int
    """Tokens that are read, those from the server's cache included."""
    total: int
    """Tokens of the prompt, as the server counts them."""


class LockAwaited(EventBase, frozen=True, kw_only=True):
    """A step waits for a lock that someone else holds."""

    lock: str
    """What is locked: the path of git's lock file, or `the files of the run`."""
    holder: str = ""
    """Its holder: `process 4711 (git commit)`, `the merge of src/a.py`, or empty if unknown."""


class LockObtained(EventBase, frozen=True, kw_only=True):
    """The wait for a lock ended."""

    lock: str
    seconds: float = 0.0
    obtained: bool = True
    """False means that the wait was given up."""


WaitsEvent = AwaitBegan | AwaitEnded | OutputArrived | PromptRead | LockAwaited | LockObtained
"""The events of this module."""
