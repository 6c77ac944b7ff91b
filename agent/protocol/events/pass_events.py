"""Events of passes, and of the time between them."""

from __future__ import annotations

from typing import Literal

from ..outcome import Reason
from .base import EventBase

DelayMoved = Literal["inside", "out", ""]
"""`inside`: the delay was shortened to end while the prompt cache is warm. `out`: it was lengthened, so that a cold
read is worth its price. Empty means that it is the requested delay."""
WokenBy = Literal["clock", "person", "message", "deadline"]

PassVerdict = Literal[
    "kept",
    "unchanged",
    "reverted",
    "unmeasured",  # rolled back because the score could not be measured
    "skipped",  # the pass could not start
    "undecided",  # a person has to decide about its changes, which are kept as a patch
]


class PassStarted(EventBase, frozen=True, kw_only=True):
    """A pass starts."""

    number: int
    lenses: list[str] = []
    """In a search by lenses: the lenses of the pass."""
    began: float | None = None
    """Unix time of the run's own clock, for a pass of a clock or delay loop."""
    world: str | None = None
    """The state of the files at its start."""
    head: str | None = None
    """The commit at the start of the pass. None means that the pass is not committed."""
    git: str | None = None
    """In journals of older versions: the state of the repository, in the snapshot store."""
    green: bool = False
    """The success predicates already held at the start, so that they do not end the pass."""
    fresh: bool = False
    """The pass starts a new conversation after the system prompt."""
    layer: str | None = None
    """Folder of the layer or copy in which the pass works. None means that it has tries, or an older version ran it in
    place."""
    tries: int = 1
    """Number of tries in the pass, each with files of its own."""


class PatchKept(EventBase, frozen=True, kw_only=True):
    """The changes of a pass, kept as a git patch before they are dropped."""

    number: int
    why: str
    patch: str
    """Blob of the patch."""
    world: str | None
    """In journals of older versions: the snapshot that includes the change."""
    files: list[str] = []
    git: str | None = None
    """In journals of older versions: the state of the repository after the pass."""
    bundle: str | None = None
    """Blob of a git bundle with the commits of the pass, for `git fetch`."""
    commits: list[str] = []
    """Those commits, and where they are kept if they do not fit into a bundle."""
    history: list[str] = []
    """What the pass changed in HEAD, refs, stash and submodules."""
    unmeasured: bool = False
    """The score could not be measured."""
    change: str = ""
    """Hash of the change without positions and trailing white space; the same hash twice means a repeated change."""
    undecided: list[str] = []
    """Why a person has to decide about the changes, one line each: then the pass is a hand-off."""
    ends: Reason | None = None
    """As in `PassFinished`."""


class PassKept(EventBase, frozen=True, kw_only=True):
    """A pass that worked in a layer is kept. From here on its changes are applied, whatever is killed."""

    number: int
    order: str
    """The order that applies them, as in `effects_accepted`."""
    why: str
    files: list[str] = []
    commit: str | None = None
    """The commit that the branch of the run gets, or None if there is none."""
    change: str = ""
    """As in `patch_kept`."""


class PassFinished(EventBase, frozen=True, kw_only=True):
    """A pass ended, with its verdict and what became of its changes."""

    number: int
    new: int = 0
    dry_streak: int = 0
    dry_passes: int = 0
    verdict: Literal["", PassVerdict] = ""
    """Empty means the pass of a search, which changes no files."""
    why: str = ""
    """The reason for the verdict, as text for a person."""
    said: str = ""
    """Summary of the pass in one line, for the next pass."""
    files: list[str] = []
    commit: str | None = None
    """The commit that contains the pass, if any."""
    change: str = ""
    """As in `PatchKept`, or empty if nothing was changed."""
    repeats: int | None = None
    """Number of the earlier pass that made the same change."""
    left: list[str] = []
    """Files that could not be restored, each with the reason."""
    tries: int = 1
    """As in `PassStarted`."""
    candidate: int = 0
    """Number of the chosen try, from 1. 0 means that no try was chosen, or the pass has no tries."""
    dropped: bool = False
    """Its changes are kept as a patch, and are not in the workspace."""
    ends: Reason | None = None
    """In a goal run with tries: the reason with which the run ends after this pass. None means that the verdict
    decides."""


class Sleeping(EventBase, frozen=True, kw_only=True):
    """The loop sleeps until its next pass."""

    seconds: float
    asked: float
    why: str
    warm_until: float | None = None
    """Unix time until which the prompt cache is warm."""
    until: float | None = None
    """Unix time of the run's own clock at which it continues."""
    moved: DelayMoved = ""
    warm_usd: float | None = None
    """Cost of reading the prompt while the cache is warm, or None if the price is unknown."""
    cold_usd: float | None = None
    """Cost of reading the prompt when the cache is cold."""


class Woken(EventBase, frozen=True, kw_only=True):
    """A sleep of the loop ended."""

    by: WokenBy
    slept: float = 0.0
    """Seconds."""


PassesEvent = PassStarted | PatchKept | PassKept | PassFinished | Sleeping | Woken
"""The events of this module."""
