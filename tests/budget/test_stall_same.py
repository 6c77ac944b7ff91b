"""Which steps count as the same: paths, repeated texts, plans in between, and what is remembered of long runs."""

import pickle

from budget.observed import did, findings, said

from rundry.agent.budget.stall.argument_paths import normalise_paths
from rundry.agent.budget.stall.observation import Call, Observation
from rundry.agent.budget.stall.signature import canonical, without_volatile
from rundry.agent.budget.stall.stall_watch import StallWatch
from rundry.agent.budget.stall.windows import find_repetition
from rundry.agent.protocol import StallLimits


class TestWhatIsTheSame:
    def test_what_changes_by_itself_is_left_out(self):
        pairs = [
            ("3 passed in 0.11s", "3 passed in 12.4s"),
            ("at 2026-11-21T02:11:10Z", "at 2026-11-21 02:12:44.123+01:00"),
            ("Sat Nov 21 02:11:10 UTC 2026", "Sun Nov 22 03:00:00 UTC 2026"),
            ("<object at 0x7f11aa22>", "<object at 0x5511bb99>"),
            ("listening on 127.0.0.1:43211", "listening on 127.0.0.1:51000"),
            ("worker pid 4312 died", "worker pid 97 died"),
            ("wrote /tmp/tmp.Ab12Cd34/x", "wrote /tmp/tmp.Zx98Yw76/x"),
            ("wrote /tmp/tmpab3_x9zq", "wrote /tmp/tmpqq1zz2_w"),
            ("id 3f0c1f6e-1111-4222-8333-abcdefabcdef", "id 9f0c1f6e-9111-4222-8333-abcdefabcdee"),
            ("\x1b[31mred\x1b[0m", "red"),
            (" 10%\r 50%\rdone", "done"),
            ("real 0m0.012s", "real 1m3.9s"),
        ]
        for a, b in pairs:
            assert without_volatile(a) == without_volatile(b), (a, b)

    def test_what_tells_of_progress_stays(self):
        pairs = [
            ("[3%] building", "[11%] building"),
            ("items 0..9", "items 10..19"),
            ("FAILED test_0", "FAILED test_1"),
        ]
        for a, b in [*pairs, ("14 failed", "13 failed"), ("/tmp/ws/a.py: missing", "/tmp/ws/b.py: missing")]:
            assert without_volatile(a) != without_volatile(b), (a, b)

    def test_arguments_are_equal_whatever_their_order_and_reasons(self):
        a = canonical({"path": "a", "n": 1, "reason": "look"})
        assert a == canonical({"n": 1, "path": " a\n", "reason": "again"})
        assert a != canonical({"n": 2, "path": "a"})


class TestChant:
    def test_a_sentence_that_is_repeated_without_end_is_found_with_its_words(self):
        assert find_repetition("I will check the file again. " * 30) == "i will check the file again."

    def test_it_is_found_before_a_calm_end(self):
        assert find_repetition("no more " * 60 + "and that is all there is to say about this.") is not None

    def test_code_tables_lists_and_rulers_repeat_by_nature(self):
        for text in (
            "```\n" + "x = 1\n" * 200 + "```\n",
            "```\n" + "x = 1 2 3\n" * 200,
            "| ok | ok |\n" * 200,
            "- item one\n" * 200,
            "----------\n" * 200,
            "    pass pass pass\n" * 200,
        ):
            assert find_repetition(text) is None, text[:20]

    def test_a_chorus_is_not_a_chant(self):
        assert find_repetition("We will, we will rock you. " * 4) is None


def planned(*lines: str) -> Observation:
    return Observation(calls=[Call(action="plan", arguments={"lines": list(lines)}, result="kept", is_note=True)])


class TestWhatHidesARepetition:
    def test_a_plan_between_two_repeats_does_not_hide_them(self):
        steps = [step for i in range(7) for step in (did(), planned(f"try {i}"))]
        found = findings(StallWatch(), *steps)
        assert found.count(("repeat", "hint")) == 1
        assert ("repeat", "stop") in found

    def test_words_between_two_repeats_do_not_hide_them(self):
        steps = [step for i in range(7) for step in (did(), said(f"now I know more, {i}"))]
        assert ("repeat", "stop") in findings(StallWatch(), *steps)

    def test_the_same_plan_three_times_is_a_monologue(self):
        assert findings(StallWatch(), *[planned("read", "fix")] * 3)[2] == ("monologue", "hint")

    def test_plans_that_go_along_with_work_are_not_a_stall(self):
        steps = [step for i in range(5) for step in (planned(f"now {i}"), did(path=f"{i}.py", result=str(i)))]
        assert findings(StallWatch(), *steps) == [None] * 10

    def test_three_different_thoughts_without_a_call_earn_a_hint_and_no_stop(self):
        found = findings(StallWatch(), *[said(f"I should look at file number {i} first") for i in range(9)])
        assert found[2] == ("monologue", "hint")
        assert found.count(("monologue", "hint")) == 1
        assert ("monologue", "stop") not in found

    def test_one_file_under_several_spellings_is_one_action(self):
        spellings = ["a.py", "./a.py", "x/../a.py", "/work/space/a.py", "a.py"]
        shortest = {str(normalise_paths({"path": p}, "/work/space")) for p in spellings}
        lines = ["cat a.py", "cat ./a.py", "cat  'a.py'", 'cat "/work/space/a.py"']
        assert shortest == {str({"path": "a.py"})}
        assert {str(normalise_paths({"command": line}, "/work/space")) for line in lines} == {
            str({"command": "cat a.py"})
        }

    def test_a_path_outside_and_an_address_stay_what_they_are(self):
        for line in ("cat /etc/hosts", "curl https://a.example/./x", "echo 'it"):
            assert normalise_paths({"command": line}, "/work/space") == {"command": line}
        assert normalise_paths({"path": "../b.py"}, "/work/space") == {"path": "../b.py"}

    def test_numbers_that_change_by_themselves_do_not_make_a_new_result(self):
        pairs = [
            ("[4711] started", "[4822] started"),
            ("request id: 8f3a-22", "request id: 91bc-03"),
            ("at 1763790000.25", "at 1763790911.75"),
            ("listening on port 43121", "listening on port 40022"),
            ("container 4f5e6a7b8c9d0e1f2a3b", "container 0a1b2c3d4e5f60718293"),
        ]
        for before, after in pairs:
            assert without_volatile(before) == without_volatile(after), before

    def test_progress_is_a_new_result(self):
        for before, after in (("[3/40] built", "[4/40] built"), ("12 of 40", "13 of 40"), ("(2 failed)", "(3 failed)")):
            assert without_volatile(before) != without_volatile(after)


class TestLongRuns:
    def test_a_state_that_came_back_is_still_known_after_hundreds_of_others(self):
        watch = StallWatch("w0")
        visits = [f"w{n}" for n in range(1, 400)]
        seen = [did("edit_file", world=world, path=world) for world in [*visits, "w7", *visits[20:], "w7"]]
        assert [found for found in findings(watch, *seen) if found] == [("oscillation", "hint")]

    def test_what_is_remembered_does_not_grow_with_the_steps(self):
        watch, sizes = StallWatch("w0"), [0]
        for number in range(6_000):
            path = str(number)
            assert watch.observe(did("edit_file", path=path, result=path, world=path), StallLimits()) is None
            assert watch.observe(did(path=path, result=path, world=path), StallLimits()) is None
            if number in (500, 3_000, 5_999):
                sizes.append(len(pickle.dumps(watch)))
        assert sizes[1] * 1.5 < sizes[2] and sizes[3] < sizes[2] * 1.01
