"""What waits at the gate, who decides, and what of it may land."""

from __future__ import annotations

import msgspec
import pytest
from gate.saved_rules import Saved

from rundry.agent.protocol import Decide, GateMode, ProposalDecided, ProposalOpened, Rule, RundryError


async def test_what_is_approved_are_the_bytes_that_were_shown(place):
    place.file("a.py", b"one\ntwo\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"two", b"2"))
    opened = place.of(ProposalOpened)[0]
    assert "-two\n+2\n" in opened.diff
    assert (opened.path, opened.hunks, opened.added, opened.removed) == ("a.py", 1, 1, 1)
    assert opened.asks == ["the gate is set to `ask`: changes wait"]
    assert opened.rule == "allow edit_file: a.py"
    assert gate.open == [opened.proposal_id]
    assert not task.done()
    assert gate.decide(place.decide("approve")) is None
    ruling = await task
    assert place.blobs[opened.after] == ruling.after == b"one\n2\n"
    assert place.blobs[opened.before] == b"one\ntwo\n"
    decided = place.of(ProposalDecided)[0]
    assert (decided.decision, decided.by, decided.taken) == ("approve", "person", None)
    assert gate.open == []


async def test_a_rejection_carries_the_feedback_to_the_model(place):
    place.file("a.py", b"x")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"x", b"y"))
    gate.decide(place.decide("reject", reason="not in this file"))
    ruling = await task
    assert not ruling.approved
    assert ruling.note_for_model.startswith("rejected by the person: not in this file")
    assert place.of(ProposalDecided)[0].reason == "not in this file"


async def test_a_decision_is_recorded_with_the_program_through_which_it_came(place):
    place.file("a.py", b"x")
    gate = place.gate()
    for verdict in ("approve", "reject"):
        task = await place.begin(gate, place.replacing("a.py", b"x", b"y"))
        gate.decide(place.decide(verdict, channel="acp:zed"))
        await task
    decided = place.of(ProposalDecided)
    assert [(event.decision, event.by, event.channel) for event in decided] == [
        ("approve", "person", "acp:zed"),
        ("reject", "person", "acp:zed"),
    ]


async def test_a_decision_on_another_digest_or_twice_or_on_nothing_is_refused(place):
    place.file("a.py", b"x")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.py", b"x", b"y"))
    assert "look at the new one" in gate.decide(place.decide("approve", digest="0" * 64))
    assert "is not open" in gate.decide(Decide(proposal_id="p_9", digest="", verdict="approve"))
    assert not task.done()
    assert gate.decide(place.decide("approve")) is None
    assert "decided already" in gate.decide(place.decide("reject"))
    assert (await task).approved
    assert "decided already" in gate.decide(place.decide("reject"))


async def test_only_the_taken_hunks_land_and_the_model_hears_which_did_not(place):
    lines = [b"line %d\n" % i for i in range(40)]
    place.file("a.txt", b"".join(lines))
    gate = place.gate()
    draft = place.replacing("a.txt", b"line 1\n", b"ONE\n")
    new = draft.after.replace(b"line 20\n", b"TWENTY\n").replace(b"line 39\n", b"LAST\n")
    task = await place.begin(gate, msgspec.structs.replace(draft, after=new))
    assert place.of(ProposalOpened)[0].hunks == 3
    assert "there is no hunk 7" in gate.decide(place.decide("part", hunks=[7]))
    assert "no hunk was accepted" in gate.decide(place.decide("part", hunks=[]))
    assert gate.decide(place.decide("part", hunks=[0, 2])) is None
    ruling = await task
    lines[1], lines[39] = b"ONE\n", b"LAST\n"
    assert ruling.after == b"".join(lines)
    assert "2 of 3 hunks" in ruling.note_for_model
    assert "+TWENTY" in ruling.note_for_model
    assert "+ONE" not in ruling.note_for_model
    decided = place.of(ProposalDecided)[0]
    assert (decided.decision, decided.taken) == ("part", 2)


def three_hunks(place):
    place.file("a.txt", b"".join(b"line %d\n" % i for i in range(40)))
    draft = place.replacing("a.txt", b"line 1\n", b"ONE\nand a half\n")
    return msgspec.structs.replace(
        draft, after=draft.after.replace(b"line 20\n", b"TWENTY\n").replace(b"line 39\n", b"LAST\n")
    )


async def test_the_model_reads_what_was_written_what_was_not_and_why_in_the_persons_words(place):
    gate = place.gate()
    task = await place.begin(gate, three_hunks(place))
    reasons = {1: "keep the old name", 0: "never said: it was taken after all"}
    assert "hunk 3, which does not exist" in gate.decide(place.decide("part", hunks=[0], hunk_reasons={3: "x"}))
    assert gate.decide(place.decide("part", hunks=[0, 2], hunk_reasons=reasons, reason="small steps")) is None
    note = (await task).note_for_model
    assert note.splitlines() == [
        "the person accepted 2 of 3 hunks of a.txt.",
        "Written: hunk 1 (lines 2 to 3), hunk 3 (line 41).",
        "Skipped, and unchanged: hunk 2 (line 22).",
        "Hunk 2 (+TWENTY) was skipped because: keep the old name",
        "The person says: small steps",
        "Not applied:",
        "@@ -18,7 +19,7 @@",
        " line 17",
        " line 18",
        " line 19",
        "-line 20",
        "+TWENTY",
        " line 21",
        " line 22",
        " line 23",
    ]
    decided = place.of(ProposalDecided)[0]
    assert (decided.taken, decided.left, decided.reason) == (2, {1: "keep the old name"}, "small steps")


