"""migrate: every file that fails a check is brought through it, and a full scan has the last word."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.inside import spec_of, take_up
from fakes.killing.killed import run_until
from fakes.models.model import ScriptedModel
from fakes.server import Rule, ScriptedServer
from fakes.turns import Call, Turn, call, calls, edit, say

from rundry.agent.facts.facts import fold
from rundry.agent.journal import Journal
from rundry.agent.protocol import (
    AddItem,
    Budget,
    FinderSpec,
    GateMode,
    LoopKind,
    ModelFault,
    Recipe,
    Request,
    WorkFinished,
)
from rundry.agent.run.client.start_request import ResumeChanges

CHECK = "grep -q new {file}"
_FILE = re.compile(r"^The file: (.+?)\.(?: An earlier attempt|$)", re.MULTILINE)

Fix = Callable[[str, int], Turn | ModelFault]


class Fixer(ScriptedModel):
    """A model that is told a file and answers by it; `fix` gets the path and the number of its turn on that file."""

    def __init__(self, fix: Fix | None = None) -> None:
        super().__init__([])
        self._fix = fix or (lambda path, nth: edit(path, "old", "new"))
        self.turns: list[str] = []
        """The file of each call, in order."""

    def choose(self, request: Request) -> Turn | ModelFault:
        path = next(m[1] for message in request.messages if (m := _FILE.search(message.text)))
        self.turns.append(path)
        return self._fix(path, self.turns.count(path))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.txt").write_text(f"{name}: old\n")
    (folder / "done.txt").write_text("new\n")
    return folder


@pytest.fixture
def migrate(tmp_path: Path, place: Path) -> Callable[..., Driven]:
    runs = tmp_path / "runs"
    runs.mkdir(mode=0o700)

    def make(
        model: Fixer | None = None, *globs: str, check: str = CHECK, budget: Budget | None = None, **more: Any
    ) -> Driven:
        spec = FinderSpec(recipe=Recipe.MIGRATE, check=check, globs=list(globs) or ["*.txt"], concurrency=1, sceptics=0)
        options = {"task": f"make every file pass `{check}`", "loop": LoopKind.UNTIL_DRY, **more}
        retries = options.pop("retries", 1)
        finder = FinderSpec(**{**{f: getattr(spec, f) for f in spec.__struct_fields__}, "retries": retries})
        return Driven(runs, place, model or Fixer(), finder=finder, budget=budget, **options)

    return make


def texts(place: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(place.glob("*.txt"))}


def done(run: Driven) -> list[str]:
    finished = [e for e in run.of("work_finished") if e["kind"] == "item" and e["ok"]]
    return [Path(e["about"]).name for e in finished]


async def test_each_failing_file_is_fixed_by_itself_and_a_full_scan_ends_it(migrate, place):
    model = Fixer()
    run = migrate(model)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("dry", True, 0), run.story()
    assert set(texts(place).values()) == {"a: new\n", "b: new\n", "c: new\n", "new\n"}
    assert sorted(done(run)) == ["a.txt", "b.txt", "c.txt"]
    assert outcome.steps == 3
    scans = [(e["new"], e["known"], e["reason"]) for e in run.of("work_finished") if e["kind"] == "scan"]
    assert scans == [(3, 0, "4 files checked, 3 fail"), (0, 0, "4 files checked, 0 fail")]
    assert [(e["number"], e["new"]) for e in run.of("pass_finished")] == [(1, 3), (2, 0)]
    assert outcome.files_changed == ["a.txt", "b.txt", "c.txt"]
    for request in model.requests:
        assert len(request.messages) == 2, "each file has a conversation of its own"


async def test_where_nothing_fails_nothing_is_asked(migrate, place):
    model = Fixer()
    run = migrate(model, "done.txt")
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.steps) == ("dry", True, 0), run.story()
    assert not model.requests
    assert "1 file checked, 0 fail" in outcome.detail


async def test_the_models_word_is_no_fix_and_the_check_is_what_it_hears(migrate, place):
    model = Fixer(lambda path, nth: say("It is fixed.") if nth == 1 else edit(path, "old", "new"))
    run = migrate(model, "a.txt", check="cat {file}; grep -q new {file}")
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.steps) == ("dry", True, 2), run.story()
    assert "a: old" in model.requests[0].messages[-1].text
    assert "You stopped without calling a tool" in model.requests[1].messages[-1].text


async def test_a_file_that_cannot_be_fixed_is_tried_again_then_set_aside_and_named(migrate, place):
    model = Fixer(lambda path, nth: call("read_file", path=path) if path == "b.txt" else edit(path, "old", "new"))
    run = migrate(model, item_steps=2)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("dry", False, 6), run.story()
    assert outcome.failed_items == [str(place / "b.txt")]
    assert f"1 item failed for good ({place / 'b.txt'})" in outcome.detail
    assert model.turns.count("b.txt") == 4, "two attempts of two steps"
    assert [(e["attempts"], e["final"]) for e in run.of("item_failed")] == [(1, False), (2, True)]
    assert "after 2 steps the check still fails: exit code 1" in run.of("item_failed")[0]["error"]
    assert texts(place)["a.txt"] == "a: new\n"


async def test_a_file_that_fails_again_is_worked_again_at_most_so_many_times(migrate, place):
    """Each fix of a.txt breaks b.txt and the other way round: that never ends by itself."""

    def fix(path: str, nth: int) -> Turn:
        other = "b.txt" if path == "a.txt" else "a.txt"
        return call("run_command", command=f"echo new > {path}; echo old > {other}")

    run = migrate(Fixer(fix), "a.txt", "b.txt", retries=2)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", False), run.story()
    again = [(Path(e["key"]).name, e["reason"]) for e in run.of("item_queued") if e["reason"] == "regressed"]
    assert 2 <= len(again) <= 4
    assert max(again.count(one) for one in again) == 2
    assert "it fails again each time" in run.of("item_failed")[-1]["error"]
    assert len(outcome.failed_items) == 1


async def test_a_file_healed_by_another_ones_fix_costs_no_step(migrate, place):
    model = Fixer(lambda path, nth: call("run_command", command="sed -i s/old/new/ *.txt"))
    run = migrate(model)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.steps) == ("dry", True, 1), run.story()
    assert len(done(run)) == 3


async def test_the_budget_says_how_many_files_are_left_and_a_resumed_run_works_only_those(migrate, place):
    model = Fixer()
    run = migrate(model, budget=Budget(steps=1))
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("budget", False, 3), run.story()
    assert "2 items left" in outcome.detail
    first = done(run)
    outcome = await run.run(changes=ResumeChanges(limits={"steps": 10}))
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert sorted(model.turns) == ["a.txt", "b.txt", "c.txt"], first


async def test_the_checks_script_is_guarded_and_its_items_are_not(migrate, place):
    script = place / "test_check.py"
    script.write_text("import pathlib, sys\nsys.exit('new' not in pathlib.Path(sys.argv[1]).read_text())\n")
    (place / "test_one.txt").write_text("old\n")

    def fix(path: str, nth: int) -> Turn:
        if path == "a.txt" and nth == 1:
            return edit("test_check.py", "not in", "in")
        return edit(path, "old", "new")

    run = migrate(Fixer(fix), "a.txt", "test_*.*", check=f"{sys.executable} test_check.py {{file}}", gate=GateMode.AUTO)
    before = script.read_text()
    outcome = await run.run()
    assert outcome.reason == "dry", run.story()
    assert script.read_text() == before
    assert [e["decision"] for e in run.of("proposal_decided") if "person" in str(e)] or "refused" in str(run.results())
    assert texts(place)["a.txt"] == "a: new\n"
    assert texts(place)["test_one.txt"] == "new\n", "a file that was named may change, whatever its name looks like"


async def test_ignored_files_are_none_of_it_and_a_folder_names_what_is_in_it(migrate, place):
    (place / ".gitignore").write_text("build/\n")
    for folder in ("build", "src"):
        (place / folder).mkdir()
        (place / folder / "x.txt").write_text("old\n")
    run = migrate(None, "src", "build/*.txt", "*.txt")
    outcome = await run.run()
    assert outcome.reason == "refused", run.story()
    assert "no file matches build/*.txt" in outcome.detail
    run = migrate(None, "src")
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.steps) == ("dry", True, 1), run.story()
    assert (place / "build" / "x.txt").read_text() == "old\n"


@pytest.mark.parametrize(
    "check",
    [
        "grep -q new {file}",
        "grep -q new",
        'grep -q new "{file}"',
        "grep -q new '{file}'",
        'cat "$(ls -d {file})" | grep -q new',
    ],
)
async def test_a_files_name_is_quoted_for_where_it_stands(migrate, place, check):
    odd = place / 'it\'s "an" $odd `one`.txt'
    odd.write_text("old\n")
    dashed = place / "-n.txt"
    dashed.write_text("old\n")
    model = Fixer(lambda path, nth: edit(path, "old", "new"))
    run = migrate(model, "*odd*", "-n.txt", check=check)
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.steps) == ("dry", True, 2), run.story()
    assert odd.read_text() == dashed.read_text() == "new\n"


async def test_a_check_that_cannot_be_started_is_said_and_nothing_was_changed(migrate, place):
    before = texts(place)
    run = migrate(check="no-such-program {file}")
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("refused", 2), run.story()
    assert "the check could not be started" in outcome.detail
    assert "no-such-program" in outcome.detail
    assert texts(place) == before


async def test_a_check_that_hangs_is_said_to_have_timed_out(migrate, place):
    from rundry.agent.protocol import Predicates

    check = "grep -q new {file} || sleep 60"
    run = migrate(Fixer(lambda path, nth: call("read_file", path=path)), "a.txt", check=check, retries=0, item_steps=1)
    run = migrate(
        Fixer(lambda path, nth: call("read_file", path=path)),
        "a.txt",
        check=check,
        retries=0,
        item_steps=1,
        predicates=Predicates(timeout=0.3),
    )
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("dry", False), run.story()
    assert "timed out after" in run.of("item_failed")[0]["error"]


async def test_a_model_that_is_gone_for_good_ends_the_run_and_sets_nothing_aside(migrate, place):
    model = Fixer(lambda path, nth: ModelFault("auth", "the key was refused", retryable=False))
    run = migrate(model)
    outcome = await run.run()
    assert outcome.reason == "error", run.story()
    assert "the key was refused" in outcome.detail
    assert not run.of("item_failed")
    assert len(model.turns) == 1


def stubborn(server: ScriptedServer) -> None:
    """b.txt takes two steps, and the first one runs a command too: done twice without a roll-back, it shows."""
    first = calls(
        Call("edit_file", {"path": "b.txt", "edits": [{"old_text": "old", "new_text": "old!"}]}),
        Call("run_command", {"command": "echo x >> made.txt"}),
    )
    server.rules += [
        Rule(
            r"The file: b\.txt.*(has not passed yet|exactly as before).*(has not passed yet|exactly as before)",
            edit("b.txt", "old", "new"),
        ),
        Rule(r"The file: b\.txt", first),
        *(Rule(rf"The file: {name}\.txt", edit(f"{name}.txt", "old", "new")) for name in ("a", "c", "d", "e")),
    ]


@pytest.mark.long
async def test_a_run_that_is_killed_again_and_again_leaves_the_files_of_one_that_was_not(tmp_path, place):
    luck = random.Random(7)
    for name in ("d", "e"):
        (place / f"{name}.txt").write_text(f"{name}: old\n")
    (place / "made.txt").write_text("new\n")
    other = tmp_path / "other"
    shutil.copytree(place, other)
    finder = FinderSpec(recipe=Recipe.MIGRATE, check=CHECK, globs=["*.txt"], concurrency=1, sceptics=0)
    with ScriptedServer() as server:
        stubborn(server)
        journals: list[Path] = []
        for folder in (place, other):
            spec = spec_of(server, folder, task="make it new", loop=LoopKind.UNTIL_DRY, finder=finder)
            journals.append(tmp_path / f"{folder.name}.db")
            Journal.create(journals[-1], spec).close()
        assert (await take_up(journals[0])).result.reason == "dry"
        for _ in range(2):
            moment = luck.randrange(20, 50)
            assert await asyncio.to_thread(run_until, journals[1], moment) == "killed", moment
        assert (await take_up(journals[1])).result.reason == "dry"
    assert texts(other) == texts(place)
    assert (texts(place)["b.txt"], texts(place)["made.txt"]) == ("b: new!\n", "new\nx\n")
    journal = Journal.open(journals[1])
    events = [stamped.event for stamped in journal.read()]
    fixed = [event.about for event in events if isinstance(event, WorkFinished) and event.kind == "item" and event.ok]
    assert len(fixed) == len(set(fixed)) == 5, "what was done is not worked twice"
    assert fold(journal.spec, journal.read()).finder.done == 5
    journal.close()


async def test_what_a_person_changed_meanwhile_is_left_and_named(migrate, place):
    model = Fixer(lambda path, nth: edit(path, "old", "wrong" if nth == 1 else "new"))
    whole = migrate(model, "a.txt", item_steps=1, retries=0)
    await whole.run()
    killed = whole.killed_at("file_changed")
    (place / "a.txt").write_text("mine, old\n")
    killed.model = Fixer()
    outcome = await killed.run()
    assert (outcome.reason, outcome.complete) == ("dry", True), killed.story()
    assert "a.txt" in killed.of("undone")[0]["kept"][0]
    assert texts(place)["a.txt"] == "mine, new\n"


async def test_a_person_adds_a_file_and_takes_a_fix_back(migrate, place):
    (place / "more.md").write_text("old\n")
    run = migrate(Fixer(), "a.txt")
    run.on("step_finished", AddItem(kind="file", value="more.md"), AddItem(kind="url", value="http://x/"))
    outcome = await run.run(watched=True)
    assert outcome.reason == "dry", run.story()
    assert (place / "more.md").read_text() == "new\n"
    assert [e["why"] for e in run.of("command_refused")] == ["this search works files"], run.story()
