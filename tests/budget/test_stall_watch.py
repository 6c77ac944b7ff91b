from budget.observed import did, findings, refused, said, step
from hypothesis import given, settings, strategies as st
from sampling import examples

from rundry.agent.budget.stall.observation import Call, Finding, Observation
from rundry.agent.budget.stall.stall_watch import StallWatch
from rundry.agent.protocol import StallLimits


class TestHintThenStop:
    def test_two_in_a_row_is_noise(self):
        assert findings(StallWatch(), did(), did()) == [None, None]

    def test_the_third_is_reported_and_four_more_are_the_end(self):
        found = findings(StallWatch(), *[did()] * 7)
        assert found == [None, None, ("repeat", "hint"), None, None, None, ("repeat", "stop")]

    def test_after_a_hint_something_else_starts_the_count_again(self):
        found = findings(StallWatch(), *[did()] * 6, did(path="b", result="y"), *[did()] * 3)
        assert found.count(("repeat", "hint")) == 1
        assert ("repeat", "stop") not in found

    def test_each_stall_has_a_hint_of_its_own(self):
        found = findings(StallWatch(), *[did(path="a")] * 3, *[did(path="b")] * 3)
        assert found.count(("repeat", "hint")) == 2

    def test_a_changed_workspace_earns_a_new_hint(self):
        found = findings(StallWatch("w0"), *[did()] * 3, did("edit_file", world="w1"), *[did()] * 3)
        assert found.count(("repeat", "hint")) == 2
        assert ("repeat", "stop") not in found

    def test_a_person_who_says_something_earns_a_new_hint(self):
        watch = StallWatch()
        assert findings(watch, *[did()] * 6)[2] == ("repeat", "hint")
        watch.reset_after_message()
        assert findings(watch, *[did()] * 3) == [None, None, ("repeat", "hint")]

    def test_it_does_not_fire_again_at_each_step_after_a_stop(self):
        assert findings(StallWatch(), *[did()] * 8)[-1] is None

    def test_a_first_full_window_without_a_warning_step_is_a_hint_too(self):
        rounds = [did(path="a"), did(path="b")] * 3
        found = findings(StallWatch(), *rounds, *rounds)
        assert found[5] == ("cycle", "hint")
        assert found[11] == ("cycle", "stop")
        assert found.count(None) == 10


