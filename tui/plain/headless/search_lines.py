"""Lines of `--headless` about a search.

Without a model they are few, however many items there are. Does not import textual.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from os.path import relpath

from rundry.agent import (
    Block,
    CriticSpoke,
    DiffCut,
    FindingJudged,
    FindingReported,
    ItemFailed,
    LensAdded,
    PassFinished,
    RunEnded,
    Stamped,
    StepStarted,
    Undone,
    ViewState,
    WorkersSeen,
    WorkFinished,
    WorkStarted,
    diff_words,
    failure_kind,
    plural,
    tree_and_key,
)

EVERY = 1.0
"""Seconds between two lines about passes without a model."""
NAMED = 20
"""Number of failures, or of kinds of them, that are listed; the journal has all."""
NAMED_OF_KIND = 2
"""Number of items that the line of one kind of failure names."""


@dataclass(slots=True)
class _Failures:
    """Items that failed permanently with the same kind of error."""

    count: int = 0
    named: list[str] = field(default_factory=list[str])

    def add(self, item: str) -> None:
        """Count an item, and name it if few of its kind are named yet."""
        self.count += 1
        if len(self.named) < NAMED_OF_KIND:
            self.named.append(item)

    @property
    def words(self) -> str:
        """The number of items, and the names of the first ones."""
        more = self.count - len(self.named)
        return f"{plural(self.count, 'item')} ({', '.join(self.named)}{f' and {more:,} more' if more else ''})"


class SearchLines:
    """The lines for each event, after the state of the view took it in."""

    def __init__(self, state: ViewState) -> None:
        self._state = state
        self._first: dict[str | None, int] = {}
        """Work to the index of the first block of its step."""
        self._said_at = 0.0
        self._named = 0
        self._refused: set[str] = set()
        """Names of workers of a cluster whose refusal was printed."""
        self._kinds: dict[str, _Failures] = {}
        """Failures of items that a model does not work, by what they have in common."""

    def of(self, stamped: Stamped) -> Iterator[str]:
        """Yield the lines for an event, often none."""
        event, state = stamped.event, self._state
        match event:
            case StepStarted():
                self._first[stamped.work] = len(state.blocks)
            case WorkStarted(kind="scan"):
                yield "scan  checking every file"
            case WorkFinished(kind="scan", interrupted=False):
                yield f"scan  {event.error or event.reason}"
            case WorkFinished(kind="item", ok=True) if self._is_migration:
                yield f"done  {self._shown(event.about)}: {event.reason}  [{self._left()}]"
            case ItemFailed() | RunEnded():
                yield from self._failed(event)
            case PassFinished():
                yield from self._passed(stamped, event)
            case FindingReported() if self._has_model:
                yield f"found  {event.title}" + (f" ({event.evidence})" if event.evidence else "")
            case FindingJudged() if self._has_model:
                known = state.finder.findings.get(event.key) if state.finder is not None else None
                votes = f" by {event.stands} of {event.votes}" if event.votes else f" by {event.by}"
                word = "kept without verdict" if event.by == "none" else event.verdict
                votes = "" if event.by == "none" else votes
                yield f"{word}  {known.title if known is not None else event.key}{votes}"
            case DiffCut():
                yield diff_words(event)
            case LensAdded() | CriticSpoke() | WorkersSeen():
                yield from self._joined(event)
            case Undone(by="program"):
                yield from _rolled_back(event)
            case _:
                pass

    def step_blocks(self, stamped: Stamped) -> list[Block] | None:
        """Return the blocks of one work's step, without those of other works.

        None: there is nothing to print about it.
        """
        start = self._first.pop(stamped.work, None)
        if start is None or not self._has_model:  # a dead runner began it, or it has no model
            return None
        return [
            block for block in self._state.blocks[max(start, self._state.blocks.first) :] if block.work == stamped.work
        ]

    def who(self, stamped: Stamped) -> str:
        """Return the lens, the file or the finding that a step was about."""
        if (found := tree_and_key(stamped.work)) is not None:
            return f"{self._shown(found[1])} (worktree {found[0]})"
        kind, _, about = (stamped.work or "").partition(":")
        match kind:
            case "lens" | "item":
                return self._shown(about)
            case "sceptic" | "evidence":
                known = self._state.finder.findings.get(about.rpartition("#")[0]) if self._state.finder else None
                return f"{kind} on {known.title if known is not None else about}"
            case _:
                return kind.partition("#")[0]

    def _joined(self, event: LensAdded | CriticSpoke | WorkersSeen) -> list[str]:
        """Return the lines about a lens, the critic, a lost cluster, or workers of it that are refused."""
        if isinstance(event, LensAdded):
            return [f"lens {event.name}, by {event.by}: {event.prompt}"]
        if isinstance(event, CriticSpoke):
            return [f"critic  {event.text}"]
        if event.lost:
            return [f"cluster  {event.lost}"]
        fresh = [one for one in event.workers if one.refused and one.name not in self._refused]
        self._refused |= {one.name for one in fresh}
        return [f"worker  {one.name} is not used: {one.refused}" for one in fresh]

    @property
    def _has_model(self) -> bool:
        return self._state.model != "none"

    @property
    def _is_migration(self) -> bool:
        return self._state.search is not None and self._state.search.check is not None

    def _shown(self, key: str) -> str:
        """Return the path of a file relative to the workspace."""
        root = self._state.workspace
        return relpath(key, root) if root and key.startswith(f"{root}/") else key

    def _left(self) -> str:
        facts = self._state.finder
        return f"{facts.queued:,} left" if facts is not None else ""

    def _failed(self, event: ItemFailed | RunEnded) -> Iterator[str]:
        """Yield a line for a failure that a model sees, and at the end one for each kind of the others."""
        if isinstance(event, RunEnded):
            yield from (f"failed permanently  {kind}: {found.words}" for kind, found in self._kinds.items())
            self._kinds.clear()
            return
        if not self._has_model and not self._is_migration:
            if event.final:  # else it is tried again, and the line of the pass counts it
                kind = failure_kind(event.error)
                kind = kind if kind in self._kinds or len(self._kinds) < NAMED else "other failures"
                self._kinds.setdefault(kind, _Failures()).add(self._shown(event.key))
            return
        if not event.final and not self._has_model:
            return
        self._named += 1
        if self._named <= NAMED:
            yield f"{'failed permanently' if event.final else 'failed'}  {self._shown(event.key)}: {event.error}"
        elif self._named == NAMED + 1:
            yield "more failures are not listed here: the journal has all of them"

    def _passed(self, stamped: Stamped, event: PassFinished) -> Iterator[str]:
        facts = self._state.finder
        if facts is None or self._is_migration:
            return
        if facts.lenses:
            yield f"pass {event.number}  {event.new:,} new; {event.dry_streak} of {event.dry_passes} dry passes"
        elif self._has_model or stamped.at - self._said_at >= EVERY:
            self._said_at = stamped.at
            counts = [f"{facts.done:,} done", f"{facts.queued:,} in the queue", f"{facts.seen:,} seen"]
            if facts.findings:
                counts.append(plural(len(facts.findings), "finding"))
            rare = ((facts.retries, "retried"), (facts.set_aside, "failed permanently"))
            counts += [f"{count:,} {what}" for count, what in rare if count]
            yield f"pass {event.number}  {', '.join(counts)}"


def _rolled_back(event: Undone) -> Iterator[str]:
    if event.files:
        yield f"rolled back after the runner stopped: {', '.join(event.files)}"
    for line in event.kept:
        yield f"left unchanged: {line}"
