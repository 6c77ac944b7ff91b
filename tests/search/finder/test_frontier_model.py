"""The frontier does what a plain model of it does, in any order of calls, closed and opened again at any point."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from fakes.in_process.journals import make_journal
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sampling import examples

from rundry.agent.journal.journal import Journal
from rundry.agent.search.items.frontier import Frontier
from rundry.agent.search.items.frontier_view import FrontierView
from rundry.agent.search.items.item_state import Candidate, Counts, Item, State

ROOT = Path("/nowhere")
KEYS = [f"k{n}" for n in range(8)]
key = st.sampled_from(KEYS)
keys = st.lists(key, max_size=5)
time = st.integers(0, 20).map(float)
source = st.sampled_from(["seed", "a lens"])


def collide(text: str) -> int:
    """A hash so weak that most keys share theirs."""
    return len(text) * 3 + ord(text[-1]) % 3


class CollidingView(FrontierView):
    def hash_of(self, key: str) -> int:
        return collide(key)


class Colliding(Frontier):
    def hash_of(self, key: str) -> int:
        return collide(key)


@dataclass(frozen=True)
class Known:
    """One item as the model holds it."""

    item: Item
    state: State = State.QUEUED
    error: str = ""


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "runs" / "run.db"
        self.journal = make_journal(self.path)
        self.frontier = Colliding(self.journal)
        self.beside = Journal.open(self.path)
        self.view = CollidingView(self.beside)
        self.known: dict[str, Known] = {}
        self.line: list[str] = []
        self.findings: set[str] = set()

    def teardown(self) -> None:
        self.beside.close()
        self.journal.close()
        self.folder.cleanup()

    def move(self, name: str, before: set[State], state: State, error: str | None = None, **told: object) -> bool:
        """What should come of it."""
        if name not in self.known or self.known[name].state not in before:
            return False
        was = self.known[name]
        item = Item(**{**{f: getattr(was.item, f) for f in Item.__struct_fields__}, "due": None, **told})
        self.known[name] = replace(was, item=item, state=state, error=was.error if error is None else error)
        return True

    @rule(names=keys, spelled=st.sampled_from(["", " "]), source=source, fails=st.booleans())
    def surface(self, names: list[str], spelled: str, source: str, fails: bool) -> None:
        told = [Candidate("value", name + spelled) for name in names]
        try:
            with self.journal.transaction():
                surfaced = self.frontier.surface(told, source, ROOT)
                if fails:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            return
        new = [name for n, name in enumerate(names) if name not in self.known and name not in names[:n]]
        assert [item.key for item in surfaced.new] == new
        assert len(surfaced.known) == len(names) - len(new)
        for name in new:
            self.known[name] = Known(Item(name, "value", name + spelled, source))
            self.line.append(name)

    @rule(name=key)
    def note_finding(self, name: str) -> None:
        assert self.frontier.note_finding(name) is (name not in self.findings)
        self.findings.add(name)

    @rule(names=keys)
    def take(self, names: list[str]) -> None:
        expected = [name for name in names if self.move(name, {State.QUEUED, State.WAITING}, State.WORKING)]
        assert self.frontier.take(names) == expected

    @rule(n=st.integers(1, 3), now=time)
    def take_what_is_ready(self, n: int, now: float) -> None:
        for item in self.frontier.ready(n, now):
            self.take([item.key])

    @rule(name=key)
    def finish(self, name: str) -> None:
        assert self.frontier.finish(name) is self.move(name, {State.WORKING}, State.DONE)

    @rule(name=key, due=time, attempts=st.integers(1, 3))
    def retry(self, name: str, due: float, attempts: int) -> None:
        moved = self.move(name, {State.WORKING}, State.WAITING, "boo", due=due, attempts=attempts)
        assert self.frontier.retry(name, "boo", due, attempts) is moved

    @rule(name=key)
    def set_aside(self, name: str) -> None:
        before = {State.QUEUED, State.WAITING, State.WORKING, State.DONE}
        assert self.frontier.set_aside(name, "gone", 4) is self.move(name, before, State.SET_ASIDE, "gone", attempts=4)

    @rule(name=key)
    def skip(self, name: str) -> None:
        before = {State.QUEUED, State.WAITING, State.WORKING, State.SET_ASIDE}
        assert self.frontier.skip(name) is self.move(name, before, State.SKIPPED)

    @rule(name=key, source=source, attempts=st.none() | st.integers(0, 3))
    def requeue(self, name: str, source: str, attempts: int | None) -> None:
        before = {State.DONE, State.SET_ASIDE, State.SKIPPED, State.WAITING}
        told = {"source": source} | ({} if attempts is None else {"attempts": attempts})
        moved = self.move(name, before, State.QUEUED, **told)
        assert self.frontier.requeue(name, source, attempts=attempts) is moved
        if moved:
            self.line.remove(name)
            self.line.append(name)

    @rule(only=st.none() | st.sets(key))
    def roll_back(self, only: set[str] | None) -> None:
        names = [n for n in self.line if self.known[n].state is State.WORKING and (only is None or n in only)]
        assert [item.key for item in self.frontier.roll_back(only)] == names
        for name in names:
            self.move(name, {State.WORKING}, State.QUEUED)
        self.line = names + [name for name in self.line if name not in names]

    @rule()
    def close_and_open(self) -> None:
        self.journal.close()
        self.journal = Journal.open(self.path)
        self.frontier = Colliding(self.journal)

    @invariant()
    def counts_are_those_of_the_model(self) -> None:
        having = [known.state for known in self.known.values()]
        expected = Counts(
            queued=having.count(State.QUEUED) + having.count(State.WAITING),
            waiting=having.count(State.WAITING),
            working=having.count(State.WORKING),
            done=having.count(State.DONE),
            set_aside=having.count(State.SET_ASIDE),
            skipped=having.count(State.SKIPPED),
            findings=len(self.findings),
        )
        assert self.frontier.counts() == self.view.counts() == expected
        assert expected.seen == len(self.known)

    @invariant()
    def what_is_ready_is_what_the_model_says(self) -> None:
        waiting = [known.item for known in self.known.values() if known.state is State.WAITING]
        waiting.sort(key=lambda item: item.due or 0.0)  # stable: those of one time by when they surfaced
        queued = [self.known[name].item for name in self.line if self.known[name].state is State.QUEUED]
        for now in (0.0, 10.0, 20.0):
            due = [item for item in waiting if (item.due or 0.0) <= now]
            assert self.view.ready(100, now) == due + queued
            assert self.view.ready(3, now) == (due + queued)[:3]
            later = [item.due for item in waiting if (item.due or 0.0) > now]
            assert self.view.next_due(now) == min(later, default=None)

    @invariant()
    def each_item_is_on_the_page_of_its_state_alone(self) -> None:
        for state in State:
            rows = self.view.page(state, limit=3)
            while len(rows) % 3 == 0 and (
                more := self.view.page(state, after=rows[-1].number, limit=3) if rows else []
            ):
                rows += more
            expected = [self.known[name] for name in self.line if self.known[name].state is state]
            assert [row.key for row in rows] == [known.item.key for known in expected]
            for row, known in zip(rows, expected, strict=True):
                assert (row.error, row.attempts, row.source) == (known.error, known.item.attempts, known.item.source)
                assert self.view.find(row.key) == row
        assert self.view.set_aside_keys() == [n for n in self.line if self.known[n].state is State.SET_ASIDE]


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)
