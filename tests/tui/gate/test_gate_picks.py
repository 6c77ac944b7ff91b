"""Which hunks are accepted, what follows when the file changes, and the decision that results: without a screen."""

from __future__ import annotations

import random

import pytest
from fakes.played_events import proposal

from rundry.agent import Decide, ProposalOpened, RebaseResult, UserError, apply_cut_hunks
from rundry.tui.diff.unified import diff_of_text
from rundry.tui.gate.edited_text import opened
from rundry.tui.gate.follow_file import carried, follow
from rundry.tui.gate.hunk_choices import HunkChoices, matched
from rundry.tui.gate.hunk_lines import spans_in, spans_of
from rundry.tui.gate.pending_decision import (
    IN_CONFLICT,
    MARKS_LEFT,
    NOTHING_ACCEPTED,
    PendingDecision,
    Shown,
    approval,
    rejection,
    way_out,
)

OLD = "".join(f"line {n}\n" for n in range(60))
NEW = OLD.replace("line 5\n", "line five\n").replace("line 30\n", "line thirty\nand more\n").replace("line 55\n", "")


def unified(old: str, new: str, context: int = 3) -> str:
    from difflib import unified_diff

    return "".join(unified_diff(old.splitlines(True), new.splitlines(True), "a/a.txt", "b/a.txt", n=context))


def edit(old: str = OLD, new: str = NEW, **changes: object) -> ProposalOpened:
    fields: dict[str, object] = {
        "tool": "edit_file",
        "command": None,
        "path": "a.txt",
        "diff": unified(old, new),
        "before": "before",
        "after": "after",
        "hunks": 3,
    }
    return proposal(**{**fields, **changes})


def shown(**changes: object) -> Shown:
    fields: dict[str, object] = {"proposal": edit(), "before": OLD, "count": 3}
    return Shown(**{**fields, **changes})  # type: ignore[arg-type]


def picked(left: list[int], reasons: dict[int, str] | None = None, count: int = 3) -> HunkChoices:
    picks = HunkChoices(count)
    for hunk in left:
        picks.toggle(hunk)
    for hunk, text in (reasons or {}).items():
        picks.give_reason(hunk, text)
    return picks


def said(found: Decide | str) -> tuple[object, ...]:
    assert isinstance(found, Decide), found
    return found.verdict, found.hunks, found.hunk_reasons, found.reason, found.text


def test_all_hunks_are_accepted_until_one_is_skipped_and_a_second_press_accepts_it_again():
    picks = HunkChoices(3)
    assert (picks.accepted, picks.skipped) == ([0, 1, 2], [])
    picks.toggle(1)
    picks.toggle(7)
    assert (picks.accepted, picks.skipped) == ([0, 2], [1])
    picks.toggle(1)
    assert picks.accepted_count == 3
    picks.skip_all()
    assert (picks.accepted_count, picks.skipped_count) == (0, 3)
    picks.accept_all()
    assert picks.skipped == []


def test_the_reason_of_a_hunk_that_is_accepted_after_all_is_kept_but_not_sent():
    picks = picked([1], {1: "keys may hold colons"})
    assert picks.reasons() == {1: "keys may hold colons"}
    picks.toggle(1)
    assert (picks.reasons(), picks.reason(1)) == ({}, "keys may hold colons")
    picks.toggle(1)
    assert picks.reasons() == {1: "keys may hold colons"}


def test_choices_follow_the_hunks_of_the_same_content_and_new_hunks_are_accepted():
    before, after = ["a", "b", "b", "c"], ["new", "b", "a", "b"]
    assert matched(before, after) == {1: 1, 0: 2, 2: 3}
    moved = picked([1, 3], {1: "why", 0: "not told"}, count=4).carried(matched(before, after), 4)
    assert (moved.skipped, moved.reasons(), moved.reason(2)) == ([1], {1: "why"}, "not told")


