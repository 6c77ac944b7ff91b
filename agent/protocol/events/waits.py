"""Events about what a run waits for now: the output of a running command, the reading of a prompt, and locks."""

from __future__ import annotations

from .base import EventBase

SHELL_CALL = "shell_"
"""Beginning of the `call_id` of a person's own command; its `shell_id` follows."""


class OutputArrived(EventBase, frozen=True, kw_only=True):
    """The newest line that a running command printed, at most twice a second, and less often the longer it runs."""

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


WaitsEvent = OutputArrived | PromptRead | LockAwaited | LockObtained
"""The events of this module."""
