from __future__ import annotations

import asyncio
from pathlib import Path

from fakes.clock import ManualClock
from fakes.in_process.driven import Driven
from fakes.turns import call, finish

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import HandoffTier, ModelSpec, Reason, Refusal, Say, SetLimit, Stop
from rundry.agent.run.client.start_request import ResumeChanges

READ = call("read_file", path="a.txt")
DONE = finish("all is well", "a.txt:1")
ASK = call("ask_person", question="tabs or spaces?")
PERSON = HandoffTier(kind="person", after=600.0)
STRONGER = HandoffTier(kind="model", model=ModelSpec(name="stronger"))


def mail(run: str, after: float | None = None) -> HandoffTier:
    return HandoffTier(kind="command", run=run, after=after)


def asked(run: Driven) -> list[tuple[int, str]]:
    return [(e["number"], e["kind"]) for e in run.of("tier_asked")]


def passed(run: Driven) -> list[tuple[int, str]]:
    return [(e["number"], e["why"]) for e in run.of("tier_passed")]


async def ticking(run: Driven, clock: ManualClock, seconds: int, **more):
    """Drives it while the time goes by, a second at a time, once a tier is asked."""

    async def go() -> None:
        while not run.of("tier_asked"):
            await asyncio.sleep(0.005)
        for _ in range(seconds):
            clock.tick(1.0)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    going = asyncio.create_task(go())
    try:
        return await run.run(clock=clock, **more)
    finally:
        going.cancel()


async def test_a_person_has_their_time_and_then_the_next_is_asked(driven, tmp_path):
    told = tmp_path / "told.md"
    run = driven(READ, then=READ, on_stall="handoff", tiers=[PERSON, mail(f"cat > {told}")])
    clock = ManualClock()
    outcome = await ticking(run, clock, 700, watched=True, stays=True)
    assert outcome.reason is Reason.HANDOFF, run.story()
    assert asked(run) == [(1, "person"), (2, "command")]
    assert passed(run) == [(1, "no response"), (2, "notified")]
    (first, _) = run.of("tier_asked")
    assert first["until"] == 1_800_000_000.0 + 600.0
    assert told.read_text().startswith("# Hand-off: ")


async def test_a_person_who_comes_in_time_ends_the_climb(driven):
    run = driven(READ, then=READ, on_stall="handoff", tiers=[PERSON, STRONGER])
    run.on("tier_asked", Say(text="stop reading: finish"))
    run.on("said", lambda e: run.model.turns.clear() or Stop(how="now"), kind="say")
    outcome = await run.run(watched=True)
    assert outcome.reason is Reason.USER, run.story()
    assert asked(run) == [(1, "person")]
    assert [e["by"] for e in run.of("handoff_closed")] == ["person"]
    assert "stop reading: finish" in [e["text"] for e in run.of("said")]


async def test_without_a_view_the_person_is_passed_immediately_and_a_model_takes_over_with_the_reason(driven):
    run = driven(READ, ASK, DONE, on_ask="handoff", tiers=[PERSON, STRONGER])
    outcome = await run.run()
    assert outcome.reason is Reason.ANSWERED, run.story()
    assert passed(run) == [(1, "no view is attached")]
    assert asked(run) == [(2, "model")]
    (switched,) = run.of("model_switched")
    assert (switched["by"], switched["spec"]["name"]) == ("tier", "stronger")
    heard = run.heard()
    assert "You take over from another model (scripted), which could not continue: the model asks: tabs or" in heard
    run.assert_legal()


async def test_a_model_that_took_over_is_not_asked_again_for_the_same_hand_off(driven, tmp_path):
    told = tmp_path / "told"
    run = driven(READ, ASK, ASK, on_ask="handoff", tiers=[STRONGER, mail(f"cat > {told}")])
    outcome = await run.run()
    assert outcome.reason is Reason.HANDOFF, run.story()
    assert asked(run) == [(1, "model"), (2, "command")]
    assert told.exists()


async def test_a_person_who_resumes_it_begins_the_ladder_again(driven):
    run = driven(READ, ASK, ASK, ASK, DONE, on_ask="handoff", tiers=[STRONGER, mail("true")])
    assert (await run.run()).reason is Reason.HANDOFF
    run.events.clear()
    assert (await run.run(changes=ResumeChanges(hint="tabs"))).reason is Reason.HANDOFF, run.story()
    assert passed(run)[0] == (1, "stronger is already in use")


async def test_a_model_whose_time_is_over_hands_on_to_the_next(driven):
    timed = HandoffTier(kind="model", model=ModelSpec(name="stronger"), after=60.0)
    clock = ManualClock()
    run = driven(READ, ASK, READ, READ, on_ask="handoff", tiers=[timed, mail("true")])

    def a_minute_later(event):
        clock.tick(61.0)
        return SetLimit(name="steps", value=30)

    run.on("step_finished", a_minute_later, number=3)
    outcome = await run.run(clock=clock)
    assert outcome.reason is Reason.HANDOFF, run.story()
    assert asked(run) == [(1, "model"), (2, "command")]
    reasons = [e["reason"] for e in run.of("handoff_opened")]
    question = "the model asks: tabs or spaces?"
    assert reasons == [question, f"stronger did not solve it: {question}"]
    assert outcome.steps == 3


