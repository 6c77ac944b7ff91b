"""A claim on files that were just judged red is answered without another run of the check, and never more than that."""

from __future__ import annotations

from pathlib import Path

from fakes.in_process.headless_run import play
from fakes.project import CHECK, FIX_BOTH, read
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, finish, say
from fakes.wire import text_of

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Budget, Predicates, Stamped, StepStarted, Verify

EARLY = "was not run again, because nothing changed since it failed"
RUN = call("run_command", command="true")
CLAIM = say("I am done.")


def checks_of(ran) -> list[int | None]:
    return [event["step"] for event in ran.of("check_finished")]


async def run(
    runs: Path, project: Path, turns: list[Turn], until: str = CHECK, verify: Verify = Verify.ON_CHANGE
) -> tuple[list[int | None], list[str], dict]:
    """Return the steps after which the check ran, the newest message of each request, and the outcome."""
    with ScriptedServer(turns, then=say("no")) as server:
        ran = await play(
            runs,
            server,
            project,
            predicates=Predicates(until=[until], verify=verify),
            budget=Budget(steps=len(turns)),
        )
        return checks_of(ran), [text_of(request.messages[-1]) for request in server.requests], ran.outcome


async def test_a_claim_on_unchanged_files_does_not_run_a_red_check_again(runs: Path, project: Path):
    turns = [CLAIM, read("NOTES.md"), finish("done"), call("edit_file", path="NOTES.md", old_text="?!", new_text="x")]
    steps, said, _ = await run(runs, project, [*turns, CLAIM, FIX_BOTH])
    assert steps == [None, 6]
    assert said[1].count(EARLY) == 1 and len(said[1].split(EARLY)[0].splitlines()) == 1
    assert EARLY in said[5]


async def test_a_green_verdict_follows_the_change_that_earns_it(runs: Path, project: Path):
    steps, _, outcome = await run(runs, project, [CLAIM, FIX_BOTH, CLAIM])
    assert (outcome["reason"], steps) == ("done", [None, 2])


async def test_every_step_runs_the_check_after_every_step(runs: Path, project: Path):
    steps, said, _ = await run(runs, project, [CLAIM, read("NOTES.md"), CLAIM, FIX_BOTH], verify=Verify.EVERY_STEP)
    assert steps == [None, 1, 2, 3, 4]
    assert not any(EARLY in text for text in said)


async def test_a_command_may_change_what_the_check_sees_outside_of_the_files(runs: Path, project: Path):
    steps, _, _ = await run(runs, project, [CLAIM, RUN, CLAIM, CLAIM])
    assert steps == [None, 3]


async def test_an_ignored_file_that_the_user_writes_is_a_change(runs: Path, project: Path):
    (project / ".gitignore").write_text("out.txt\n")

    def write(_: Journal, stamped: Stamped) -> None:
        if isinstance(stamped.event, StepStarted) and stamped.event.number == 2:
            (project / "out.txt").write_text("x")

    wanted = Predicates(until=["test -e out.txt"], verify=Verify.ON_CHANGE)
    with ScriptedServer([CLAIM, CLAIM, CLAIM]) as server:
        ran = await play(runs, server, project, predicates=wanted, budget=Budget(steps=3), on_event=write)
    assert (ran.outcome["reason"], checks_of(ran)) == ("done", [None, 2])


async def test_a_check_with_two_verdicts_on_the_same_files_is_always_run(runs: Path, project: Path):
    # Red, green, red: the command in between leads to a second run on the same files.
    said = project / ".git/said"
    said.write_text("red\n")

    def write(_: Journal, stamped: Stamped) -> None:
        if isinstance(stamped.event, StepStarted):
            said.write_text("green\n" if stamped.event.number == 2 else "red\n")

    with ScriptedServer([RUN, CLAIM, CLAIM, CLAIM], then=say("no")) as server:
        ran = await play(
            runs,
            server,
            project,
            predicates=Predicates(until=["grep -q green .git/said"], until_file=["never.txt"], verify=Verify.ON_CHANGE),
            budget=Budget(steps=5),
            on_event=write,
        )
    assert [event["passed"] for event in ran.of("check_finished")][:2] == [False, True]
    assert checks_of(ran) == [None, 2, 3, 4, 5]


async def test_a_check_that_timed_out_is_run_again(runs: Path, project: Path):
    slow = Predicates(until=["sleep 30"], timeout=0.3, verify=Verify.ON_CHANGE)
    with ScriptedServer([CLAIM, CLAIM]) as server:
        ran = await play(runs, server, project, predicates=slow, budget=Budget(steps=2))
    assert checks_of(ran) == [None, 1, 2]
