"""What follows an answer in a file format: a pure decision from the answers so far."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from rundry.agent.protocol import (
    FILE_FORMATS,
    Again,
    AnswerFile,
    AnswerRead,
    Budget,
    CheckFinished,
    EditFormat,
    EditFormatChosen,
    Event,
    FileChanged,
    Finish,
    GateMode,
    GatePolicy,
    LoopKind,
    ModelSpec,
    Predicates,
    Reason,
    Restart,
    Restarted,
    RunEnded,
    RunResumed,
    RunSpec,
    Said,
    Stalled,
    Stamped,
    StepFinished,
    StepStarted,
    Undone,
)
from rundry.agent.run.loops import restarts
from rundry.agent.run.loops.shared.loop_state import LoopState
from rundry.agent.state.facts.run_facts import RunFacts


def check(passed: int, of: int = 5) -> CheckFinished:
    return CheckFinished(
        command="pytest",
        passed=False,
        exit_code=1,
        timed_out=False,
        failing=of - passed,
        output="E  wrong",
        ran=of,
    )


class Story:
    """Facts of a run in a file format, told event by event as the runner records them."""

    def __init__(
        self,
        seconds: float | None = None,
        most: int | None = None,
        form: EditFormat = "functions",
        mode: GateMode = GateMode.AUTO,
    ) -> None:
        spec = RunSpec(
            run_id="r",
            loop=LoopKind.GOAL,
            task="repair it",
            workspace="/w",
            model=ModelSpec(name="m"),
            gate=GatePolicy(mode=mode),
            budget=Budget(seconds=seconds),
            predicates=Predicates(until=["pytest"]),
            edit_format=form,
            restarts=most,
        )
        self.facts, self.seq, self.step = RunFacts(spec), 0, 0
        if form == "auto":
            self.tell(EditFormatChosen(format="functions", why="a small model"))
        self.tell(check(1))

    def tell(self, *events: Event, step: int | None = None) -> None:
        for event in events:
            self.seq += 1
            self.facts.apply(Stamped(self.seq, 0.0, step, None, event))

    def answer(
        self, passed: int | None = None, *, digest: str = "", same_as: int = 0, seconds: float = 10.0, parts: int = 3
    ) -> None:
        """An answer: a candidate of which this many tests pass, or one that cannot be used (None)."""
        self.step += 1
        answers = self.facts.answers
        number = len(answers.all) + 1
        files = [] if passed is None else [AnswerFile(path="a.py", before="b", after=f"s{number}")]
        read = AnswerRead(
            number=number,
            format=next(form for form in FILE_FORMATS if form == answers.format),
            base=0 if answers.base is None else answers.base.number,
            path="a.py",
            problem="" if passed is not None else "no code",
            same_as=same_as,
            digest=digest or (f"d{number}" if passed is not None else ""),
            files=files,
            part=answers.restart.part if answers.restart is not None and parts else 0,
            parts=parts if answers.restart is not None and answers.restart.part else 0,
        )
        self.tell(StepStarted(number=self.step), read, step=self.step)
        if passed is not None:
            self.tell(
                FileChanged(path="a.py", by="model", before="b", after=f"s{number}"), check(passed), step=self.step
            )
        self.tell(StepFinished(number=self.step, seconds=seconds), step=self.step)

    def decide(self) -> Again | Restart | Stalled | Finish:
        found = restarts.decide(LoopState(self.facts))
        assert isinstance(found, Again | Restart | Stalled | Finish)
        return found

    def restart(self) -> Restart:
        found = self.decide()
        assert isinstance(found, Restart), found
        undone = [Undone(changes=1, by="restart")] if self.facts.answers.all[-1].is_written else []
        number = self.facts.answers.restarts + 1
        restarted = Restarted(
            number=number,
            why=found.why,
            base=found.base,
            format=found.format,
            temperature=found.temperature,
            variant=found.variant,
            part=found.part,
        )
        self.tell(*undone, restarted)
        assert isinstance(self.decide(), Again | Finish)
        return found


def test_the_first_answer_is_asked_for_without_a_restart():
    assert isinstance(Story().decide(), Again)


def test_a_better_answer_gets_one_more_try_on_its_text_and_a_worse_one_does_not():
    story = Story()
    story.answer(3)
    assert story.restart().base == 1
    story.answer(3)
    assert story.restart().base != 2, "no test more than its base"
    other = Story()
    other.answer(0)
    assert other.restart().base == 0


def test_temperatures_rise_faster_without_a_new_program_and_each_kind_of_format_begins_cold():
    story, seen = Story(), list[tuple[str, float]]()
    for outcome in (0, 0, None, None, None, None, None, 0, None, None, None, None, None):
        story.answer(outcome)
        planned = story.restart()
        seen.append((planned.format, planned.temperature))
    assert seen[:4] == [("functions", 0.7), ("functions", 1.0), ("functions", 1.0), ("functions", 1.0)]
    assert seen[5:7] == [("constrained", 0.0), ("constrained", 1.0)]
    assert [form for form, _ in seen[7:]] == ["constrained"] * 4 + ["whole"] * 2
    assert seen[11:] == [("whole", 1.0), ("whole", 1.0)], "its kind was tried"


def test_the_output_of_the_check_and_the_failing_test_are_shown_in_turns():
    story, seen = Story(), list[str]()
    assert story.facts.answers.variant == "output"
    for outcome in (0, 0, None, 0):
        story.answer(outcome)
        story.restart()
        seen.append(story.facts.answers.variant)
    assert seen == ["test", "output", "test", "output"]


def test_after_two_four_and_eight_answers_each_part_is_asked_for_once():
    story, seen = Story(form="auto"), list[tuple[str, int, float]]()
    for number in range(15):
        story.answer(0 if number % 2 else None)
        planned = story.restart()
        seen.append((planned.variant, planned.part, planned.temperature))
        assert planned.base == 0 or not planned.part
    assert [part for _, part, _ in seen] == [0, 1, 2, 3, 0, 0, 1, 2, 3, 0, 0, 0, 0, 1, 2]
    assert {warm for _, part, warm in seen if part} == {1.0}
    assert [variant for variant, part, _ in seen if not part] == ["test", "output"] * 3 + ["test"]


def test_a_file_without_parts_is_asked_for_as_a_whole_and_a_person_who_chose_the_format_gets_it_alone():
    story = Story(form="auto")
    for _ in range(2):
        story.answer(0)
        story.restart()
    assert story.facts.answers.variant == "part"
    story.answer(0, parts=0)
    assert story.restart().part == 0, "the file had no parts"
    for other in (Story(form="functions"), Story(form="auto", mode=GateMode.ASK)):
        for _ in range(8):
            other.answer(0)
            assert other.restart().part == 0


def test_a_round_continues_after_a_kill_and_ends_when_something_has_changed():
    story = Story(form="auto")
    for _ in range(3):
        story.answer(0)
        planned = story.restart()
    assert planned.part == 2
    story.tell(RunResumed(run_id="r", from_seq=story.seq))
    story.answer(0)
    assert story.restart().part == 3, "the runner was killed"
    changed = FileChanged(path="a.py", by="person", before="b", after="c")
    story.tell(changed)
    assert story.facts.answers.variant == "output"
    for expected in (0, 1):
        story.answer(0)
        assert story.restart().part == expected
    for event in (Said(text="try this"), RunEnded(reason=Reason.STAGNATION, detail="", complete=False, exit_code=4)):
        story.tell(event)
    story.tell(RunResumed(run_id="r", from_seq=story.seq))
    story.answer(0)
    assert story.restart().part == 0, "a new chance begins as a run does"


def test_a_limit_of_restarts_ends_the_run():
    story = Story(most=1)
    story.answer(0)
    story.restart()
    story.answer(0)
    assert story.decide() == Stalled("--restarts 1")


def test_a_run_with_less_time_than_its_quickest_answer_took_ends_before_the_next():
    story = Story(seconds=25.0)
    story.answer(0, seconds=10.0)
    story.restart()
    story.answer(0, seconds=8.0)
    end = story.decide()
    assert isinstance(end, Finish) and end.reason is Reason.BUDGET and end.limit == "seconds", end
    assert "7 s left" in end.detail and "took 8 s" in end.detail and not end.wrap_up


def test_if_no_time_is_left_for_the_file_its_parts_are_asked_for():
    story = Story(seconds=60.0, form="auto")
    story.answer(0, seconds=40.0)
    planned = story.restart()
    assert (planned.part, planned.variant, planned.base) == (1, "part", 0), "20 s are left"
    for _ in range(3):
        assert isinstance(story.decide(), Again), "the answer to the part has time"
        story.answer(0, seconds=5.0)
        planned = story.restart()
    assert planned.part == 1, "another round: 5 s are left"
    story.answer(0, seconds=4.0)
    end = story.decide()
    assert isinstance(end, Finish) and "1 s left" in end.detail and "took 4 s" in end.detail
    chosen = Story(seconds=60.0, form="functions")
    chosen.answer(0, seconds=40.0)
    assert isinstance(chosen.decide(), Finish), "a person chose the format"


OUTCOMES = st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=1, max_size=60)


@settings(max_examples=200)
@given(OUTCOMES, st.one_of(st.none(), st.integers(0, 5)))
def test_every_run_ends_by_useless_answers_or_its_limit_and_a_replay_decides_the_same(
    outcomes: list[int | None], most: int | None
):
    one, two = Story(most=most), Story(most=most)
    for outcome in [*outcomes, *[None] * 40]:
        for story in (one, two):
            story.answer(outcome)
        decided = one.decide()
        assert decided == two.decide()
        if isinstance(decided, Stalled):
            break
        assert isinstance(decided, Restart) and 0 <= decided.temperature <= 1
        base = one.facts.answers.answer(decided.base) if decided.base else None
        assert base is None or base.passed > 1, "a base is better than the start"
        for story in (one, two):
            story.restart()
    else:
        raise AssertionError("it never ended")
    uses = [answer.base for answer in one.facts.answers.all if answer.base]
    assert all(uses.count(number) <= 3 for number in uses)
    assert most is None or one.facts.answers.restarts <= most
