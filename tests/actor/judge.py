"""Judge what changed while the user did nothing: each change was accepted, and is what a command of the model does."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .accepted import Accepted
from .commands import Deed
from .looking import Cell, Look, Looker, Value

_MARK = re.compile(rb"model \d+-\d+\.")
_OF_THE_USER = b"by the user "
_BY_THE_USER = re.compile(rb"by the \w+ \d+\.")
_BY_SED = re.compile(r"(.*/)?sed\w{6}$")
"""Names of the temporary files of `sed -i`, which are there for a moment if it writes in place."""
_OWN_COMMIT = "rundry pass"


@dataclass
class Window:
    """What a user saw right before and right after one thing that they did, while all else was stopped."""

    before: Look
    after: Look
    did: str


@dataclass
class Judge:
    """Judges one run."""

    looker: Looker
    accepted: Accepted
    deeds: Sequence[Deed]
    in_units: bool
    """What commands did is applied later, all together: of git only the end counts."""
    in_place: bool
    """Commands wrote into the workspace itself: what they did has no rows, and only what rundry does is judged."""
    changes: int = 0
    """How many changes were judged."""
    _belief: dict[Cell, Value] = field(default_factory=dict)
    """What each cell has to have until the user or something accepted changes it."""
    _since: dict[Cell, float] = field(default_factory=dict)
    """When the user changed a cell last."""
    _earlier: dict[Cell, list[tuple[float, Value | None]]] = field(default_factory=dict)
    """What each cell had before it was changed, and when that was seen, oldest first."""
    _lines: set[str] = field(default_factory=set)
    """Lines of reflogs that the user's commands wrote."""

    def wrong(self, windows: Sequence[Window]) -> list[str]:
        """Return a line for each change that nobody accepted. The first window's `before` is the start."""
        self._see(windows[0].before, windows[0].before)
        found = list[str]()
        for number, window in enumerate(windows):
            is_last = number == len(windows) - 1
            changed = sorted(
                cell
                for cell in {*self._belief, *window.before.cells}
                if self._belief.get(cell) != window.before.cells.get(cell)
            )
            for cell in changed:
                before, after = self._belief.get(cell), window.before.cells.get(cell)
                self.changes += 1
                why = self._why_not(cell, before, after, window.before.at)
                if not why:
                    self._set(cell, after, window.before.at)
                elif is_last or before is None or before[-1] not in window.before.aside:
                    then = windows[number - 1].did if number else "the start"
                    found.append(f"after {number} ({then}): {cell}: {self._said(cell, before, after)}: {why}")
                    self._set(cell, after, window.before.at)
                # Else what was there lies next to it: a write is under way, and its end counts.
            self._see(window.before, window.after)
        return [*found, *self._of_commits(), *_at_the_end(self.looker, windows[-1].before)]

    def _see(self, before: Look, after: Look) -> None:
        """Take over what the user did."""
        if not self._belief:
            self._belief = dict(before.cells)
            for cell, value in before.cells.items():
                self._lines.update(value if cell.kind == "log" else ())
        for cell in {*before.cells, *after.cells}:
            one, other = before.cells.get(cell), after.cells.get(cell)
            if one != other:
                self._set(cell, other, before.at)
                self._since[cell] = before.at
                if cell.kind == "log" and other is not None:
                    self._lines.update({*other} - {*(one or ())})

    def _set(self, cell: Cell, value: Value | None, at: float) -> None:
        self._earlier.setdefault(cell, []).append((at, self._belief.get(cell)))
        if value is None:
            self._belief.pop(cell, None)
        else:
            self._belief[cell] = value

    def _why_not(self, cell: Cell, before: Value | None, after: Value | None, at: float) -> str:
        """Return why a change is wrong, or an empty text if it is right."""
        match cell.kind:
            case "setting" | "flag":
                return "it is the user's alone"
            case "log":
                lost = {*(before or ())} & self._lines - {*(after or ())}
                return "lines of the user are gone" if lost else ""
            case "stash":
                return self._why_not_stash(before or (), after or ())
            case _:
                return self._why_not_accepted(cell, before, after, at)

    def _why_not_accepted(self, cell: Cell, before: Value | None, after: Value | None, at: float) -> str:
        if not cell.name.startswith("refs/rundry/"):
            edges = self.accepted.allows(cell, before, after, at)
            if edges is None and not self.in_place:
                return "nobody accepted it"
            if any(edge.is_undo for edge in edges or ()):
                return ""
        return "" if self._is_explained(cell, before, after) else "no command did that"

    def _is_explained(self, cell: Cell, before: Value | None, after: Value | None) -> bool:
        match cell.kind:
            case "file":
                return self._is_of_a_command(cell, before, after)
            case "index":
                return self._is_staged(cell, before, after)
            case "ref" if not self.in_place and not self.in_units:
                made = (deed for deed in self.deeds if deed.commits or _covers(deed.names, cell.name))
                return any(self._saw(deed, cell) for deed in made)
            case "ref" | "head" if self.in_place:
                return self._is_moved(cell, before, after)
            case "state" if self.in_place:  # a commit of a command in the middle of the user's rebase
                return any(deed.commits for deed in self.deeds)
            case _:
                return True

    def _why_not_stash(self, before: Value, after: Value) -> str:
        gone = [one for one in before if one not in after and one not in self.accepted.dropped]
        kept = [one for one in before if one in after]
        if gone:
            return "entries are gone"
        if kept != [one for one in after if one in before]:
            return "its order changed"
        fresh = {*after} - {*before} - self.accepted.stashed
        return "nobody accepted a new entry" if fresh else ""

    def _is_of_a_command(self, cell: Cell, before: Value | None, after: Value | None) -> bool:
        path = cell.name
        if self._does("restores", cell):
            return True
        if after is None:
            return self._does("deletes", cell) or (self.in_place and bool(_BY_SED.match(path)))
        one, other = self._content(before), self._content(after)
        if self._is_written(cell, one, other):
            return True
        if before is not None and one == other and before[0] == after[0] and self._does("modes", cell):
            return True
        if not self.in_place:
            return False
        is_rolled_back = bool(_MARK.search(one)) and after in [value for _, value in self._earlier.get(cell, ())]
        return is_rolled_back or bool(_BY_SED.match(path))

    def _is_staged(self, cell: Cell, before: Value | None, after: Value | None) -> bool:
        if any(self._does(kind, cell) for kind in ("stages", "restores", "modes")):
            return True
        if after is None:
            return self._does("deletes", cell)
        one = b"" if before is None else self._blob(before)
        return self._is_written(cell, one, self._blob(after))

    def _is_written(self, cell: Cell, before: bytes, after: bytes) -> bool:
        """Return whether it has a mark of a command that writes this path, more often than before."""
        fresh = Counter(_MARK.findall(after)) - Counter(_MARK.findall(before))
        deeds = [one for one in self.deeds if one.mark.encode() in fresh and _covers(one.writes, cell.name)]
        has_all = {*_BY_THE_USER.findall(before)} <= {*_BY_THE_USER.findall(after)}
        return bool(deeds) and (has_all or any(self._saw(deed, cell) for deed in deeds))

    def _is_moved(self, cell: Cell, before: Value | None, after: Value | None) -> bool:
        if after is None or " " in after[0]:
            return False
        if before is None or " " in before[0]:
            return self._does("names", cell)
        log = self.looker.git("log", "--format=%an %s", f"{before[0]}..{after[0]}").decode().splitlines()
        known = all(line.startswith("model ") or _OWN_COMMIT in line for line in log)
        return bool(log) and known and self._is_ancestor(before[0], after[0])

    def _is_ancestor(self, one: str, other: str) -> bool:
        try:
            self.looker.git("merge-base", "--is-ancestor", one, other)
        except subprocess.CalledProcessError:
            return False
        return True

    def _does(self, kind: str, cell: Cell) -> bool:
        return any(_covers(getattr(deed, kind), cell.name) and self._saw(deed, cell) for deed in self.deeds)

    def _saw(self, deed: Deed, cell: Cell) -> bool:
        """Return whether a command began after the user left a cell as it is, as far as this is known."""
        if self.in_place or (self.in_units and cell.kind != "file"):
            return True
        since = self._since.get(cell, 0.0)
        return self.accepted.began.get(deed.mark, since) >= since

    def _content(self, value: Value | None) -> bytes:
        return b"" if value is None else self.looker.contents[value[-1]]

    def _blob(self, value: Value) -> bytes:
        return b"".join(self.looker.blob(name) for name in value[2::3])

    def _of_commits(self) -> Iterator[str]:
        """Find lines of the user in commits of passes, which have the changes of the pass alone."""
        out = self.looker.git("log", "--all", "--format=%H", f"--grep=^{_OWN_COMMIT}", "--author=.")
        for commit in out.decode().split():
            diff = self.looker.git("show", "--format=", "--first-parent", commit)
            if any(line.startswith(b"+") and _OF_THE_USER in line for line in diff.splitlines()):
                yield f"a commit of a pass has lines of the user: {commit[:9]}"

    def _said(self, cell: Cell, before: Value | None, after: Value | None) -> str:
        return f"{self._shown(cell, before)} -> {self._shown(cell, after)}"

    def _shown(self, cell: Cell, value: Value | None) -> str:
        if value is None:
            return "nothing"
        if cell.kind == "log":
            return f"{len(value)} lines"
        if cell.kind not in ("file", "state", "setting"):
            return " ".join(word[:9] for word in value) or "nothing"
        text = self.looker.contents[value[-1]].decode(errors="replace").splitlines()
        marks = [line[-40:] for line in text if line.startswith(("by the ", "model ", "new ", "broken "))]
        return repr(" | ".join(marks or [line[:30] for line in text[:1]])) + " ".join(value[:-1])


def _covers(paths: Sequence[str], path: str) -> bool:
    return any(one in ("", path) or (one.endswith("/") and path.startswith(one)) for one in paths)


def _at_the_end(looker: Looker, last: Look) -> Iterator[str]:
    if last.aside:
        yield f"{len(last.aside)} temporary files are left in the workspace"
    for name in last.locks:
        yield f".git/{name} is left"
    try:
        looker.git("fsck", "--no-dangling", "--no-progress")
    except subprocess.CalledProcessError as error:
        yield f"git fsck: {error.stderr.decode(errors='replace').strip()[:300]}"