class TestKinds:
    def test_failing_calls_are_errors(self):
        assert findings(StallWatch(), *[did("run_command", "make: no rule", ok=False)] * 3)[-1] == ("error", "hint")

    def test_a_refusal_counts_although_something_was_done_between(self):
        found = findings(StallWatch(), refused("a"), did(path="z"), refused("a"))
        assert found[-1] == ("refused", "hint")

    def test_two_refusals_of_different_things_are_none(self):
        assert findings(StallWatch(), refused("a"), refused("b")) == [None, None]

    def test_refusals_of_ever_other_things_are_steps_without_a_result(self):
        found = findings(StallWatch(), *(refused(f"p{n}") for n in range(14)))
        assert found == [*[None] * 13, ("stagnation", "hint")]

    def test_an_error_next_to_a_success_of_the_same_tool_is_none_in_a_row(self):
        seen = [
            Observation(
                calls=[
                    Call(action="grep", arguments={"path": f"gone{n}"}, result="there is no such folder", ok=False),
                    Call(action="grep", arguments={"path": f"there{n}"}, result=f"found {n}"),
                ]
            )
            for n in range(9)
        ]
        assert set(findings(StallWatch(), *seen)) == {None}

    def test_one_error_from_varied_arguments(self):
        seen = [did("edit_file", "old_text is not in a.py", ok=False, old_text=f"{i}") for i in range(6)]
        assert findings(StallWatch(), *seen)[-1] == ("same-error", "hint")

    def test_a_success_of_the_tool_ends_the_row_of_its_errors(self):
        failing = [did("edit_file", "old_text is not in a.py", ok=False, old_text=f"{i}") for i in range(6)]
        failing.insert(3, did("edit_file", "edited", old_text="yes"))
        assert set(findings(StallWatch(), *failing)) == {None}

    def test_searches_without_a_hit_are_not_errors(self):
        seen = [did("run_command", "exit code 1", ok=False, command=f"grep {i} .") for i in range(8)]
        assert set(findings(StallWatch(), *seen)) == {None}

    def test_empty_answers(self):
        assert findings(StallWatch(), said(""), said(" "), said(""))[-1] == ("empty", "hint")

    def test_the_same_plan_in_words(self):
        seen = [said("I will fix it."), said("I will fix it!"), said("i will FIX it")]
        assert findings(StallWatch(), *seen)[-1] == ("monologue", "hint")

    def test_words_are_not_facts(self):
        seen = [said(f"Plan number {i}: look closely") for i in range(17)]
        found = findings(StallWatch(), *seen)
        assert (found[2], found[-1]) == (("monologue", "hint"), ("stagnation", "hint"))

    def test_after_a_message_of_a_person_looking_again_is_news(self):
        watch = StallWatch()
        look = [did(path=f"f{n}") for n in range(14)]
        findings(watch, *look)
        watch.reset_after_message()
        assert set(findings(watch, *look)) == {None}

    def test_looking_at_all_of_it_again_is_none(self):
        look = [did(path=f"f{n}") for n in range(14)]
        assert findings(StallWatch(), *look, *look)[-1] == ("stagnation", "hint")

    def test_two_things_in_no_order(self):
        a, b = did(path="a"), did(path="b")
        assert findings(StallWatch(), a, b, b, a, b, a)[-1] == ("oscillation", "hint")

    def test_the_files_are_back_where_they_were(self):
        watch = StallWatch("w0")
        there = Observation(calls=[Call(action="edit_file", arguments={"n": 1}, result="ok")], world="w1", step=1)
        back = Observation(calls=[Call(action="edit_file", arguments={"n": 2}, result="ok")], world="w0", step=2)
        found = [watch.observe(one, StallLimits()) for one in (there, back, there, back)]
        assert found[-1] == Finding(
            kind="oscillation", signature="the files are back at an earlier state", response="hint"
        )
        again = [watch.observe(one, StallLimits()) for one in (there, back, there, back)]
        assert [one.response for one in again if one] == ["stop"]

    def test_the_step_at_which_the_files_were_so_is_named(self):
        watch = StallWatch("w0")
        worlds = ["w1", "w2", "w1", "w2", "w1"]
        found = [
            watch.observe(
                Observation(calls=[Call(action="edit_file", arguments={"n": n})], world=world, step=14 + n),
                StallLimits(),
            )
            for n, world in enumerate(worlds)
        ]
        assert found[-1] is not None
        assert found[-1].signature == "the files are back at step 14"

    def test_undoing_once_is_not_an_oscillation(self):
        seen = [did("edit_file", n=n, world=world) for n, world in enumerate(["w1", "w0", "w2", "w3"])]
        assert set(findings(StallWatch("w0"), *seen)) == {None}

    def test_a_number_of_failing_tests_that_moves_is_progress(self):
        watch = StallWatch("w")
        seen = [
            Observation(calls=[Call(action="edit_file", arguments={"n": n})], world=f"w{n}", score=20 - n)
            for n in range(20)
        ]
        assert set(findings(watch, *seen)) == {None}

    def test_a_number_of_failing_tests_that_stays_is_none(self):
        watch = StallWatch("w")
        seen = [
            Observation(calls=[Call(action="edit_file", arguments={"n": n})], world=f"w{n}", score=14)
            for n in range(12)
        ]
        found = findings(watch, *seen)
        assert found[5] == ("stagnation", "hint")
        assert found[11] == ("stagnation", "stop")

    def test_a_number_that_moved_earns_a_new_hint(self):
        watch = StallWatch("w")
        scores = [14] * 6 + [13] * 6
        seen = [
            Observation(calls=[Call(action="edit_file", arguments={"n": n})], world=f"w{n}", score=score)
            for n, score in enumerate(scores)
        ]
        assert [one for one in findings(watch, *seen) if one] == [("stagnation", "hint")] * 2

    def test_a_check_that_runs_again_without_a_change_is_not_a_round(self):
        watch = StallWatch("w")
        seen = [Observation(calls=[Call(action="read_file", arguments={"n": n})], score=14) for n in range(10)]
        assert set(findings(watch, *seen)) == {None}

    def test_equal_calls_of_one_step_count_once(self):
        five = Observation(calls=[Call(action="read_file", arguments={"path": "a"}, result="1")] * 5)
        assert findings(StallWatch(), five, five) == [None, None]

    def test_a_step_that_does_something_new_next_to_the_old_is_progress(self):
        seen = [
            Observation(
                calls=[
                    Call(action="read_file", arguments={"path": "a"}, result="1"),
                    Call(action="read_file", arguments={"path": f"n{n}"}, result="1"),
                ]
            )
            for n in range(8)
        ]
        assert set(findings(StallWatch(), *seen)) == {None}