def test_the_hunks_of_the_screen_are_known_by_the_same_lines_as_those_of_the_gate():
    rng = random.Random(7)
    for _ in range(150):
        old = [f"{rng.randint(0, 30)}\n" for _ in range(rng.randint(0, 60))]
        new = list(old)
        for _ in range(rng.randint(1, 4)):
            at = rng.randint(0, len(new))
            new[at : at + rng.randint(0, 2)] = [f"new {rng.random()}\n" for _ in range(rng.randint(1, 3))]
        diff = diff_of_text("a.txt", unified("".join(old), "".join(new)))
        assert spans_of(diff) == spans_in(unified("".join(old), "".join(new)))


def test_taking_hunks_of_an_edited_text_keeps_every_byte_outside_of_them():
    old, new = OLD.replace("\n", "\r\n"), NEW.replace("\n", "\r\n").removesuffix("\r\n")
    assert apply_cut_hunks(old, new, {}, range(3)) == new
    assert apply_cut_hunks(old, new, {}, []) == old
    assert apply_cut_hunks(old, new, {}, [0]) == old.replace("line 5\r\n", "line five\r\n")


@pytest.mark.parametrize(
    ("skipped", "reasons", "expected"),
    [
        ([], {}, ("approve", None, {}, None, None)),
        ([1], {}, ("part", [0, 2], {}, None, None)),
        ([0, 1], {0: "no"}, ("part", [2], {0: "no"}, None, None)),
    ],
)
def test_what_y_sends_follows_from_the_accepted_hunks(
    skipped: list[int], reasons: dict[int, str], expected: tuple[object, ...]
):
    assert said(approval(shown(), PendingDecision(picks=picked(skipped, reasons)), "d")) == expected


def test_without_an_accepted_hunk_y_says_so_and_n_rejects_with_the_reasons():
    pending = PendingDecision(picks=picked([0, 1, 2], {2: "why"}), reason="not now")
    assert approval(shown(), pending, "d") == NOTHING_ACCEPTED
    assert said(rejection(shown(), pending, "d")) == ("reject", None, {2: "why"}, "not now", None)


def test_of_an_edited_text_only_the_accepted_hunks_are_sent_as_the_new_text():
    pending = PendingDecision(picks=picked([1], {1: "later"}), edited=NEW, reason="see below")
    text = OLD.replace("line 5\n", "line five\n").replace("line 55\n", "")
    expected = ("approve", None, {}, "see below; hunk 2: later", text)
    assert said(approval(shown(), pending, "d")) == expected
    pending.picks.accept_all()
    assert said(approval(shown(), pending, "d"))[4] == NEW


def test_a_conflict_is_not_approved_until_it_was_edited_and_no_mark_of_it_is_left():
    conflict = shown(rebasing=RebaseResult("12:04:31", conflict=True), count=0)
    assert approval(conflict, PendingDecision(), "d") == IN_CONFLICT
    marked = "a\n<<<<<<< yours\nb\n=======\nc\n>>>>>>> proposed\n"
    assert approval(conflict, PendingDecision(edited=marked), "d") == MARKS_LEFT
    assert said(approval(conflict, PendingDecision(edited="a\nb\n"), "d"))[4] == "a\nb\n"
    assert said(way_out(conflict, PendingDecision(reason="look again"), "d", "again"))[::3] == ("again", "look again")
    assert said(way_out(conflict, PendingDecision(), "d", "mine"))[0] == "mine"
    assert isinstance(way_out(shown(), PendingDecision(), "d", "mine"), str)


def test_a_rebase_keeps_marks_and_reasons_of_the_hunks_that_are_as_they_were():
    pending = PendingDecision(picks=picked([0, 1], {1: "why"}), typed={1: "half a rea", 0: "x"}, target=1)
    old = OLD.replace("line 5\n", "someone else\n")
    now = edit(old, old.replace("line 30\n", "line thirty\nand more\n").replace("line 55\n", ""), digest="d2")
    follow(pending, edit(), now, lambda _: None)
    assert (pending.picks.skipped, pending.picks.reasons()) == ([0], {0: "why"})
    assert (pending.typed, pending.target) == ({0: "half a rea"}, 0)


