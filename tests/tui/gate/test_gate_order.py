"""What waits together is shown by risk, and no order decides anything (decisions/0043, 7)."""

from __future__ import annotations

from fakes.played_events import proposal, started
from fakes.pressing import press
from fakes.views.gate_stage import GateStage
from painted import until

PLAIN = {"command": "make one", "digest": "digest-plain"}
NETWORK = {
    "command": "pip download x",
    "beyond": "the network",
    "danger": True,
    "rule": None,
    "digest": "digest-network",
}
TOOL = {"command": None, "server": "time", "name": "now", "call": "{}", "tool": "time__now", "digest": "digest-tool"}


async def test_protected_files_come_first_then_the_network_then_deletions_then_the_rest(stage: GateStage):
    gone = stage.edit(4, path="old.py", old="x = 1\n", new="", after=None, digest="digest-gone")
    protected = stage.edit(6, path=".envrc", old="", new="A=1\n", danger=True, digest="digest-protected")
    later = {**PLAIN, "command": "make two", "digest": "digest-later"}
    async with stage.app.run_test(size=(120, 40)) as pilot:
        commands = [proposal(1, **PLAIN), proposal(2, **later), proposal(3, **NETWORK)]
        stage.play(started(), *commands, gone, proposal(5, **TOOL), protected)
        order = ["protected", "network", "tool", "gone", "plain", "later"]
        for at, name in enumerate(order, 1):
            await until(pilot, lambda at=at: f"< {at} of 6 waiting >" in stage.text())
            await until(pilot, lambda name=name: stage.takes_keys(f"digest-{name}"))
            await press(pilot, ">")
        await until(pilot, lambda: "< 1 of 6 waiting >" in stage.text())
        assert stage.decided == []


async def test_a_proposal_that_is_on_the_screen_stays_there_when_a_riskier_one_arrives(stage: GateStage):
    protected = stage.edit(2, path=".envrc", old="", new="A=1\n", danger=True, digest="digest-protected")
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await stage.opened(pilot, started(), proposal(1, **PLAIN))
        stage.play(protected)
        await until(pilot, lambda: "< 2 of 2 waiting >" in stage.text())
        assert "make one" in stage.text()
        await press(pilot, "y")
        assert [command.digest for command in stage.decided] == ["digest-plain"]
        await until(pilot, lambda: stage.takes_keys("digest-protected"))