class TestToolErrors:
    def test_eight_of_ten_failing_calls_are_reported_then_end_the_run(self):
        watch = StallWatch("w")
        seen = [did("run_command", f"error {n}", ok=n % 5 == 0, command=f"c{n}") for n in range(20)]
        found = [one for one in findings(watch, *seen) if one]
        assert found == [("tool-errors", "hint"), ("tool-errors", "stop")]

    def test_seven_of_ten_are_not_enough(self):
        seen = [did("run_command", f"error {n}", ok=n % 10 < 3, command=f"c{n}") for n in range(30)]
        assert set(findings(StallWatch(), *seen)) == {None}

    def test_changes_of_the_workspace_do_not_hide_them(self):
        watch = StallWatch("w")
        seen = [did("run_command", f"error {n}", ok=n % 5 == 0, command=f"c{n}", world=f"w{n}") for n in range(20)]
        assert [one for one in findings(watch, *seen) if one] == [("tool-errors", "hint"), ("tool-errors", "stop")]

    def test_ten_good_calls_earn_a_new_hint(self):
        bad = [did("run_command", f"error {n}", ok=False, command=f"c{n}") for n in range(10)]
        good = [did("run_command", f"fine {n}", command=f"g{n}") for n in range(10)]
        worse = [did("run_command", f"worse {n}", ok=False, command=f"w{n}") for n in range(10)]
        found = [one for one in findings(StallWatch(), *bad, *good, *worse) if one]
        assert found == [("tool-errors", "hint")] * 2

    def test_what_a_person_refused_is_not_a_failure_of_a_tool(self):
        watch = StallWatch()
        assert set(findings(watch, *[refused(f"{n}") for n in range(14)])) <= {None, ("stagnation", "hint")}


distinct = st.integers(1, 80).map(
    lambda n: [did("read_file", f"content number {i}", path=f"f{i}.py") for i in range(n)],
)


runs = st.lists(step, max_size=120)


@given(distinct)
@settings(deadline=None)
def test_it_never_fires_while_every_step_brings_something_new(seen):
    assert set(findings(StallWatch("w"), *seen)) == {None}


@given(st.lists(st.booleans(), min_size=1, max_size=80))
@settings(deadline=None)
def test_it_never_fires_while_edits_bring_new_states_of_the_files(failed):
    seen = [did("run_command", "same", ok=not bad or n % 3 == 0, world=f"w{n}") for n, bad in enumerate(failed)]
    assert {None, ("tool-errors", "hint"), ("tool-errors", "stop")} >= set(findings(StallWatch("w"), *seen))


@given(runs)
@settings(max_examples=examples(300), deadline=None)
def test_a_stop_never_comes_without_its_hint(seen):
    watch = StallWatch("w0")
    hinted: set[tuple[str, str]] = set()
    for one in seen:
        found = watch.observe(one, StallLimits())
        if found is not None and found.response == "stop":
            assert found.kind in {kind for kind, _ in hinted}
        if found is not None:
            hinted.add((found.kind, found.signature))


@given(runs)
@settings(deadline=None)
def test_the_same_steps_give_the_same_findings(seen):
    assert findings(StallWatch("w0"), *seen) == findings(StallWatch("w0"), *seen)


@given(runs, runs)
@settings(deadline=None)
def test_a_message_of_a_person_makes_all_before_it_forgotten(before, after):
    watch, fresh = StallWatch("w0"), StallWatch("w0")
    findings(watch, *before)
    watch.observe(did("edit_file", world="w0"), StallLimits())
    watch.reset_after_message()
    assert findings(watch, *after) == findings(fresh, *after)


working = st.builds(did, st.just("read_file"), st.sampled_from("xyz"), path=st.sampled_from("ab"))


@given(st.lists(working, max_size=30))
@settings(max_examples=examples(200), deadline=None)
def test_after_a_new_state_of_the_files_what_repeats_is_counted_again(before):
    watch = StallWatch("w0")
    findings(watch, *before)
    assert watch.observe(did("edit_file", world="brand new"), StallLimits()) is None
    repeated = findings(watch, *[did("read_file", "x", path="a")] * 3)
    assert repeated == [None, None, ("repeat", "hint")]
