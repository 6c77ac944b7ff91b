"""The wheel, the way back and what runs in the background, by keys on the screen of a run that is driven."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.turns import Turn, call, edit, say
from painted import painted, until

from rundry.agent import LoopKind, Session, Stop
from rundry.tui.app.app import RundryApp
from rundry.tui.control.run_controller import RunController
from rundry.tui.pages.rewind_page import RewindScreen

SERVER = "echo listening; while :; do sleep 0.05; done"


class Live:
    """A chat that is driven in this process, with a screen on it."""

    def __init__(self, run: Driven, app: RundryApp, controller: RunController, pilot) -> None:
        self.run, self.app, self.controller, self.pilot = run, app, controller, pilot
        self.work = Path(run.spec.workspace)

    def shown(self) -> str:
        return painted(self.app)

    async def until(self, enough: Callable[[], bool]) -> None:
        await until(self.pilot, enough)

    async def sees(self, text: str) -> None:
        await self.until(lambda: text in self.shown())

    async def types(self, text: str) -> None:
        await self.pilot.press(*(" " if key == " " else key for key in text), "enter")


@pytest.fixture
def live(tmp_path: Path):
    work, runs = tmp_path / "work", tmp_path / "runs"
    work.mkdir()
    runs.mkdir(mode=0o700)
    (work / "a.txt").write_text("one\n")
    (work / "b.txt").write_text("two\n")

    @asynccontextmanager
    async def begin(*turns: Turn, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Live]:
        run = Driven(runs, work, ScriptedModel(turns, then=say("noted")), loop=LoopKind.CHAT, task="the first")
        driving = asyncio.ensure_future(run.run(watched=True, linger=False, within=60))
        controller = RunController(Session.attach(run.path))
        app = RundryApp(controller)
        try:
            async with app.run_test(size=size) as pilot:
                page = Live(run, app, controller, pilot)
                await page.until(lambda: controller.state.waiting == "message")
                yield page
        finally:
            controller.link.put(Stop(how="now"))
            await driving
            controller.link.close()

    return begin


async def test_control_is_taken_used_and_returned_by_keys(live):
    async with live(say("hello")) as page:
        await page.pilot.press("alt+w")
        await page.sees("you control")
        await page.sees("a command for the model's tool")
        await page.types("echo mine > c.txt")
        await page.sees("you: run echo mine > c.txt")
        await page.sees("c.txt changed by command")
        await page.types("!echo beside")
        await page.sees("! echo beside")
        await page.types("/control c.txt was missing")
        await page.sees("you returned control to the model")
        await page.sees("reported your actions to the model")
        await page.types("and now?")
        await page.sees("noted")
        heard = page.run.heard()
        assert "c.txt was missing" in heard and "+mine" in heard and "The person ran `echo beside`" in heard


async def test_what_is_for_the_driver_is_refused_to_others(live):
    async with live(say("hello")) as page:
        await page.types("/edit a.txt")
        await page.sees("/edit works only while you are in control")
        await page.pilot.press("ctrl+u")
        await page.types("/finish done")
        await page.sees("/finish works only while you are in control")


async def test_a_notice_ends_by_itself_while_nothing_happens(live):
    async with live(say("hello"), size=(80, 24)) as page:
        await page.types("hi")
        await page.until(lambda: page.controller.state.waiting == "message")
        await page.pilot.press("escape")
        await page.sees("press esc again to rewind")
        await until(page.pilot, lambda: "esc again" not in page.shown(), seconds=12)


async def test_esc_esc_lists_the_messages_and_y_brings_the_files_and_the_words_back(live):
    async with live(say("hello"), edit("a.txt", "one", "ONE"), say("done"), size=(80, 24)) as page:
        await page.types("change it")
        await page.until(lambda: page.controller.state.waiting == "message" and len(page.run.model.requests) == 3)
        await page.pilot.press("escape")
        await page.sees("press esc again to rewind")
        await page.pilot.press("escape")
        await page.until(lambda: isinstance(page.app.screen, RewindScreen))
        await page.pilot.pause()
        text = page.shown()
        assert text.index("the first") < text.index("▸ change it")
        assert "Would restore 1 file (1 change); changes by others are kept." in text
        await page.pilot.press("tab")
        await page.sees("step 2  edit a.txt")
        await page.pilot.press("tab", "enter")
        await page.sees("restores 1 file")
        await page.pilot.pause()
        assert "▸ a.txt" in page.shown() and (page.work / "a.txt").read_text() == "ONE\n"
        await page.pilot.press("escape")
        await page.sees("▸ change it")
        await page.pilot.press("enter")
        await page.sees("restores 1 file")
        await page.pilot.pause()
        await page.pilot.press("y")
        await page.sees("back to before “change it”")
        assert (page.work / "a.txt").read_text() == "one\n"
        assert page.app.screen.message.box.text == "change it"
        assert page.controller.status.phase == "waiting for you"
        await page.pilot.press(*" not", "enter")
        await page.sees("noted")
        assert [m.text for m in page.run.model.requests[-1].messages if m.role == "user"] == [
            "the first",
            "change it not",
        ]


async def test_esc_leaves_everything_as_it_is_and_with_a_draft_esc_esc_clears_it_and_up_restores_it(live):
    async with live(say("hello")) as page:
        await page.types("/rewind")
        await page.until(lambda: isinstance(page.app.screen, RewindScreen))
        await page.pilot.press("escape")
        await page.until(lambda: not isinstance(page.app.screen, RewindScreen))
        await page.pilot.press(*"half", "escape", "escape")
        await page.pilot.pause()
        assert not isinstance(page.app.screen, RewindScreen)
        assert page.app.screen.message.box.text == ""
        await page.pilot.press("up")
        assert page.app.screen.message.box.text == "half"
    assert not page.run.of("rewound")


async def test_what_runs_in_the_background_is_listed_and_ended_by_its_name(live):
    async with live(call("start_command", name="web", command=SERVER), say("it runs"), size=(80, 24)) as page:
        await page.sees("▸ web")
        await page.sees("listening")
        await page.sees("/stop web")
        await page.types("/stop web")
        await page.sees("web ended: stopped by the person")
        assert "▸ web" not in page.shown()
        await page.types("/stop web")
        await page.sees("/stop now, or /stop NAME")


async def test_a_command_with_two_exclamation_marks_is_shown_and_not_sent_and_esc_ends_it(live):
    async with live(say("hello")) as page:
        await page.types("!!echo between-us")
        await page.sees("!! echo between-us")
        await page.types("!echo begun; sleep 60")
        await page.until(lambda: bool(page.controller.state.at_shell) and (page.run.of("shell_started")[-1]["told"]))
        await page.pilot.press("escape")
        await page.sees("interrupted")
        await page.types("go on")
        await page.sees("noted")
        assert "between-us" not in page.run.heard() and "(interrupted)" in page.run.heard()


async def test_a_queued_message_comes_back_into_an_empty_box_by_up(live):
    async with live(say("hello"), Turn(text="I think about it", hold_after=2)) as page:
        await page.types("think")
        await page.until(lambda: page.controller.state.activity == "streaming")
        await page.types("later thought")
        await page.sees("queued  later thought")
        await page.pilot.press("up")
        await page.until(lambda: page.app.screen.message.box.text == "later thought")
        await page.until(lambda: "queued  later" not in page.shown())
        page.run.model.released.set()
        await page.until(lambda: page.controller.state.waiting == "message")
    assert [e["text"] for e in page.run.of("said")] == ["the first", "think"]


async def test_a_summary_is_asked_for_shown_with_its_price_and_taken_back(live):
    long = "many words " * 300
    async with live(say(long), say(long), say("ok"), say("a short summary")) as page:
        for text in ("second", "third"):
            await page.types(text)
            await page.until(lambda text=text: any(e["text"] == text for e in page.run.of("said")))
            await page.until(lambda: page.controller.state.waiting == "message")
        await page.types("/compact")
        await page.sees("conversation compacted: instead of the messages above, the model reads this summary")
        await page.sees("tokens, 0.00 USD")
        await page.until(lambda: page.controller.status.phase == "waiting for you")
        assert page.shown().count("a short summary") == 1
        await page.types("/compact show")
        await page.sees("Summary of the conversation so far:")
        text = page.shown()
        assert "you           the first" in text and "second" not in text, text
        await page.pilot.press("escape")
        await page.types("/compact undo")
        await page.sees("undone: the messages above are sent to the model again")
