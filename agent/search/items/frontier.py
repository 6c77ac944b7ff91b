"""What was seen and what still has to be worked, in the run's journal. Changes share the
transaction of their events.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ...journal.integrity.stored_faults import maintain_item_checksum
from .frontier_view import FINDING, MOVES, SCHEMA, FrontierView, legible, stored
from .item_keys import item_key, storable
from .item_state import Candidate, Item, Named, State, Surfaced

if TYPE_CHECKING:
    from ...journal.journal import Journal

__all__ = ["CHUNK", "Candidate", "Frontier", "Item", "State", "Surfaced", "in_chunks"]

CHUNK = 2_000
"""Candidates in one `surface`. Each chunk has its own transaction: a larger one blocks other writers for long."""

_REMEMBERED = 16_384
_SHORT = 256
"""Characters of the longest key that is cached."""

_INSERT = """
    INSERT INTO frontier(hash, key, kind, value, source, state, place, attempts) VALUES (?, ?, ?, ?, ?, ?, ?, 0)
"""
_LOOKUP = f"""
    SELECT key FROM frontier WHERE hash IN (SELECT value FROM json_each(?)) AND state != '{FINDING}'
"""
_LOCATE = "SELECT id, key, state FROM frontier WHERE hash = ?"
_FINISH = "UPDATE frontier SET state = 'done', due = NULL WHERE hash = ? AND key = ? AND state = 'working'"
_LENGTHEN = "UPDATE frontier_tally SET tail = tail + ?, queued = queued + ? RETURNING tail"
_OPEN = (State.QUEUED, State.WAITING, State.WORKING)

T = TypeVar("T", bound=Named)


def in_chunks(candidates: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """Return the candidates in lists of at most `size`; no lists if there are no candidates."""
    rest = iter(candidates)
    while chunk := list(islice(rest, size)):
        yield chunk


class Frontier(FrontierView):
    """The writable frontier. Only the runner has one.

    Each change is atomic and part of the journal transaction around it. A change that was made already does nothing, so
    a step that is repeated after a kill does no harm. The methods return whether they changed something.
    """

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self._recent: set[str] = set()
        """Keys of items that are in the table. Most links of a site lead to a few of its pages."""
        self._rollbacks = journal.rollbacks
        self._summed_at = -1

    def surface(self, candidates: Sequence[Named], source: str, root: Path) -> Surfaced:
        """Enter the candidates as seen and queue the new ones. Two spellings of one item count as one new and one known
        item.

        Takes at most CHUNK candidates (`in_chunks`). Relative paths start from `root`.
        """
        return self.surface_all([(candidates, source)], root)[0]

    def surface_all(self, batches: Sequence[tuple[Sequence[Named], str]], root: Path) -> list[Surfaced]:
        """Call `surface` for the candidates of several sources, in their order."""
        keys = [[item_key(one.kind, one.value, root) for one in candidates] for candidates, _ in batches]
        with self._writing():
            seen = self._seen_of([key for some in keys for key in some])
            surfaced = [
                _split_by_key(zip(some, candidates, strict=True), legible(source), seen)
                for some, (candidates, source) in zip(keys, batches, strict=True)
            ]
            self._enter([item for one in surfaced for item in one.new])
            self._recent.update(key for some in keys for key in some if len(key) <= _SHORT)
        return surfaced

    def note_finding(self, key: str) -> bool:
        """Enter a finding's key as seen. Returns whether it is new."""
        key = storable(key)
        with self._writing():
            if any(state == FINDING for _, state in self._located(key)):
                return False
            row = (self.hash_of(key), key, FINDING, None, "", FINDING, self._at_end(1))
            self._journal.rows(_INSERT, row)
            self._tally(finding=1)
        return True

    def check_out(self, n: int, now: float) -> list[Item]:
        """Take up to `n` `ready` items into work. Many together cost a third of the same number one by one."""
        with self._writing():
            items = self.ready(n, now)
            if items:
                due = sum(item.due is not None for item in items)
                rows = [(State.WORKING.value, self.hash_of(item.key), item.key) for item in items]
                self._journal.write("UPDATE frontier SET state = ?, due = NULL WHERE hash = ? AND key = ?", rows)
                self._tally(waiting=-due, queued=due - len(items), working=len(items))
        return items

    def take(self, keys: Sequence[str]) -> list[str]:
        """Take these items into work and return those that were queued."""
        with self._writing():
            return [key for key in keys if self._move(key, (State.QUEUED, State.WAITING), State.WORKING)]

    def finish(self, key: str) -> bool:
        """Mark an item as done. Returns False if it was not in work."""
        return self.finish_all([key]) == 1

    def finish_all(self, keys: Sequence[str]) -> int:
        """Mark these items as done and return how many of them were in work."""
        with self._writing():
            count = self._journal.write(_FINISH, [(self.hash_of(key), key) for key in keys])
            if count:
                self._tally(working=-count, done=count)
        return count

    def note_move(self, key: str, target: str) -> list[str]:
        """Record that an item only leads to another one.

        Returns the items of a circle of moves and those that lead into it, and deletes their moves. Empty without a
        circle.
        """
        with self._writing():
            self._journal.rows(MOVES)
            self._journal.rows("INSERT OR REPLACE INTO frontier_moves VALUES (?, ?)", (key, target))
            way = dict.fromkeys([key])
            while target not in way:
                way[target] = None
                rows = self._journal.rows("SELECT target FROM frontier_moves WHERE key = ?", (target,))
                if not rows:
                    return []
                (target,) = rows[0]
            self._journal.write("DELETE FROM frontier_moves WHERE key = ?", [(one,) for one in way])
        return list(way)

    def retry(self, key: str, error: str, due: float, attempts: int) -> bool:
        """Queue an item again that failed `attempts` times, for a time not before `due` (Unix time)."""
        columns = {"error": legible(error), "due": due, "attempts": attempts}
        return self._change(key, (State.WORKING,), State.WAITING, **columns)

    def set_aside(self, key: str, error: str, attempts: int) -> bool:
        """Mark an item as failed permanently: one that was in work, queued, or done and checked again."""
        columns = {"error": legible(error), "attempts": attempts}
        return self._change(key, (*_OPEN, State.DONE), State.SET_ASIDE, **columns)

    def skip(self, key: str) -> bool:
        """Skip an item for a person. If it is in work, its result changes nothing. Returns False if it is done."""
        return self._change(key, (*_OPEN, State.SET_ASIDE), State.SKIPPED)

    def requeue(self, key: str, source: str, *, attempts: int | None = None) -> bool:
        """Put an item at the end of the queue, unless it is in work or queued. `attempts`: None keeps their number."""
        before = (State.DONE, State.SET_ASIDE, State.SKIPPED, State.WAITING)
        with self._writing():
            if not any(state in before for _, state in self._located(key)):
                return False
            columns: dict[str, object] = {"source": legible(source), "place": self._at_end(1)}
            if attempts is not None:
                columns["attempts"] = attempts
            return self._move(key, before, State.QUEUED, **columns)

    def roll_back(self, keys: Iterable[str] | None = None) -> list[Item]:
        """Return those items that were in work to the front of the queue, in order.

        None means all, because their runner died.
        """
        wanted = None if keys is None else set(keys)
        with self._writing():
            items = [one for one in self._in_state(State.WORKING) if wanted is None or one.key in wanted]
            if items:
                moved = "UPDATE frontier_tally SET head = head - ? RETURNING head"
                (head,) = self._journal.rows(moved, (len(items),))[0]
                for place, item in enumerate(items, head + 1):
                    self._move(item.key, (State.WORKING,), State.QUEUED, place=place)
        return items

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        if self._journal.in_transaction:  # a savepoint of its own would cost as much as the work in it
            self._ensure_tables()
            yield
            return
        with self._journal.transaction():
            self._ensure_tables()
            yield

    def _ensure_tables(self) -> None:
        """Create the tables if they are missing."""
        if not self._exists():
            for statement in SCHEMA:
                self._journal.rows(statement)
        if self._summed_at != self._journal.rollbacks:  # a rollback removes the triggers too
            maintain_item_checksum(self._journal)
            self._summed_at = self._journal.rollbacks

    def _seen_of(self, keys: Sequence[str]) -> set[str]:
        """Return which of these keys are in the table."""
        recent = self._recent
        if len(recent) > _REMEMBERED or self._rollbacks != self._journal.rollbacks:
            self._rollbacks = self._journal.rollbacks
            recent.clear()
        unsure = [key for key in keys if key not in recent]
        seen = recent.intersection(keys)
        if unsure:
            hashes = msgspec.json.encode([self.hash_of(key) for key in unsure]).decode()
            seen.update(key for (key,) in self._journal.rows(_LOOKUP, (hashes,)))
        return seen

    def _enter(self, items: Sequence[Item]) -> None:
        if not items:
            return
        self._journal.write(_INSERT, self._as_rows(items, self._at_end(len(items), queued=len(items))))

    def _as_rows(self, items: Sequence[Item], place: int) -> Iterator[tuple[object, ...]]:
        for place_of, item in enumerate(items, place):
            value = None if item.value == item.key else stored(item.value)
            yield self.hash_of(item.key), item.key, item.kind, value, item.source, State.QUEUED.value, place_of

    def _at_end(self, n: int, queued: int = 0) -> int:
        """Reserve `n` new places at the end of the queue, count `queued` of them as queued, and
        return the first place.
        """
        (tail,) = self._journal.rows(_LENGTHEN, (n, queued))[0]
        return tail - n + 1

    def _located(self, key: str) -> list[tuple[int, str]]:
        """Return (id, state) of the item and of the finding with that key."""
        rows = self._journal.rows(_LOCATE, (self.hash_of(key),))
        return [(number, state) for number, stored, state in rows if stored == key]

    def _change(self, key: str, before: Sequence[State], state: State, **columns: object) -> bool:
        with self._writing():
            return self._move(key, before, state, **columns)

    def _move(self, key: str, before: Sequence[State], state: State, **columns: object) -> bool:
        """Change an item's state. Must run inside of `_writing`."""
        for number, was in self._located(key):
            if was in before:
                sets = {"due": None, **columns, "state": state.value}
                names = ", ".join(f"{name} = ?" for name in sets)
                self._journal.rows(f"UPDATE frontier SET {names} WHERE id = ?", (*sets.values(), number))
                self._tally(**{was: -1, state.value: 1})
                return True
        return False

    def _tally(self, **by: int) -> None:
        names = ", ".join(f"{name} = {name} + ?" for name in by)
        self._journal.rows(f"UPDATE frontier_tally SET {names}", tuple(by.values()))


def _split_by_key(keyed: Iterable[tuple[str, Named]], source: str, seen: set[str]) -> Surfaced:
    """Split candidates into new and known ones, and add the keys of the new ones to `seen`."""
    new: list[Item] = []
    known: list[tuple[str, str]] = []
    for key, one in keyed:
        if key in seen:
            known.append((key, one.value))
        else:
            seen.add(key)
            new.append(Item(key, one.kind, one.value, source))
    return Surfaced(new, known)
