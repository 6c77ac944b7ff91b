"""Hunks that a person splits: which parts there are, and what is written of them (docs/requirements.md 6.3)."""

from __future__ import annotations

import random
import subprocess
from itertools import combinations
from pathlib import Path

import msgspec
import pytest

from rundry.agent.gate.cuts import apply_cut_hunks, cut, finer_cuts
from rundry.agent.protocol import ProposalDecided
from rundry.agent.protocol.text.hunks import apply_hunks, hunk_text, sides_of, split

OLD = "def one():\n    return 1\n\ndef two():\n    return 2\n\ndef three():\n    return 3\n"
NEW = (
    OLD.replace("return 1", "return 'one'")
    .replace("return 2", "x = 2\n    return x")
    .replace("return 3", "return 'three'")
)


def finer(old: str, new: str, cuts: dict[int, list[int]], part: int) -> dict[int, list[int]]:
    found = finer_cuts(sides_of(old, new), cuts, part)
    assert not isinstance(found, str), found
    return {**cuts, found[0]: found[1]}


def contents(old: str, new: str, cuts: dict[int, list[int]]) -> list[str]:
    """What each part changes."""
    parts = cut(split(old, new), cuts)
    return [
        "".join(
            [f"-{line}" for c in hunk.changes for line in parts.old[c.a1 : c.a2]]
            + [f"+{line}" for c in hunk.changes for line in parts.new[c.b1 : c.b2]]
        )
        for hunk in parts.hunks
    ]


def test_a_hunk_is_split_at_its_unchanged_lines_and_a_part_without_any_into_its_rows():
    assert len(split(OLD, NEW).hunks) == 1
    cuts = finer(OLD, NEW, {}, 0)
    assert contents(OLD, NEW, cuts) == [
        "-    return 1\n+    return 'one'\n",
        "-    return 2\n+    x = 2\n+    return x\n",
        "-    return 3\n+    return 'three'\n",
    ]
    cuts = finer(OLD, NEW, cuts, 1)
    assert contents(OLD, NEW, cuts)[1:3] == ["-    return 2\n+    x = 2\n", "+    return x\n"]
    assert finer_cuts(sides_of(OLD, NEW), cuts, 0) == "this is a single change: edit its text instead"
    assert finer_cuts(sides_of(OLD, NEW), cuts, 9) == "there is no hunk 10"


def test_any_choice_of_parts_writes_the_lines_of_those_parts_and_no_others():
    rng = random.Random(3)
    for _ in range(300):
        old = [f"{rng.randint(0, 9)}\n" for _ in range(rng.randint(0, 12))]
        new = [line if rng.random() < 0.6 else f"new {rng.random()}\n" for line in old if rng.random() < 0.8]
        new += [f"more {n}\n" for n in range(rng.randint(0, 3))]
        before = "".join(old).removesuffix("\n" * rng.randint(0, 1))
        after = "".join(new).removesuffix("\n" * rng.randint(0, 1))
        cuts: dict[int, list[int]] = {}
        part = 0
        while isinstance(found := finer_cuts(sides_of(before, after), cuts, part), tuple) or "single" in found:
            if isinstance(found, tuple):
                cuts[found[0]] = found[1]
            else:
                part += 1
        parts = cut(split(before, after), cuts)
        everything = range(len(parts.hunks))
        assert apply_hunks(parts, everything) == after
        assert apply_hunks(parts, []) == before
        for chosen in list(combinations(everything, 2))[:6]:
            text = apply_cut_hunks(before, after, cuts, chosen)
            kept = len(before.splitlines()) + sum(parts.hunks[i].added - parts.hunks[i].removed for i in chosen)
            assert len(text.splitlines()) == kept, (before, after, cuts, chosen)


@pytest.mark.parametrize(
    ("before", "after"),
    [("a", "b\nc\n"), ("a\nb\n", "c"), ("a", "b\nc"), ("x\na\nb", "x\nc\nd\ne\n")],
)
def test_a_line_without_a_line_feed_never_joins_another_one(before: str, after: str):
    cuts: dict[int, list[int]] = {}
    while isinstance(found := finer_cuts(sides_of(before, after), cuts, 0), tuple):
        cuts[found[0]] = found[1]
    count = len(cut(split(before, after), cuts).hunks)
    known = {*before.splitlines(), *after.splitlines()}
    for size in range(count + 1):
        for chosen in combinations(range(count), size):
            assert {*apply_cut_hunks(before, after, cuts, chosen).splitlines()} <= known


@pytest.mark.parametrize("cuts", [{0: [9]}, {0: [0]}, {0: [2, 1]}, {4: [1]}])
def test_a_cut_that_is_not_possible_is_refused(cuts: dict[int, list[int]]):
    with pytest.raises(IndexError, match="cannot be split"):
        cut(split(OLD, NEW), cuts)


async def test_parts_of_a_hunk_land_and_the_model_hears_of_the_rest(place):
    place.file("a.py", OLD.encode())
    gate = place.gate()
    draft = msgspec.structs.replace(place.replacing("a.py", b"1", b"1"), after=NEW.encode())
    task = await place.begin(gate, draft)
    cuts = finer(OLD, NEW, {}, 0)
    assert "cannot be split" in gate.decide(place.decide("part", hunks=[0], cuts={0: [40]}))
    assert "there is no hunk 3" in gate.decide(place.decide("part", hunks=[3], cuts=cuts))
    assert gate.decide(place.decide("part", hunks=[0, 2], cuts=cuts, hunk_reasons={1: "keep it short"})) is None
    ruling = await task
    assert ruling.after == OLD.replace("return 1", "return 'one'").replace("return 3", "return 'three'").encode()
    assert "split your change into smaller hunks and accepted 2 of 3 hunks of a.py" in ruling.note_for_model
    assert "Hunk 2 (+x = 2) was skipped because: keep it short" in ruling.note_for_model
    assert "+    x = 2" in ruling.note_for_model
    assert "'three'" not in ruling.note_for_model
    decided = place.of(ProposalDecided)[0]
    assert (decided.taken, decided.left, decided.cuts) == (2, {1: "keep it short"}, cuts)
    assert place.blobs[decided.after] == ruling.after


@pytest.mark.parametrize("at", [(0,), (1,), (3,), (4,), (9,), (19,), (4, 11), (4, 12), (0, 19)])
def test_hunks_have_the_lines_and_numbers_that_git_gives_them(at: tuple[int, ...], tmp_path: Path) -> None:
    old = "".join(f"line {number}\n" for number in range(20))
    new = "".join(f"{'changed' if number in at else 'line'} {number}\n" for number in range(20))
    (tmp_path / "old").write_text(old)
    (tmp_path / "new").write_text(new)
    shown = subprocess.run(
        ["git", "diff", "--no-index", "--no-color", "old", "new"], cwd=tmp_path, capture_output=True, text=True
    ).stdout
    hunks = shown[shown.index("@@") :].splitlines(keepends=True)
    plain = [line[: line.rindex("@@") + 2] + "\n" if line.startswith("@@") else line for line in hunks]
    assert hunk_text(split(old, new)) == "".join(plain)
