"""What the scripted model does: command lines that write, delete and commit, each with a mark, and edits."""

from __future__ import annotations

import json
import random
import re
import threading
from dataclasses import dataclass, field
from typing import Any

from fakes.models.stateless_server import answered
from fakes.turns import Turn, call, finish

from .user import BOTH, ITEMS

LOOPS = ("goal", "interval", "improve", "migrate", "tries", "chat")
_GIT = "git -c user.name=model -c user.email=m@example.org -c commit.gpgsign=false"
_MOST = 5
"""Answers of the model before it ends a pass or says that it is done."""


@dataclass(frozen=True)
class Deed:
    """What one command may do. Paths end with `/` if all below them is meant."""

    mark: str
    """Words that are in all that it writes."""
    writes: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    restores: tuple[str, ...] = ()
    """Paths that get an earlier content back."""
    stages: tuple[str, ...] = ()
    """Paths whose content goes to the index; `""`: all."""
    names: tuple[str, ...] = ()
    """Refs that it makes."""
    commits: bool = False


@dataclass
class Model:
    """A model that answers by a seed. What it asked for is in `deeds`."""

    seed: int
    loop: str
    in_place: bool
    """Commands write into the workspace itself, so none of them may touch all files at once."""
    deeds: list[Deed] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._chance = random.Random(f"model {self.seed}")

    def answer(self, body: dict[str, Any]) -> Turn:
        """Answer a request. Nothing is written twice with the same mark, also if a request comes again."""
        with self._lock:
            mark = f"model {self.seed}-{len(self.deeds)}."
            turn, deed = self._act(body, mark)
            self.deeds.append(deed)
            return turn

    def _act(self, body: dict[str, Any], mark: str) -> tuple[Turn, Deed]:
        count = answered(body)
        ends = count >= _MOST or (self.loop in ("interval", "improve") and count % 3 == 2)
        if self.loop == "migrate":
            text = json.dumps(body["messages"])
            named = re.search(r"The file: (items/[\w.-]+)", text)
            item = named[1].rstrip(".") if named else ITEMS[0]
            if count:
                line = f"sleep 0.1; echo '{mark}' > {item}.made; echo 'new {mark}' >> {item}"
                return _run(mark, line), Deed(mark, (item, f"{item}.made"))
            return self._command(mark)
        if self.loop == "improve" and count % 3 == 0:
            return _run(mark, self._shorter(mark)), Deed(mark, ("gen/size.txt",))
        if not ends:
            return self._command(mark)
        if self.loop in ("goal", "tries") and count <= _MOST + 1:
            return _run(mark, f"echo '{mark}' > gen/done.txt"), Deed(mark, ("gen/done.txt",))
        if self.loop == "chat":
            return Turn(text=f"That is all {mark}"), Deed(mark)
        return finish(f"looked {mark}", "gen/size.txt"), Deed(mark)

    def _command(self, mark: str) -> tuple[Turn, Deed]:
        if self._chance.random() < 0.2:
            name = f"gen/edit-{len(self.deeds)}.txt"
            return call("write_file", path=name, content=f"{mark}\n"), Deed(mark, (name,))
        parts = [self._line(mark) for _ in range(self._chance.choice([1, 1, 2, 3]))]
        wait = f"sleep {self._chance.choice([0, 0.05, 0.15])}"
        line = f"{wait}; " + f"; {wait}; ".join(line for line, _ in parts)
        line += f"; sleep {self._chance.choice([0, 0.15, 0.6])}"
        deeds = [deed for _, deed in parts]
        joined = Deed(
            mark,
            *(
                tuple(path for deed in deeds for path in getattr(deed, name))
                for name in ("writes", "deletes", "modes", "restores", "stages", "names")
            ),
            commits=any(deed.commits for deed in deeds),
        )
        return _run(mark, line), joined

    def _line(self, mark: str) -> tuple[str, Deed]:
        path, fresh = self._chance.choice(BOTH), f"gen/n{len(self.deeds)}.txt"
        name = f"model-{len(self.deeds)}"
        narrow: list[tuple[int, str, Deed]] = [
            (4, f"echo '{mark}' > {path}", Deed(mark, (path,))),
            (4, f"echo '{mark}' >> {path}", Deed(mark, (path,))),
            (2, f"sed -i '1i {mark}' {path}", Deed(mark, (path,))),
            (2, f"rm -f {path}", Deed(mark, deletes=(path,))),
            (3, f"echo '{mark}' > {fresh}", Deed(mark, (fresh,))),
            (1, f"rm -rf gen; mkdir gen; echo '{mark}' > {fresh}", Deed(mark, (fresh,), ("gen/",))),
            (2, self._shorter(mark), Deed(mark, ("gen/size.txt",))),
            (1, f"echo 'broken {mark}' > gen/state.txt", Deed(mark, ("gen/state.txt",))),
            (1, "rm -f gen/state.txt", Deed(mark, deletes=("gen/state.txt",))),
            (
                3,
                f"echo '{mark}' > {fresh}; git add {fresh} && {_GIT} commit -qm '{mark}' -- {fresh}",
                Deed(mark, (fresh,), stages=(fresh,), commits=True),
            ),
            (1, f"git branch {name}", Deed(mark, names=(f"refs/heads/{name}",))),
            (1, f"git tag {name}", Deed(mark, names=(f"refs/tags/{name}",))),
            (1, f"git rm -qf --ignore-unmatch {path}", Deed(mark, deletes=(path,), stages=(path,))),
            (1, "git status --short; ls -l both; grep -r line both | head -3", Deed(mark)),
        ]
        if self.loop != "tries":  # a try may not change what the gate cannot show
            links = ("both/link",)
            narrow += [
                (1, f"chmod +x {path}", Deed(mark, modes=(path,))),
                (1, f"rm -rf both/deep; ln -s '{mark}' both/link", Deed(mark, links, ("both/deep/",))),
            ]
        wide: list[tuple[int, str, Deed]] = [
            (2, "git add -A", Deed(mark, stages=("",))),
            (2, f"git add -A; {_GIT} commit -qm '{mark}'", Deed(mark, stages=("",), commits=True)),
            (1, f"{_GIT} commit -qam '{mark}'", Deed(mark, stages=("",), commits=True)),
            (1, f"{_GIT} stash push -q -- {path}", Deed(mark, restores=(path,), stages=(path,))),
            (1, f"git checkout -q -- {path}", Deed(mark, restores=(path,))),
            (1, f"git reset -q -- {path}", Deed(mark, stages=(path,))),
            (1, f"git switch -q -c {name}", Deed(mark, names=(f"refs/heads/{name}", "HEAD"))),
        ]
        choices = narrow if self.in_place else narrow + wide
        _, line, deed = self._chance.choices(choices, [weight for weight, _, _ in choices])[0]
        return line, deed

    def _shorter(self, mark: str) -> str:
        size = max(300 - 20 * len(self.deeds), 1)
        return f"{{ head -c {size} /dev/zero | tr '\\0' x; echo '{mark}'; }} > gen/size.txt"


def _run(mark: str, line: str) -> Turn:
    """Run a command that first prints when it began: what the user changes after that it did not see."""
    return call("run_command", command=f"date '+began {mark} %s.%N'; {line}")
