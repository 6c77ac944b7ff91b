import asyncio
import tempfile
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.turns import call, say
from fakes.visible_folders import visible_folder

from rundry.agent.protocol import Decide, GateMode, Interrupt, Predicates, Stop
from rundry.agent.sandbox.sandbox import Sandbox


@pytest.fixture
async def place(pytestconfig):
    """A workspace and a folder outside of it; not below /tmp, of which a sandbox has its own."""
    found = await Sandbox.detect(kinds=["bubblewrap"])
    if found.kind is None:
        pytest.skip(found.why_none)
    with tempfile.TemporaryDirectory(dir=visible_folder(pytestconfig.rootpath), prefix=".test-") as folder:
        for name in ("work", "outside", "runs"):
            (Path(folder) / name).mkdir(mode=0o700)
        yield Path(folder)


@pytest.fixture
def driven(place):
    def make(*commands, **options):
        turns = [call("run_command", command=command) for command in commands]
        return Driven(place / "runs", place / "work", ScriptedModel([*turns, say("done")]), **options)

    return make


def decide(verdict, **more):
    return lambda event: Decide(proposal_id=event["proposal_id"], digest=event["digest"], verdict=verdict, **more)


def beyond(run):
    return [event["beyond"] for event in run.events if event["type"] == "proposal_opened" and event["beyond"]]


async def test_a_person_lets_a_write_outside_through_once_and_nothing_else(place, driven):
    out = place / "outside"
    run = driven(f"touch {out}/a", f"touch {out}/b")
    what = f"write in {out} (for a)"
    run.on("proposal_opened", decide("approve"), beyond=what)
    run.on("proposal_opened", decide("reject", reason="one is enough"), beyond=f"write in {out} (for b)")
    await run.run(watched=True)
    assert [path.name for path in out.iterdir()] == ["a"]
    opened = [e for e in run.events if e["type"] == "proposal_opened" and e["beyond"]]
    assert all(e["danger"] and e["rule"] is None and e["asks"] for e in opened) and opened[0]["beyond"] == what
    assert f"The sandbox refused: {what}. The person allowed it once:\nexit code 0" in run.heard()
    assert "The person did not allow it: one is enough" in run.heard()
    assert [e["ok"] for e in run.events if e["type"] == "tool_finished"][:2] == [True, False]


async def test_each_further_need_is_asked_about_and_adds_to_the_first(place, driven):
    out = place / "outside"
    (out / "one").mkdir()
    (out / "two").mkdir()
    run = driven(f"touch {out}/one/a && touch {out}/two/b")
    run.on("proposal_opened", decide("approve"), beyond=f"write in {out}/one (for a)")
    both = f"write in {out}/one (for a); write in {out}/two (for b)"
    run.on("proposal_opened", decide("approve"), beyond=both)
    await run.run(watched=True)
    assert (out / "one/a").exists() and (out / "two/b").exists() and beyond(run)[-1] == both


async def test_the_network_is_let_through_alone(place, driven):
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    # The first try names a place that no route leads to; let through, it reaches this machine.
    line = (
        f"(exec 3<>/dev/tcp/127.0.0.1/{port}) && touch reached && touch {place}/outside/x; exec 3<>/dev/tcp/192.0.2.1/9"
    )
    try:
        run = driven(f"timeout 2 bash -c '{line}'")
        run.on("proposal_opened", decide("approve"), beyond="the network")
        run.on("proposal_opened", decide("reject"), beyond=f"the network; write in {place}/outside (for x)")
        await run.run(watched=True)
    finally:
        server.close()
        await server.wait_closed()
    assert beyond(run)[0] == "the network"
    assert (place / "work/reached").exists() and not (place / "outside/x").exists()


async def test_where_nobody_is_there_the_model_reads_what_was_refused(place, driven):
    run = driven(f"touch {place}/outside/a", "exec 3<>/dev/tcp/192.0.2.1/9")
    await run.run()
    assert beyond(run) == [] and not list((place / "outside").iterdir())
    assert "The sandbox refused: write in" in run.heard() and "The sandbox refused: the network." in run.heard()
    assert run.heard().count("Nobody is here to allow it") == 2


async def test_no_proposal_opens_for_success_or_for_tests_that_fail(place, driven):
    said = f"touch: cannot touch '{place}/outside/a': Read-only file system"
    (place / "work" / "log").write_text(f"{said}\n")
    run = driven("grep -h Read-only log", "cat log; echo '1 failed, 2 passed in 0.10s'; exit 1")
    await run.run(watched=True)
    assert beyond(run) == [] and "The sandbox refused" not in run.heard()


@pytest.mark.parametrize("mode", [GateMode.ASK, GateMode.AUTO])
async def test_no_mode_lets_it_pass_by_itself(place, driven, mode):
    run = driven(f"touch {place}/outside/a", gate=mode)
    run.on("proposal_opened", decide("approve"), beyond=None)
    run.on("proposal_opened", decide("reject"), beyond=f"write in {place}/outside (for a)")
    await run.run(watched=True)
    assert len(beyond(run)) == 1 and not list((place / "outside").iterdir())


async def test_interrupted_while_it_waits_the_command_is_reported_to_have_run(place, driven):
    run = driven(f"echo printed; touch {place}/outside/a")
    run.on("proposal_opened", Interrupt(), beyond=f"write in {place}/outside (for a)")
    run.on("interrupted", Stop(how="now"))
    await run.run(watched=True)
    finished = next(e for e in run.events if e["type"] == "tool_finished")
    assert "printed" in finished["result"] and "The sandbox refused" in finished["result"]


async def test_with_the_network_allowed_no_command_is_refused_it(place, driven):
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    line = f"exec 3<>/dev/tcp/127.0.0.1/{port}"
    wanted = Predicates(until=[f"test -e x && {line}"], scope=["**"])
    try:
        run = driven(line, "touch x", predicates=wanted, network=True)
        outcome = await run.run()
    finally:
        server.close()
        await server.wait_closed()
    assert outcome.reason == "done" and beyond(run) == []
    assert next(event for event in run.events if event["type"] == "run_started")["network"]
