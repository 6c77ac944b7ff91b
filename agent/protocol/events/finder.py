"""What a finder sees: items, findings, their fates."""

from __future__ import annotations

from .base import EventBase


class WorkStarted(EventBase, frozen=True, kw_only=True):
    """A worker took an order; the envelope's `work` names it."""

    kind: str
    """`item`, `lens`, `sceptic`, `critic`, `evidence` or `scan`."""
    about: str
    """The item's key, the lens's name, the key of the finding, or `scan`."""
    attempt: int = 1
    """Of an item or a lens: how often it was taken, this time included."""


class WorkFinished(EventBase, frozen=True, kw_only=True):
    kind: str
    about: str
    ok: bool
    """False: it failed, which is not the same as having found nothing."""
    new: int = 0
    """Keys of items and findings that nobody had seen."""
    known: int = 0
    """Keys that were seen before."""
    found_new: bool | None = None
    """The worker's own word for it, where it gave one; only keys count."""
    reason: str = ""
    error: str = ""
    interrupted: bool = False
    """It did not get to its end, and will be worked again; this counts as no failure."""
    set_aside: bool = False
    """It failed too often, or in a way that trying again cannot mend."""


class ItemQueued(EventBase, frozen=True, kw_only=True):
    key: str
    kind: str
    value: str
    source: str
    """Key of the item, name of the lens, `seed` or `person` that brought it."""
    reason: str
    """`seed`, `new`, `retry`, `regressed` or `person`."""
    attempts: int = 0
    """How often it failed."""
    due: float | None = None
    """Unix time before which it is not worked; None: at once."""
    was: str | None = None
    """What it was before, of one that was at rest: `done`, `set_aside`, `skipped`, or `waiting` to be tried again."""
    said: str = ""
    """What a person answered who did not accept the result of its suspect check."""


class ItemDuplicate(EventBase, frozen=True, kw_only=True):
    key: str
    source: str
    value: str = ""
    """As it was spelled this time; empty: as its key."""


class ItemFailed(EventBase, frozen=True, kw_only=True):
    key: str
    error: str
    attempts: int
    final: bool
    """It was set aside; else it is queued again."""
    content: str = ""
    """Digest of its file, where the item waits for a person to decide about its suspect check."""


class ItemSkipped(EventBase, frozen=True, kw_only=True):
    """A person does not want it worked."""

    key: str
    by: str = "person"
    was: str | None = None
    """`set_aside` where it had failed for good; else it waited in the queue."""


class FindingReported(EventBase, frozen=True, kw_only=True):
    key: str
    title: str
    detail: str = ""
    evidence: str = ""
    source: str = ""
    """Name of the lens or key of the item."""
    place: str = ""
    """The cited line, its file and its neighbours; empty: the evidence cites none."""
    may_repeat: str | None = None
    """Key of the finding that was reported there before, under another title: it counts once it is judged distinct."""


class VoteCast(EventBase, frozen=True, kw_only=True):
    """One sceptic's answer on a finding."""

    key: str
    by: str
    verdict: str
    """`refuted`, `stands` or `duplicate`."""
    reason: str = ""
    duplicate_of: str | None = None


class FindingJudged(EventBase, frozen=True, kw_only=True):
    key: str
    verdict: str
    """`confirmed` or `refuted`."""
    by: str
    """`sceptics`, `person`, or `none` where no sceptics were asked for."""
    reasons: list[str] = []
    stands: int = 0
    """Sceptics who failed to refute it."""
    votes: int = 0
    duplicate_of: str | None = None


class FindingReopened(EventBase, frozen=True, kw_only=True):
    """A person sent it back for evidence; it is judged anew after that."""

    key: str
    by: str = "person"
    reason: str = ""


class EvidenceAdded(EventBase, frozen=True, kw_only=True):
    key: str
    detail: str
    evidence: str = ""


class LensAdded(EventBase, frozen=True, kw_only=True):
    name: str
    prompt: str
    by: str
    """`spec`, `person` or `critic`."""
    model: str | None = None
    once: bool = False
    """It runs in one pass only."""


class CriticSpoke(EventBase, frozen=True, kw_only=True):
    """What the completeness critic says before an empty streak is trusted."""

    half: str
    """`code` or `model`."""
    lenses: list[str] = []
    """Those that have to run once more, or that it proposes."""
    text: str = ""


class LensBriefed(EventBase, frozen=True, kw_only=True):
    """What the prompt of a lens lists. Comes with the start of its work."""

    name: str
    shown: list[str] = []
    """Keys of findings."""
    leads: list[str] = []
    """Keys of items."""


class ScopeCounted(EventBase, frozen=True, kw_only=True):
    """The text files that the lenses may read: those that git does not ignore, or those that the search names."""

    files: int
    lines: int
    all_counted: bool = True
    """False: there are more; counting took too long."""


class ReadsPlaced(EventBase, frozen=True, kw_only=True):
    """Which files some paths mean that a lens read: a link leads to another file, an ignored file is out of scope."""

    paths: dict[str, str]
    """Path as it was named to the path of the file in scope; empty: it is not in scope."""