async def test_a_rejection_can_say_of_each_hunk_why(place):
    gate = place.gate()
    task = await place.begin(gate, three_hunks(place))
    assert gate.decide(place.decide("reject", hunk_reasons={2: "it is the last one"})) is None
    note = (await task).note_for_model
    assert "Hunk 3 (+LAST) was skipped because: it is the last one" in note
    assert "a.txt is unchanged" in note
    assert place.of(ProposalDecided)[0].left == {2: "it is the last one"}


async def test_four_hundred_hunks_that_were_left_are_not_all_spelled_out(place):
    place.file("a.txt", b"".join(b"line %d\n" % i for i in range(4000)))
    draft = place.replacing("a.txt", b"line 5\n", b"FIVE\n")
    gate = place.gate()
    new = b"".join(b"LINE\n" if i % 10 == 5 else b"line %d\n" % i for i in range(4000))
    task = await place.begin(gate, msgspec.structs.replace(draft, after=new))
    assert gate.decide(place.decide("part", hunks=[399], hunk_reasons={398: "y" * 9000})) is None
    note = (await task).note_for_model
    assert len(note) < 12_000
    assert "and 359 more" in note


@pytest.mark.parametrize("more", [{}, {"text": "mine\n"}, {"hunks": [0]}])
async def test_a_reason_that_comes_with_an_approval_reaches_the_model(place, more):
    place.file("a.txt", b"x\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.txt", b"x", b"y"))
    verdict = "part" if "hunks" in more else "approve"
    assert gate.decide(place.decide(verdict, reason="next time in one go", **more)) is None
    assert "The person says: next time in one go" in (await task).note_for_model
    assert place.of(ProposalDecided)[0].reason == "next time in one go"


async def test_the_persons_own_text_is_written_in_the_form_of_the_file_and_the_model_sees_the_difference(place):
    place.file("a.txt", b"\xef\xbb\xbfone\r\ntwo\r\n")
    gate = place.gate()
    task = await place.begin(gate, place.replacing("a.txt", b"two", b"2"))
    assert gate.decide(place.decide("approve", text="one\nzwei\n")) is None
    ruling = await task
    assert ruling.after == b"\xef\xbb\xbfone\r\nzwei\r\n"
    assert ruling.edited
    assert "-2" in ruling.note_for_model
    assert "+zwei" in ruling.note_for_model


async def test_always_writes_the_rule_that_was_shown_and_the_next_one_passes(place):
    place.file("a.py", b"x y")
    saved = Saved()
    gate = place.gate(remembered=saved)
    task = await place.begin(gate, place.replacing("a.py", b"x", b"X"))
    shown = place.of(ProposalOpened)[0].rule
    assert gate.decide(place.decide("approve", always=True)) is None
    assert (await task).approved
    assert place.of(ProposalDecided)[0].rule == shown == "allow edit_file: a.py"
    assert saved.rules == [Rule(verdict="allow", tool="edit_file", path="a.py")]
    again = await gate.propose(place.replacing("a.py", b"y", b"Y"), call_id="call_2", events=place)
    assert (again.approved, again.by) == (True, "policy")


async def test_a_rule_that_cannot_be_written_holds_for_the_session_and_says_so(place):
    gate = place.gate(remembered=Saved(RundryError("the folder is read-only")))
    task = await place.begin(gate, place.command("make"))
    assert gate.decide(place.decide("approve", always=True)) is None
    assert "read-only" in (await task).reason
    assert (await gate.propose(place.command("make"), call_id="c", events=place)).approved


async def test_danger_is_never_always(place):
    gate = place.gate(GateMode.AUTO)
    place.file(".envrc", b"x")
    task = await place.begin(gate, place.replacing(".envrc", b"x", b"y"))
    opened = place.of(ProposalOpened)[0]
    assert (opened.danger, opened.rule) == (True, None)
    assert "approve it once" in gate.decide(place.decide("approve", always=True))
    assert not task.done()
    assert gate.decide(place.decide("approve")) is None
    assert (await task).approved


async def test_what_the_policy_lets_pass_is_opened_and_decided_all_the_same(place):
    place.file("a.py", b"x")
    ruling = await place.gate(GateMode.EDITS).propose(place.replacing("a.py", b"x", b"y"), call_id="c", events=place)
    assert ruling.approved
    opened, decided = place.events
    assert (opened.asks, decided.decision, decided.by) == ([], "approve", "policy")


@pytest.mark.parametrize(("on_ask", "handoff"), [("refuse", False), ("handoff", True)])
async def test_with_nobody_there_what_would_ask_is_refused_or_handed_over(place, on_ask, handoff):
    place.attended = False
    ruling = await place.gate(on_ask=on_ask).propose(place.command("make"), call_id="c", events=place)
    assert (ruling.approved, ruling.handoff, ruling.refused_by) == (False, handoff, "policy")
    assert "nobody is here" in ruling.note_for_model
    assert place.of(ProposalOpened)[0].asks
    assert place.of(ProposalDecided)[0].decision == "reject"