def test_the_persons_own_version_is_carried_over_to_what_the_file_holds_now():
    blobs = {"before": OLD.encode(), "now": OLD.replace("line 20\n", "theirs\n").encode(), "after": NEW.encode()}
    pending = PendingDecision(edited=OLD.replace("line 5\n", "mine\n"), picks=picked([0], count=1))
    follow(pending, edit(), edit(before="now"), lambda name: blobs[name or ""])
    assert pending.edited == OLD.replace("line 5\n", "mine\n").replace("line 20\n", "theirs\n")
    assert pending.picks.skipped == [0]


def test_a_version_that_overlaps_with_the_files_change_is_not_approved_but_not_lost_either():
    blobs = {"before": OLD.encode(), "now": OLD.replace("line 5\n", "theirs\n").encode(), "after": NEW.encode()}
    mine = OLD.replace("line 5\n", "mine\n")
    pending = PendingDecision(edited=mine)
    follow(pending, edit(), edit(before="now"), lambda name: blobs[name or ""])
    assert (pending.edited, pending.draft) == (None, mine)


@pytest.mark.parametrize("between", ["gone", "other"])
def test_an_edited_version_that_a_change_of_the_file_made_stale_fits_again_when_it_is_undone(between: str):
    blobs = {"before": OLD.encode(), "other": OLD.replace("line 5\n", "theirs\n").encode(), "after": NEW.encode()}
    mine = OLD.replace("line 5\n", "mine\n")
    pending, now = PendingDecision(edited=mine), edit(before=None if between == "gone" else between)
    follow(pending, edit(), now, lambda name: blobs.get(name or ""))
    assert (pending.edited, pending.draft) == (None, mine)
    follow(pending, now, edit(digest="again"), lambda name: blobs.get(name or ""))
    assert (pending.edited, pending.draft) == (mine, None)


def test_what_two_people_changed_in_different_places_is_joined_and_nothing_is_lost():
    rng = random.Random(3)
    joined = 0
    for _ in range(300):
        base = [f"{n}\n" for n in range(20)]
        mine, theirs = list(base), list(base)
        at, other = rng.randrange(20), rng.randrange(20)
        mine[at : at + rng.randint(0, 2)] = ["mine\n"] * rng.randint(1, 2)
        theirs[other : other + rng.randint(0, 2)] = ["theirs\n"] * rng.randint(1, 2)
        found = carried("".join(base), "".join(mine), "".join(theirs))
        if found is None:
            assert abs(at - other) <= 2
            continue
        joined += 1
        assert found.count("mine\n") == mine.count("mine\n")
        assert found.count("theirs\n") == theirs.count("theirs\n")
        gone = {line for line in base if line not in mine or line not in theirs}
        assert sorted(set(base) - set(found.splitlines(True))) == sorted(gone)
    assert joined > 150


def test_the_mark_and_the_line_ends_of_a_file_outlive_an_edit():
    file = opened("\ufeffa\r\nb\r\n".encode())
    assert (file.text, file.mark, file.plain_ends) == ("a\r\nb\r\n", b"\xef\xbb\xbf", True)
    assert file.bytes_of(file.back("a\nmore\nb\r\n")) == "\ufeffa\r\nmore\r\nb\r\n".encode()
    assert not opened(b"a\r\nb\n").plain_ends
    assert opened(b"a\r\nb\n").back("a\r\nb\nc\n") == "a\r\nb\nc\n"
    with pytest.raises(UserError, match="this is not text"):
        opened(b"\x01\xff")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_text_in_another_encoding_is_edited_and_goes_back_in_it(encoding: str):
    before, after = "ein ä\r\n".encode(encoding), "zwei\r\n".encode(encoding)
    file = opened(after, before)
    assert file.text == "zwei\r\n"
    assert file.bytes_of("ein Ä\r\n") == "ein Ä\r\n".encode(encoding)


def test_a_sign_that_the_encoding_lacks_is_named():
    with pytest.raises(UserError, match="the encoding of the file, cp1252, has no 'Ω'"):
        opened("ein ä\n".encode("cp1252")).bytes_of("Ω")
