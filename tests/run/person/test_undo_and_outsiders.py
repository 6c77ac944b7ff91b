"""Random changes, undone next to those of an outsider."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from fakes.turns import Turn, say
from run.person.undoing import refusals, sh, take_back, tree, undone, write

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    LoopKind,
    Undo,
    Unpause,
)

PLACES = ("a.txt", "b.txt", "d/x", "d/y", "e/f/z")


def random_change(random: Random, token: str) -> Turn:
    path, other = random.sample(PLACES, 2)
    make = f"mkdir -p $(dirname {path}) $(dirname {other}); "
    return random.choice(
        [
            write(path, f"{token} edited\n"),
            write(path, f"{token} edited\n"),
            sh(f"{make} printf '{token}\\0\\377' > {path}; cp {path} {other}; echo {token} >> {other}"),
            sh(f"{make} mv {path} {other}"),
            sh(f"rm -rf {path} $(dirname {other})/*"),
            sh(f"{make} rm -f {path}; ln -s {token} {path}; rm -f {other}"),
            sh(f"chmod {random.choice(['600', '755', '640'])} {path} {other}; echo {token} >> {path}"),
            sh(f"rm -rf d; mkdir d; echo {token} > d/{token}"),
        ]
    )


class Outsider:
    """Someone else, who now and then writes to a file, and never twice the same."""

    def __init__(self, random: Random, work: Path) -> None:
        self.random, self.work = random, work
        self.wrote: dict[str, bytes] = {}
        self.after: dict[str, int] = {}
        """The step after which they wrote it."""

    def act(self, event: dict[str, object]) -> Unpause:
        if self.random.random() < 0.3:
            name = self.random.choice(PLACES)
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_dir():
                path.unlink(missing_ok=True)
                self.wrote[name] = f"of someone else, {self.random.random()}\n".encode()
                path.write_bytes(self.wrote[name])
                self.after[name] = int(str(event["number"]))
        return Unpause()

    def standing(self) -> dict[str, bytes]:
        """What of it stands on the disk now."""
        files = {name: self.work / name for name in self.wrote}
        return {n: p.read_bytes() for n, p in files.items() if p.is_file() and p.read_bytes() == self.wrote[n]}


def plain(found: dict[str, tuple[str, int, bytes]], but: dict[str, bytes]) -> dict[str, tuple[str, int, bytes]]:
    """Files and links, of whose permissions the execute bit alone counts."""
    files = {name: what for name, what in found.items() if what[0] != "folder" and name not in but}
    return {name: (kind, mode & 0o100, data) for name, (kind, mode, data) in files.items()}


@pytest.mark.parametrize("seed", range(16))
async def test_an_undo_loses_no_bytes_of_someone_else_and_names_what_is_not_as_it_was(driven, work, seed):
    random = Random(seed)
    (work / "d").mkdir()
    (work / "d/x").write_bytes(b"\0\xff")
    outsider = Outsider(random, work)
    at_start: dict[int, dict[str, tuple[str, int, bytes]]] = {}
    turns = [random_change(random, f"t{seed}.{n}") for n in range(7)]
    run = driven(*turns, say("that is all"), loop=LoopKind.NAIVE)

    def look(event: dict[str, object]) -> Unpause:
        at_start[int(str(event["number"]))] = tree(work)
        return Unpause()

    for number in range(1, 9):
        run.on("step_finished", outsider.act, number=number).on("step_started", look, number=number)
    await run.run()
    steps, named = sorted(at_start), set[str]()
    if random.random() < 0.5:
        outsider.act({"number": 99})
    for step in (random.choice(steps), steps[0]):
        theirs, before = outsider.standing(), tree(work)
        events = await take_back(run, Undo(step=step))
        assert theirs.items() <= outsider.standing().items(), run.story()
        if not refusals(events):
            now, then = plain(tree(work), but=outsider.wrote), plain(at_start[step], but=outsider.wrote)
            named |= {line.partition(": ")[0] for line in undone(events).kept}
            left = {name for name in now.keys() | then.keys() if now.get(name) != then.get(name)}
            assert left <= named, (undone(events), run.story())
        view = Journal.open(run.path)
        held = {
            view.blobs.load(s.event.before) for s in events if getattr(s.event, "by", "") == "undo" and s.event.before
        }
        view.close()
        still = {data for _, _, data in tree(work).values()}
        assert {data for _, _, data in before.values()} <= held | still, "what was undone is kept"
