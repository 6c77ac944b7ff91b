"""Events of a finder: work, items, findings and verdicts."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..finder_settings import ItemKind
from ..reviewed_diff import Relation
from .base import EventBase

WorkKind = Literal[
    "main",  # a step of the run's main conversation
    "begin",  # a pass starts; it calls no model, like `close` and `measure`
    "close",
    "measure",
    "try",  # one of several tries of a pass
    "child",  # a run of its own
    "item",  # in a search, like those below
    "lens",
    "sceptic",  # a verifier
    "critic",
    "evidence",
    "scan",  # the check of a migration, on all files
]
"""What a work order does. `WorkStarted` and `WorkFinished` have only those of a search."""
QueueReason = Literal["seed", "new", "retry", "regressed", "person"]
WasState = Literal["done", "set_aside", "skipped", "waiting", "queued", "working"]
"""Earlier state of an item."""
Vote = Literal["refuted", "stands", "duplicate"]
Judgement = Literal["confirmed", "refuted"]
"""The verdict on a finding."""
JudgedBy = Literal["sceptics", "person", "none"]
"""The judge of a finding; `none`: the run has no verifiers."""
Unread = Literal["", "robots", "no_page", "elsewhere"]
"""Why a page of a crawl was not read although it did not fail: robots.txt forbids it, it is not HTML, or it redirects
to another host."""
LensOrigin = Literal["spec", "person", "critic"]
CriticHalf = Literal["code", "model"]


class WorkStarted(EventBase, frozen=True, kw_only=True):
    """A worker started a work order; `work` in the envelope names it."""

    kind: WorkKind
    about: str
    """Key of the item, name of the lens, key of the finding, or `scan`."""
    attempt: int = 1
    """For an item or a lens: the number of this attempt, from 1."""


class WorkFinished(EventBase, frozen=True, kw_only=True):
    """A work order of the loop ended."""

    kind: WorkKind
    about: str
    ok: bool
    """False means that the work failed, which differs from finding nothing."""
    new: int = 0
    """Number of keys of items and findings that are new to the run."""
    known: int = 0
    """Number of keys that the run already knew."""
    found_new: bool | None = None
    """Whether the worker itself claims to have found something new, if it said so; only keys count."""
    reason: str = ""
    unread: Unread = ""
    dropped: int = 0
    """Number of findings in the report that were dropped, because their place does not exist."""
    error: str = ""
    interrupted: bool = False
    """The work was interrupted and will be repeated; this does not count as a failure."""
    set_aside: bool = False
    """The work failed permanently: too often, or in a way that another attempt cannot fix."""


class ClusterWorker(msgspec.Struct, frozen=True, kw_only=True):
    """One worker of a Dask cluster at a moment."""

    name: str
    """Its address without the protocol."""
    threads: int
    batches: int = 0
    """Number of batches that it works or that wait there; each thread works one."""
    items: int = 0
    """Number of items in these batches."""
    doing: str = ""
    """One of these items."""
    cpu: float = 0.0
    """Load of its process, in per cent of one core."""
    memory: int = 0
    """Bytes."""
    refused: str = ""
    """Why it gets no items: it joined with other versions, or cannot hold what the runner holds. Empty means that it is
    used."""


class WorkersSeen(EventBase, frozen=True, kw_only=True):
    """The workers of the cluster came, went, or have another load. Recorded at most every two seconds."""

    workers: list[ClusterWorker]
    """Empty means that the scheduler does not answer, or it has no workers."""
    lost: str = ""
    """Why the connection to the scheduler was lost, once for each loss. What was not worked is sent again."""


class ItemQueued(EventBase, frozen=True, kw_only=True):
    """A new item was added to the frontier."""

    key: str
    kind: ItemKind
    value: str
    source: str
    """What reported the item: the key of an item, the name of a lens, `seed` or `person`."""
    reason: QueueReason
    attempts: int = 0
    """Number of failed attempts."""
    due: float | None = None
    """Unix time before which the item must not start. None means that it can start immediately."""
    was: WasState | None = None
    """Earlier state, if the item was not queued."""
    said: str = ""
    """The answer of a person who did not accept the result of the item's suspect check."""


class ItemDuplicate(EventBase, frozen=True, kw_only=True):
    """An item was not queued because its key was seen before."""

    key: str
    source: str
    value: str = ""
    """The value as spelled this time. Empty means same as the key."""


