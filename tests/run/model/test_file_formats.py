"""Edit formats in which the program shows a file: what the model answers becomes an edit at the gate, and a red answer
is taken back before the next try.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.project import CHECK, make_project
from fakes.turns import Turn, call, say

from rundry.agent import list_runs, report
from rundry.agent.protocol import (
    Budget,
    Decide,
    GateMode,
    ModelSpec,
    Part,
    Predicates,
    Request,
    Rule,
    ServedFacts,
    TextPart,
    Tokens,
    Unpause,
    UsagePart,
)
from rundry.tui.cli.lists import print_runs
from rundry.tui.cli.reports import print_report

Make = Callable[..., Driven]


@pytest.fixture
def calc(tmp_path: Path) -> Make:
    """A red suite in a git project, and a run on it in a file format."""
    project, runs = tmp_path / "project", tmp_path / "runs"
    project.mkdir()
    runs.mkdir(mode=0o700)
    make_project(project)

    def make(*turns: Any, until: str = CHECK, then: Turn | None = None, form: str = "functions", **more: Any) -> Driven:
        options = {"task": "make the tests pass", "until": [until], "budget": Budget(steps=8), **more}
        return Driven(runs, project, ScriptedModel(turns, then=then), edit_format=form, **options)

    return make


def core(tmp_path: Path) -> str:
    return (tmp_path / "project/calc/core.py").read_text()


def code(text: str) -> Turn:
    return say(f"The operator is wrong.\n```python\n{text}\n```\n")


def edit(old: str, new: str) -> Turn:
    return say(json.dumps({"cause": "wrong", "old_text": old, "new_text": new}))


ADD = code("def add(a, b):\n    return a + b")
MEAN = code("def mean(values):\n    return sum(values) / len(values)")
WRONG = code("def add(a, b):\n    return a * b")
BOTH = code("def add(a, b):\n    return a + b\n\n\ndef mean(values):\n    return sum(values) / len(values)")
DIFF = (
    "--- a/calc/core.py\n+++ b/calc/core.py\n@@ -1,3 +1,3 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n"
)
WORSE = code("def add(a, b):\n    return a / b")


async def test_a_new_function_that_the_task_or_the_check_names_is_added(calc: Make, tmp_path: Path):
    check = "python3 -c 'from calc.core import product; assert product([2, 3]) == 6'"
    product = "def product(values):\n    return values[0] * values[1]"
    added = code(f"{(tmp_path / 'project/calc/core.py').read_text()}\n\n{product}\n\n\ndef main():\n    pass")
    for task in ("make the check pass", "add a function product to calc/core.py"):
        run = calc(added, until=check, task=task)
        outcome = await run.run()
        assert outcome.reason == "done" and product in core(tmp_path), run.story()
        assert "def main" not in core(tmp_path)
        subprocess.run(["git", "checkout", "-q", "."], cwd=tmp_path / "project", check=True)


async def test_a_second_answer_begins_from_the_first_because_more_tests_pass(calc: Make, tmp_path: Path):
    run = calc(ADD, MEAN)
    outcome = await run.run()
    assert outcome.reason == "done" and outcome.files_changed == ["calc/core.py"], run.story()
    first, second = run.model.requests
    assert not first.tools and first.schema is None and first.temperature == 0
    assert [message.role for message in first.messages] == ["system", "user"]
    assert "The file `calc/core.py`:" in first.messages[-1].text and "test_add" in first.messages[-1].text
    assert [message.role for message in second.messages] == ["system", "user"], "a message is rebuilt, never continued"
    assert "return a + b" in second.messages[-1].text, "the base is the better answer"
    assert [e["base"] for e in run.of("restarted")] == [1]
    assert "return a + b" in core(tmp_path) and "/ len(values)" in core(tmp_path)


async def test_a_red_answer_is_taken_back_and_the_next_one_is_warmer(calc: Make, tmp_path: Path):
    before = core(tmp_path)
    run = calc(WRONG, WORSE, WRONG, then=say("I give up."), budget=Budget(steps=4))
    outcome = await run.run()
    assert outcome.reason == "budget" and core(tmp_path) == before, run.story()
    assert outcome.files_changed == []
    assert [request.temperature for request in run.model.requests] == [0, 0.7, 1.0, 1.0]
    assert "return a - b" in run.model.requests[1].messages[-1].text
    assert "no repair in 4 answers, 2 programs" in outcome.detail


async def test_every_second_answer_gets_the_failing_test_instead_of_the_output(calc: Make, tmp_path: Path):
    long = "".join(f"\n\ndef test_more_{n}():\n    assert mean([{n}]) == {n}, 'of many'\n" for n in range(200))
    tests = tmp_path / "project/tests/test_core.py"
    tests.write_text(tests.read_text() + long)
    run = calc(WRONG, WORSE, ADD, MEAN)
    outcome = await run.run()
    assert outcome.reason == "done", run.story()
    shown = [request.messages[-1].text for request in run.model.requests]
    assert "AssertionError" in shown[0] and "def test_add(" not in shown[0]
    assert "def test_add(" in shown[1] and "AssertionError" not in shown[1]
    assert len(shown[1]) < 6_000 and "test_more_199" not in shown[1], "a long file of tests is shown in part"
    assert "AssertionError" in shown[2], "turns"


async def test_where_no_test_may_be_shown_the_output_stays(calc: Make):
    run = calc(WRONG, ADD, MEAN, predicates=Predicates(until=[CHECK], guard=["none"]))
    await run.run()
    assert "AssertionError" in run.model.requests[1].messages[-1].text


async def test_a_program_that_was_tried_is_not_checked_again(calc: Make, tmp_path: Path):
    run = calc(WRONG, code('def add(a, b):\n    """Add."""\n    return a * b  # times'), ADD, MEAN)
    outcome = await run.run()
    assert outcome.reason == "done", run.story()
    assert [e["same_as"] for e in run.of("answer_read")] == [0, 1, 0, 0]
    assert len(run.of("check_finished")) == 1 + 3
    assert "same program as that of answer 1" in run.heard(2)


@pytest.mark.parametrize(
    ("form", "turns"),
    [
        ("functions", [ADD, MEAN]),
        ("whole", [BOTH]),
        ("blocks", [say("<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE"), MEAN]),
        ("constrained", [edit("return a - b", "return a + b"), edit("(len(values) + 1)", "len(values)")]),
        ("constrained", [ADD, say('```json\n{"find": "(len(values) + 1)", "replace": "len(values)"}\n```')]),
        ("whole", [say('<tools>\n{"name": "edit_file", "arguments": {"path": "project/calc/core.py", "old_text": '
                       '"return a - b", "new_text": "return a + b"}}\n</tools>'), MEAN]),
        ("functions", [say(DIFF), say("def mean(values):\n    return sum(values) / len(values)")]),
    ],
)  # fmt: skip
async def test_each_format_repairs_the_project(calc: Make, tmp_path: Path, form: str, turns: list[Turn]):
    run = calc(*turns, form=form)
    outcome = await run.run()
    assert outcome.reason == "done", run.story()
    assert "return a + b" in core(tmp_path)
    assert all((request.schema is not None) == (form == "constrained") for request in run.model.requests)


async def test_what_the_gate_shows_is_what_is_written(calc: Make, tmp_path: Path):
    run = calc(ADD, MEAN, gate=GateMode.ASK)
    seen: list[str] = []

    def decide(e: dict[str, Any]) -> Decide:
        seen.append(e["diff"])
        return Decide(proposal_id=e["proposal_id"], digest=e["digest"], verdict="approve")

    run.on("proposal_opened", decide)
    run.on("proposal_opened", decide, nth=2)
    outcome = await run.run(watched=True, within=20)
    assert outcome.reason == "done", run.story()
    assert "-    return a - b\n+    return a + b" in seen[0] and len(seen) == 2
    assert not run.of("restarted"), "what a person approved is the base, and stays"


async def test_a_rejected_answer_changes_nothing_and_its_reason_is_in_the_next_message(calc: Make, tmp_path: Path):
    before = core(tmp_path)
    run = calc(ADD, ADD, then=say("no"), gate=GateMode.ASK, budget=Budget(steps=3))
    run.on(
        "proposal_opened",
        lambda e: Decide(proposal_id=e["proposal_id"], digest=e["digest"], verdict="reject", reason="not so"),
    )
    await run.run(watched=True, within=20)
    assert core(tmp_path) == before
    assert "not so" in run.heard(1) and len(run.of("proposal_opened")) == 1


async def test_a_file_that_somebody_changed_while_the_model_wrote_is_not_overwritten(calc: Make, tmp_path: Path):
    path = tmp_path / "project/calc/core.py"

    class Slow(ScriptedModel):
        async def stream(self, request: Request) -> AsyncIterator[Part]:
            if not self.requests:
                path.write_text(path.read_text() + "\n# mine\n")
            async for part in super().stream(request):
                yield part

    run = calc()
    run.model = Slow([ADD, ADD, MEAN])
    outcome = await run.run()
    assert outcome.reason == "done" and "# mine" in path.read_text(), run.story()
    assert "changed by somebody else" in run.of("answer_read")[0]["problem"]


async def test_unusable_answers_lead_to_the_other_formats_and_then_to_the_end(calc: Make, tmp_path: Path):
    before = core(tmp_path)
    run = calc(then=say("Change the operator."), budget=Budget(steps=40))
    outcome = await run.run()
    assert outcome.reason == "stagnation" and core(tmp_path) == before, run.story()
    assert list(dict.fromkeys(e["format"] for e in run.of("answer_read"))) == [
        "functions",
        "constrained",
        "whole",
        "blocks",
    ]
    assert len(run.model.requests) == 16


async def test_restarts_are_limited_by_their_option(calc: Make):
    run = calc(WRONG, WORSE, then=WRONG, restarts=1)
    outcome = await run.run()
    assert outcome.reason == "stagnation" and "--restarts 1" in outcome.detail, run.story()
    assert len(run.model.requests) == 2


async def test_lists_and_reports_count_the_tries_of_a_run(
    calc: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run = calc(WRONG, WORSE, BOTH, restarts=4)
    outcome = await run.run()
    assert outcome.reason == "done" and outcome.restarts == 2, run.story()
    assert run.of("run_started")[0]["restarts"] == 4 and run.of("run_ended")[0]["restarts"] == 2
    runs = tmp_path / "runs"
    assert [line.restarts for line in list_runs(runs)] == [2]
    print_runs({"runs_dir": str(runs)}, as_json=False)
    assert "3 tries  make the tests pass" in capsys.readouterr().out
    told = report(runs, 7, time.time())
    assert (told.restarts, told.restarted_runs) == (2, 1)
    print_report({"runs_dir": str(runs)}, days=7, as_json=False)
    assert "2 restarts after an answer, in 1 run" in capsys.readouterr().out
    killed = run.killed_at("restarted", nth=2)
    assert killed.path in [Path(line.path) for line in list_runs(killed.path.parent) if line.restarts == 2]


async def test_a_missing_file_that_is_wanted_is_written_whole(calc: Make, tmp_path: Path):
    run = calc(say("```\nall is well\n```"), until="true", predicates=Predicates(until_file=["out/report.txt"]))
    outcome = await run.run()
    assert outcome.reason == "done", run.story()
    assert (tmp_path / "project/out/report.txt").read_text() == "all is well\n"


async def test_a_run_that_was_killed_before_its_answer_was_written_continues(calc: Make, tmp_path: Path):
    start = core(tmp_path)
    run = calc(ADD, MEAN)
    await run.run()
    killed = run.killed_at("tool_called")
    (tmp_path / "project/calc/core.py").write_text(start)
    killed.model.turns[:], killed.model.requests[:] = [MEAN], []
    outcome = await killed.run()
    assert outcome.reason == "done", killed.story()


async def test_what_somebody_changed_after_a_kill_is_not_overwritten_by_the_answer_before_it(
    calc: Make, tmp_path: Path
):
    path, start = tmp_path / "project/calc/core.py", core(tmp_path)
    run = calc(ADD, MEAN)
    await run.run()
    killed = run.killed_at("tool_called")
    path.write_text(start + "\n# mine\n")
    killed.model.turns[:], killed.model.requests[:] = [ADD, MEAN], []
    outcome = await killed.run()
    assert outcome.reason == "done" and "# mine" in core(tmp_path), killed.story()
    assert "changed by somebody else since" in killed.of("tool_finished")[0]["result"]


async def test_the_text_of_an_answer_is_no_longer_a_base_where_somebody_changed_the_file(calc: Make, tmp_path: Path):
    path = tmp_path / "project/calc/core.py"

    def change(event: dict[str, Any]) -> Unpause:
        path.write_text(path.read_text() + "\n# mine\n")
        return Unpause()

    run = calc(ADD, BOTH)
    run.on("restarted", change)
    outcome = await run.run()
    assert outcome.reason == "done" and "# mine" in core(tmp_path), run.story()
    assert [e["base"] for e in run.of("restarted")] == [1] and [e["base"] for e in run.of("answer_read")] == [0, 0]


async def test_a_success_that_somebody_has_to_decide_about_stays_at_the_end(calc: Make, tmp_path: Path):
    run = calc(code("import os\n\n\ndef add(a, b):\n    os._exit(0)"))
    outcome = await run.run()
    assert outcome.reason == "handoff" and "suspect" in outcome.detail, run.story()
    assert "os._exit(0)" in core(tmp_path) and not run.of("undone")


async def test_a_run_that_was_killed_during_its_check_checks_the_candidate_first(calc: Make, tmp_path: Path):
    run = calc(BOTH)
    await run.run()
    killed = run.killed_at("check_started", 2)
    killed.model.turns[:], killed.model.requests[:] = [], []
    outcome = await killed.run()
    assert outcome.reason == "done" and not killed.model.requests, killed.story()


def shown(run: Driven) -> list[str]:
    """Paths of the files that were shown to the model."""
    return [e["text"].split("`")[1] for e in run.of("prompted") if e["kind"] == "file"]


NO_ANSWER = say("no")


async def test_files_that_the_task_names_take_turns_and_what_decides_is_never_shown(calc: Make):
    red = [code(f"def add(a, b):\n    return a - b - {i}") for i in range(2)]
    run = calc(*red, then=NO_ANSWER, task="look at NOTES.md and calc/core.py", budget=Budget(steps=3))
    await run.run()
    assert shown(run)[:3] == ["calc/core.py", "calc/core.py", "NOTES.md"], run.story()


async def test_where_nothing_names_a_file_programs_come_first_and_what_cannot_be_written_never(
    calc: Make, tmp_path: Path
):
    run = calc(then=NO_ANSWER, until="false", task="tidy", budget=Budget(steps=1))
    await run.run()
    assert shown(run)[0] == "calc/core.py", run.story()
    run = calc(then=NO_ANSWER, until="false", task="tidy", budget=Budget(steps=1))
    for file in (tmp_path / "project/calc").glob("*.py"):
        file.chmod(0o444)
    await run.run()
    assert shown(run)[0] == "NOTES.md", run.story()


@pytest.mark.parametrize("tool", [None, "read_file", "write_file"])
async def test_a_file_that_a_rule_keeps_from_the_model_is_not_shown_to_it(calc: Make, tool: str | None):
    deny = [Rule(verdict="deny", tool=tool, path="calc/core.py")]
    run = calc(then=NO_ANSWER, task="mend calc/core.py", rules=deny, budget=Budget(steps=2))
    await run.run()
    assert shown(run) and "calc/core.py" not in shown(run), run.story()
    assert not any("return a - b" in run.heard(i) for i in range(len(run.model.requests)))


async def test_a_missing_file_that_a_rule_keeps_from_being_made_is_not_asked_for(calc: Make):
    deny = [Rule(verdict="deny", path="out/**")]
    wanted = Predicates(until=["false"], until_file=["out/report.txt"])
    run = calc(then=NO_ANSWER, predicates=wanted, rules=deny, budget=Budget(steps=1))
    await run.run()
    assert not any("There is no file `out/report.txt`" in run.heard(i) for i in range(len(run.model.requests)))


@pytest.mark.parametrize(("task", "first"), [("tidy", "calc/core.py"), ("shorten AGENTS.md", "AGENTS.md")])
async def test_an_instructions_file_is_shown_only_where_the_task_names_it(
    calc: Make, tmp_path: Path, task: str, first: str
):
    (tmp_path / "project/AGENTS.md").write_text("Write plainly.\n")
    (tmp_path / "project/docs").mkdir()
    (tmp_path / "project/docs/CLAUDE.md").write_text("Write plainly.\n")
    run = calc(then=NO_ANSWER, until="false", task=task, budget=Budget(steps=9))
    await run.run()
    assert shown(run)[0] == first, run.story()
    assert "docs/CLAUDE.md" not in shown(run)
    assert ("AGENTS.md" in shown(run)) == (first == "AGENTS.md")


@pytest.mark.parametrize(("units", "whole"), [(40, True), (400, False)])
async def test_the_file_gets_the_space_and_long_instructions_are_shortened(
    calc: Make, tmp_path: Path, units: int, whole: bool
):
    project = tmp_path / "project"
    core = project / "calc/core.py"
    added = "".join(f"\n\ndef unit_{i}(value):\n    return value + {i}\n" for i in range(units))
    core.write_text(core.read_text() + added)
    agents = project / "AGENTS.md"
    agents.write_text("".join(f"{i}. Write plainly and test what you write.\n" for i in range(240)))
    run = calc(ADD, MEAN, instructions=str(agents))
    run.model.window = 4_096
    outcome = await run.run()
    assert outcome.reason == "done", run.story()
    for i, request in enumerate(run.model.requests):
        assert run.model.count(request.messages, request.tools) <= 3_072
        assert (f"value + {units - 1}\n" in run.heard(i)) == whole
        assert "more characters are left out" in run.heard(i)
    (first, *_) = run.of("prompt_shortened")
    assert 0 < first["kept"] < first["length"] == len(agents.read_text())


SMALL = ServedFacts(self_hosted=True, parameters=1_777_088_000, template_knows_tools=True)


@pytest.mark.parametrize(
    ("served", "form"),
    [
        (None, "tools"),
        (ServedFacts(self_hosted=True), "tools"),
        (ServedFacts(self_hosted=True, parameters=70_000_000_000, template_knows_tools=True), "tools"),
        (ServedFacts(parameters=1_000_000_000), "tools"),
        (SMALL, "functions"),
        (ServedFacts(self_hosted=True, template_knows_tools=False), "functions"),
        (ServedFacts(self_hosted=True, parameters=1_000_000_000, edit_format="tools"), "tools"),
        (ServedFacts(self_hosted=True, edit_format="whole"), "whole"),
    ],
)
async def test_the_format_follows_what_the_server_says_and_what_worked_before(
    calc: Make, served: ServedFacts | None, form: str
):
    run = calc(then=say("no"), form="auto", budget=Budget(steps=1))
    run.model.served = served
    await run.run()
    assert bool(run.model.requests[0].tools) == (form == "tools"), run.story()
    assert [e["format"] for e in run.of("edit_format_chosen")] == ([] if form == "tools" else [form])


async def test_after_two_answers_a_small_model_is_asked_for_each_part_of_the_file(calc: Make, tmp_path: Path):
    part = say("```python\nreturn a + b\n```")
    run = calc(WRONG, WORSE, part, say("```python\nreturn sum(values) / len(values)\n```"), form="auto")
    run.model.served = SMALL
    outcome = await run.run()
    assert outcome.reason == "budget", run.story()
    first, second = run.heard(2), run.heard(3)
    assert "This part is wrong:\n```python\n    return a - b\n```" in first
    assert first.partition("This part")[0] == second.partition("This part")[0], "the server has read all before"
    assert run.model.requests[2].temperature == 1.0
    answers = run.of("answer_read")
    assert [(e["part"], e["parts"], e["line"]) for e in answers[2:4]] == [(1, 3, 5), (2, 3, 9)]
    assert [e["part"] for e in answers[4:]] == [3, 0, 0, 1]
    variants = [e["variant"] for e in run.of("restarted")]
    assert variants[:7] == ["test", "part", "part", "part", "output", "test", "part"]


@pytest.mark.parametrize(("speed", "asks"), [(60.0, True), (2_000.0, False), (None, False)])
async def test_a_run_begins_with_the_parts_of_a_file_that_a_slow_server_would_write_for_too_long(
    calc: Make, tmp_path: Path, speed: float | None, asks: bool
):
    path = tmp_path / "project/calc/core.py"
    others = "".join(f"\n\ndef other_{n}(a):\n    return a * {n} + len(str(a)) - {n}\n" for n in range(60))
    path.write_text(path.read_text().replace("(len(values) + 1)", "len(values)") + others)
    run = calc(say("```python\n    return a + b\n```"), form="auto", budget=Budget(steps=1))
    run.model.served = ServedFacts(
        kind="vllm", self_hosted=True, parameters=1_500_000_000, read_speed=speed, write_speed=12.0
    )
    outcome = await run.run()
    (first,) = run.model.requests
    assert ("This part is wrong:" in first.messages[-1].text) is asks
    assert first.temperature == (1.0 if asks else 0.0)
    assert (outcome.reason == "done") is asks, run.story()
    assert run.of("answer_read")[0]["part"] == int(asks)


async def test_a_part_that_is_written_right_repairs_the_file(calc: Make, tmp_path: Path):
    path = tmp_path / "project/calc/core.py"
    path.write_text(path.read_text().replace("(len(values) + 1)", "len(values)"))
    run = calc(WRONG, WORSE, say("    return a + b"), form="auto")
    run.model.served = SMALL
    outcome = await run.run()
    assert outcome.reason == "done" and "return a + b" in core(tmp_path), run.story()
    assert len(run.model.requests) == 3


async def test_a_model_that_writes_code_instead_of_calls_gets_a_file_format(calc: Make, tmp_path: Path):
    run = calc(WRONG, ADD, ADD, MEAN, form="auto")
    outcome = await run.run()
    assert outcome.reason == "done", run.story()
    assert [bool(request.tools) for request in run.model.requests] == [True, True, False, False]
    assert "called no tool" in run.of("restarted")[0]["why"]
    assert run.model.remembered == "functions"
    assert [m.role for m in run.model.requests[2].messages] == ["system", "user"]


async def test_an_answer_that_is_complete_before_its_end_is_charged_as_the_server_counted_it(calc: Make):
    class Counting(ScriptedModel):
        """A server that reports its counts with each piece. What follows the code would never end."""

        async def stream(self, request: Request) -> AsyncIterator[Part]:
            self.requests.append(request)
            words = re.findall(r"\S+|\s+", BOTH.text + "And so on. " * 500)
            for number, word in enumerate(words, 1):
                yield UsagePart(Tokens(321, number, cached=300))
                yield TextPart(word)
            raise AssertionError("nobody ended it")

    run = calc(budget=Budget(steps=8, tokens=20_000))
    run.model = Counting()
    outcome = await run.run()
    assert outcome.reason == "done", run.story()
    (charged,) = run.of("charged")
    pieces = len(re.findall(r"\S+|\s+", BOTH.text.rstrip()))
    assert (charged["tokens_in"], charged["tokens_cached"]) == (321, 300)
    assert charged["tokens_out"] == pieces
    assert not charged.get("estimated") and not charged.get("held_tokens")


async def test_without_counts_of_the_server_such_an_answer_is_estimated_with_a_margin(calc: Make):
    class Silent(ScriptedModel):
        async def stream(self, request: Request) -> AsyncIterator[Part]:
            self.requests.append(request)
            yield TextPart(BOTH.text)
            raise AssertionError("nobody ended it")

    run = calc(budget=Budget(steps=8, tokens=20_000))
    run.model = Silent()
    assert (await run.run()).reason == "done", run.story()
    (charged,) = run.of("charged")
    assert charged["estimated"] and charged["held_tokens"] > 0


async def test_the_format_follows_a_model_that_takes_over(calc: Make, tmp_path: Path):
    edits = [
        call("edit_file", path="calc/core.py", old_text="return a - b", new_text="return a + b"),
        call("edit_file", path="calc/core.py", old_text="(len(values) + 1)", new_text="len(values)"),
    ]
    strong = ScriptedModel(edits, then=say("done"), name="strong")
    run = calc(then=say("No idea."), form="auto", escalate=ModelSpec(name="strong"), budget=Budget(steps=40))
    run.model.served = SMALL
    run.open_model = lambda spec: strong if spec.name == "strong" else run.model
    outcome = await run.run()
    assert outcome.reason == "done", run.story()
    assert strong.requests[0].tools and not run.model.requests[-1].tools
    assert [e["format"] for e in run.of("edit_format_chosen")] == ["functions", "tools"]
    (stall,) = run.of("stall_detected")
    assert (stall["kind"], stall["response"]) == ("stagnation", "escalate")
    assert "return a + b" in core(tmp_path)
