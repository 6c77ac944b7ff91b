"""A command of the person's own."""

from fakes.turns import Turn, call, finish

from rundry.agent.protocol import Pause, Shell, Unpause

DONE = finish("all is well", "a.txt:1")
READ = call("read_file", path="a.txt")


async def test_the_model_reads_what_the_person_ran_while_a_step_ran(driven):
    run = driven(READ, READ, DONE)
    run.on("step_started", Pause(), Shell(command="echo from-the-person > mine.txt; cat mine.txt"), number=1)
    run.on("step_started", Pause(), Shell(command="false"), number=2)
    run.on("prompted", Unpause(), kind="shell").on("prompted", Unpause(), kind="shell", nth=2)
    outcome = await run.run()
    assert outcome.reason == "answered", run.story()
    told = [e["text"] for e in run.of("prompted") if e["kind"] == "shell"]
    assert any("(exit code 0)" in text and "from-the-person" in text for text in told), run.story()
    assert "mine.txt" not in outcome.files_changed
    run.assert_legal()


async def test_an_empty_command_is_refused(driven):
    run = driven(READ, Turn(text="hm"), DONE)
    run.on("step_started", Shell(command="  "), number=1)
    await run.run()
    assert [e["why"] for e in run.of("command_refused")] == ["the command is empty"]
