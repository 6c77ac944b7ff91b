"""A workspace in memory that a run and its user change, and what `decide` says of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection

from rundry.agent.layers.layer_effects import Side
from rundry.agent.verdict.judge.decided import END, Decided, History, Step, Writer, decide
from rundry.agent.verdict.plants.inner_tests import with_old_tests


class Paths:
    """A scope of given paths."""

    def __init__(self, inside: Callable[[str], bool]) -> None:
        self._inside = inside

    def in_scope(self, path: str, *, new: bool) -> bool:
        return self._inside(path)

    def with_old_tests(self, path: str, old: str | None, new: str) -> str | None:
        return with_old_tests(path, old, new)


EVERYTHING, NOTHING = Paths(lambda _: True), Paths(lambda _: False)


def scope_of(*paths: str) -> Paths:
    return Paths(lambda path: path in paths)


def side_of(content: str | None, *, runs: bool = False) -> Side | None:
    """A text; `-> x` is a link to x."""
    if content is None:
        return None
    target = content.removeprefix("-> ")
    data = target.encode()
    kind = "file" if target == content else "link"
    return Side(type=kind, digest=hashlib.sha256(data).hexdigest(), size=len(data), executable=runs)


class Changing:
    """Files by path, and what was recorded of their changes."""

    def __init__(self, **files: str) -> None:
        self.now = {path.replace("__", "/"): side_of(text) for path, text in files.items()}
        self.steps = dict[str, list[Step]]()
        self.texts = dict[str, bytes]()
        self.accepted = dict[str, dict[str, bool]]()
        self.writers = list[Writer]()
        self.outputs, self.made, self.gone = set[str](), set[str](), set[str]()
        self.seq = 0
        self.lost = set[str]()
        """Contents that nothing has."""
        for text in files.values():
            self._keep(text)

    def _keep(self, text: str | None) -> None:
        if text is not None:
            data = text.removeprefix("-> ").encode()
            self.texts[hashlib.sha256(data).hexdigest()] = data

    def run(self, path: str, text: str | None, *, seen: bool = False, runs: bool = False) -> Changing:
        """The run changes a file. `seen`: a person approved that as a diff."""
        self.seq += 1
        self._keep(text)
        after = side_of(text, runs=runs)
        self.steps.setdefault(path, []).append(Step(self.now.get(path), after, self.seq, is_seen=seen))
        self.now[path] = after
        return self

    def user(self, path: str, text: str | None, *, runs: bool = False) -> Changing:
        """The user changes a file, which nothing records."""
        self._keep(text)
        self.now[path] = side_of(text, runs=runs)
        return self

    def undo(self, path: str) -> Changing:
        """An undo of the newest change of a file."""
        self.now[path] = self.steps[path].pop().before
        if not self.steps[path]:
            del self.steps[path]
        return self

    def move(self, old: str, new: str) -> Changing:
        """The run renames a file."""
        side = self.now[old]
        text = None if side is None else self.texts[side.digest].decode()
        return self.run(old, None).run(new, text)

    def writes(
        self, folder: str, why: str = "", *, ends: bool = False, paths: Collection[str] | None = None
    ) -> Changing:
        """A process of the run begins that can write a folder without a record. `paths`: all that it wrote."""
        self.seq += 1
        known = None if paths is None else frozenset(paths)
        self.writers.append(Writer(folder, self.seq, self.seq if ends else END, why, known))
        return self

    def accept(self, path: str, *, seen: bool = True) -> Changing:
        """A person accepts what is at a path now."""
        side = self.now.get(path)
        self.accepted.setdefault(path, {})["" if side is None else side.digest] = seen
        return self

    def text(self, path: str) -> str | None:
        side = self.now.get(path)
        return None if side is None else self._shown(side, self.texts.get(side.digest))

    def find(self, path: str, side: Side) -> bytes | None:
        return None if side.digest in self.lost else self.texts.get(side.digest)

    def history(self) -> History:
        return History(
            paths=self.steps,
            made=frozenset(self.made),
            gone=frozenset(self.gone),
            outputs=frozenset(self.outputs),
            writers=self.writers,
            accepted=self.accepted,
        )

    def decided(self, scope: Paths = NOTHING) -> Decided:
        return decide(self.history(), self.now, scope, self)

    def view(self, scope: Paths = NOTHING) -> dict[str, str]:
        """What the view has at each path, as text."""
        found = dict[str, str]()
        past = self.decided(scope).view
        for path in {*self.now, *past}:
            if path in past:
                side, data = past[path].side, past[path].data
            else:
                side, data = self.now[path], None
            if side is not None and side.type == "folder":
                found[path] = "/"
            elif side is not None:
                found[path] = self._shown(side, data or self.texts.get(side.digest))
        return found

    @staticmethod
    def _shown(side: Side, data: bytes | None) -> str:
        text = "?" if data is None else data.decode()
        return f"-> {text}" if side.type == "link" else f"{text}*" if side.executable else text


def undecided(decided: Decided) -> dict[str, str]:
    return {one.path: one.what for one in decided.undecided}


def lines(count: int, **changed: str) -> str:
    """A text of numbered lines; `l3="x"` changes the third."""
    return "".join(f"{changed.get(f'l{number}', f'line {number}')}\n" for number in range(1, count + 1))


def only(paths: Collection[str], view: dict[str, str]) -> dict[str, str | None]:
    return {path: view.get(path) for path in paths}