class ItemFailed(EventBase, frozen=True, kw_only=True):
    """Working an item failed; it is tried again unless `final` is set."""

    key: str
    error: str
    attempts: int
    final: bool
    """Whether the item failed permanently. False means that it is queued again."""
    content: str = ""
    """Digest of the item's file, if the item waits for a person's decision about its suspect check."""


class ItemSkipped(EventBase, frozen=True, kw_only=True):
    """A person skipped the item."""

    key: str
    by: str = "person"
    was: WasState | None = None
    """Set if the item had failed permanently; otherwise it was in the queue."""


class FindingReported(EventBase, frozen=True, kw_only=True):
    """A worker or a lens reported a finding with a new key."""

    key: str
    title: str
    detail: str = ""
    evidence: str = ""
    source: str = ""
    """Name of the lens or key of the item that reported the finding."""
    place: str = ""
    """The cited line, its file and the surrounding lines. Empty means the evidence cites no line."""
    may_repeat: str | None = None
    """Key of a finding with another title at the same place. This one counts only after it is judged distinct."""
    relation: Relation = ""
    """In a review: whether the diff changed the place, affects it, or neither."""


class VoteCast(EventBase, frozen=True, kw_only=True):
    """One verifier's answer about a finding."""

    key: str
    by: str
    verdict: Vote
    reason: str = ""
    duplicate_of: str | None = None


class FindingJudged(EventBase, frozen=True, kw_only=True):
    """A finding got its verdict."""

    key: str
    verdict: Judgement
    by: JudgedBy
    reasons: list[str] = []
    stands: int = 0
    """Number of verifiers that could not refute the finding."""
    votes: int = 0
    duplicate_of: str | None = None


class FindingReopened(EventBase, frozen=True, kw_only=True):
    """A person asked for more evidence; after that the finding is judged again."""

    key: str
    by: str = "person"
    reason: str = ""


class EvidenceAdded(EventBase, frozen=True, kw_only=True):
    """More evidence was added to a finding."""

    key: str
    detail: str
    evidence: str = ""


class LensAdded(EventBase, frozen=True, kw_only=True):
    """A lens was added to the search."""

    name: str
    prompt: str
    by: LensOrigin
    model: str | None = None
    once: bool = False
    """The lens runs in one pass only."""
    part: int = 1
    """In a review: the part of the diff that it gets, from 1."""


class CriticSpoke(EventBase, frozen=True, kw_only=True):
    """The result of the completeness critic, which checks that passes with nothing new can be trusted."""

    half: CriticHalf
    lenses: list[str] = []
    """Lenses that must run once more, or that the critic proposes."""
    text: str = ""


class LensBriefed(EventBase, frozen=True, kw_only=True):
    """The findings and leads in the prompt of a lens. Recorded at the start of its work."""

    name: str
    shown: list[str] = []
    """Keys of findings."""
    leads: list[str] = []
    """Keys of items."""


class ScopeCounted(EventBase, frozen=True, kw_only=True):
    """The text files that lenses may read: the files that git does not ignore, or those that the search names."""

    files: int
    lines: int
    all_counted: bool = True
    """False means that there are more files, but counting took too long."""


class ReadsPlaced(EventBase, frozen=True, kw_only=True):
    """Maps paths that a lens read to files in scope: a link leads to another file, an ignored file is out of scope."""

    paths: dict[str, str]
    """Path as the lens named it to the path of the file in scope. Empty means that the file is not in scope."""


class DiffCut(EventBase, frozen=True, kw_only=True):
    """The diff of a review was cut into parts that fit the model's window. Each lens gets each part."""

    what: str
    files: int
    """Number of files that are shown."""
    parts: int
    characters: int
    """Maximum number of characters of a part."""
    left_out: list[str] = []
    """Files that are not shown, each with the reason."""


FinderEvent = (
    WorkStarted
    | WorkFinished
    | ItemQueued
    | ItemDuplicate
    | ItemFailed
    | FindingReported
    | FindingJudged
    | ItemSkipped
    | VoteCast
    | FindingReopened
    | EvidenceAdded
    | LensAdded
    | CriticSpoke
    | LensBriefed
    | ScopeCounted
    | ReadsPlaced
    | WorkersSeen
    | DiffCut
)
"""The events of this module."""