async def test_a_command_gets_the_record_on_stdin_and_the_persons_own_environment(driven, tmp_path, monkeypatch):
    out = tmp_path / "out"
    monkeypatch.setenv("MAIL_TO", "me")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-person-0123456789")
    line = f'{{ echo "$MAIL_TO|$RUNDRY_WHY|$RUNDRY_RUN|$RUNDRY_JOURNAL|$RUNDRY_REASON"; cat; }} > {out}'
    run = driven(READ, ASK, on_ask="handoff", tiers=[mail(line)])
    await run.run()
    head, _, record = out.read_text().partition("\n")
    assert head == f"me|handoff|{run.spec.run_id}|{run.path}|the model asks: tabs or spaces?"
    assert "tabs or spaces?" in record and f"rundry resume {run.spec.run_id}" in record


async def test_a_command_that_fails_says_how_and_the_run_still_ends_with_its_hand_off(driven):
    run = driven(READ, ASK, on_ask="handoff", tiers=[mail("echo no route >&2; exit 3"), mail("nosuchcommand-x")])
    outcome = await run.run()
    assert outcome.reason is Reason.HANDOFF
    (first, second) = passed(run)
    assert first == (1, "`echo no route >&2; exit 3`: exit code 3: no route")
    assert "nosuchcommand-x" in second[1] and "127" in second[1]
    assert asked(run) == []


async def test_a_model_that_cannot_be_reached_is_passed_with_the_reason(driven):
    run = driven(READ, ASK, on_ask="handoff", tiers=[STRONGER, mail("true")])
    opened: list[str] = []

    async def probe() -> None:
        opened.append("probed")
        if len(opened) > 1:
            raise Refusal("stronger cannot be reached")

    run.model.probe = probe
    outcome = await run.run()
    assert outcome.reason is Reason.HANDOFF
    assert passed(run) == [(1, "stronger cannot be reached"), (2, "notified")]
    assert run.of("model_switched") == []


async def test_a_stop_while_a_command_runs_ends_the_run_and_the_command(driven, tmp_path):
    pid = tmp_path / "pid"
    run = driven(READ, ASK, on_ask="handoff", tiers=[mail(f"echo $$ > {pid}; sleep 600")])
    stopping = asyncio.create_task(run.put_once(pid, Stop(how="now")))
    outcome = await run.run()
    await stopping
    assert outcome.reason is Reason.USER, run.story()
    number = int(pid.read_text())
    async with asyncio.timeout(10):
        while Path(f"/proc/{number}").exists():
            await asyncio.sleep(0.01)


async def test_a_runner_that_dies_in_the_middle_of_the_climb_is_followed_by_one_that_continues_there(driven, tmp_path):
    told = tmp_path / "told"
    tiers = [mail(f"echo x >> {told}"), PERSON, mail(f"echo y >> {told}")]
    run = driven(READ, then=READ, tiers=tiers, on_stall="handoff")
    clock = ManualClock()
    await ticking(run, clock, 700, watched=True, stays=True)
    killed = run.killed_at("tier_asked", number=2)
    later = ManualClock(now=1_800_000_000.0 + 590.0)
    outcome = await ticking(killed, later, 20, watched=True, stays=True)
    assert outcome.reason is Reason.HANDOFF, killed.story()
    assert asked(killed) == [(2, "person"), (3, "command")]
    assert killed.of("tier_asked")[0]["until"] == run.of("tier_asked")[-2]["until"]
    assert passed(killed) == [(2, "no response"), (3, "notified")]
    assert told.read_text().split() == ["x", "y", "y"]
    assert killed.of("handoff_closed") == []


async def test_a_wait_of_a_tier_is_not_a_reason_to_park(driven):
    run = driven(READ, ASK, on_ask="handoff", tiers=[mail("true", after=7200.0)])
    clock = ManualClock()
    outcome = await ticking(run, clock, 7300)
    assert outcome.reason is Reason.HANDOFF
    assert passed(run) == [(1, "notified, no response")]
    assert run.of("run_ended")


async def test_a_view_that_goes_away_passes_the_person(driven):
    run = driven(READ, then=READ, on_stall="handoff", tiers=[PERSON, mail("true")])

    def leave(event):
        view = Journal.open(run.path)
        view.views.detach("test")
        view.close()
        return Say(text="")

    run.on("tier_asked", leave, kind="person")
    outcome = await run.run(watched=True)
    assert outcome.reason is Reason.HANDOFF, run.story()
    assert passed(run) == [(1, "the view was closed"), (2, "notified")]
