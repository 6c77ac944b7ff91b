"""File formats in a chat: code in an answer becomes a change only if its file is certain, and it always waits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.project import CHECK, CORE, make_project
from fakes.turns import Turn, call, say

from rundry.agent.protocol import (
    Budget,
    Command,
    Decide,
    EditFormat,
    GateMode,
    LoopKind,
    Predicates,
    Rule,
    Say,
    ServedFacts,
    SetEditFormat,
    Stop,
)

Make = Callable[..., Driven]
ADD = "```python\ndef add(a, b):\n    return a + b\n```\n"
MEAN = "```python\ndef mean(values):\n    return sum(values) / len(values)\n```\n"
FIXED = CORE.replace("return a - b", "return a + b")


@pytest.fixture
def chat(tmp_path: Path) -> Make:
    """A chat about a git project, in a file format unless the test says otherwise. It stops at its second wait."""
    project, runs = tmp_path / "project", tmp_path / "runs"
    project.mkdir()
    runs.mkdir(mode=0o700)
    make_project(project)

    def make(
        *turns: Any, form: EditFormat = "functions", task: str = "fix add in @calc/core.py", **more: Any
    ) -> Driven:
        more.setdefault("loop", LoopKind.CHAT)
        more.setdefault("budget", Budget(steps=20))
        return Driven(runs, project, ScriptedModel(turns), task=task, edit_format=form, **more)

    return make


def core(tmp_path: Path) -> str:
    return (tmp_path / "project/calc/core.py").read_text()


def decided(verdict: Any, **more: Any) -> Callable[[dict[str, Any]], Command]:
    return lambda e: Decide(proposal_id=e["proposal_id"], digest=e["digest"], verdict=verdict, **more)


async def talk(run: Driven, *said: Command, decide: Callable[[dict[str, Any]], Command] | None = None) -> Driven:
    """Give the messages one after the other when the chat waits, decide each proposal, then stop."""
    for number, command in enumerate((*said, Stop(how="now")), 1):
        run.on("waiting", command, nth=number, why="message")
    for number in range(1, 6):
        if decide is not None:
            run.on("proposal_opened", decide, nth=number)
    await run.run(watched=True)
    return run


@pytest.mark.parametrize("gate", [GateMode.ASK, GateMode.EDITS, GateMode.AUTO])
async def test_code_for_the_shown_file_waits_at_the_gate_in_each_mode(chat: Make, tmp_path: Path, gate: GateMode):
    run = await talk(chat(say(f"The operator is wrong.\n{ADD}"), gate=gate), decide=decided("approve"))
    (opened,) = run.of("proposal_opened")
    assert "-    return a - b\n+    return a + b" in opened["diff"] and opened["danger"], run.story()
    assert core(tmp_path) == FIXED
    (request,) = run.model.requests
    assert not request.tools and request.schema is None
    assert request.messages[-1].text.startswith("fix add in @calc/core.py\n\nThe file `calc/core.py`:\n```\n")
    assert CORE in request.messages[-1].text


async def test_a_rule_that_allows_edits_does_not_let_such_a_change_pass(chat: Make, tmp_path: Path):
    rule = Rule(verdict="allow", tool="write_file", path="**")
    run = await talk(chat(say(ADD), rules=[rule]), decide=decided("reject"))
    assert len(run.of("proposal_opened")) == 1 and core(tmp_path) == CORE, run.story()


@pytest.mark.parametrize(
    "answer",
    [
        "You call it like this:\n```python\nfrom calc.core import add\n\nprint(add(1, 2))\n```\n",
        "Run the tests:\n```bash\npython3 -m unittest\n```\n",
        "A report could look like this:\n```json\n" + '{"path": "calc/core.py", "content": "x = 1"}' + "\n```\n",
        "The function is:\n```python\ndef add(a, b):\n    return a - b\n```\n",
        "Another module, `calc/other.py`, could have this:\n```python\ndef add(a, b):\n    return a + b\n```\n",
        "In calc/core.py or tests/test_core.py:\n" + ADD,
        "It was cut off:\n```python\ndef add(a, b):\n    return a + b\n",
        "<think>\n" + ADD + "</think>\nIt subtracts.",
        "In JavaScript:\n```js\nfunction add(a, b) { return a + b }\n```\n",
    ],
)
async def test_a_question_with_code_in_its_answer_makes_no_edit(chat: Make, tmp_path: Path, answer: str):
    run = await talk(chat(say(answer), task="what does add in calc/core.py do?"))
    assert not run.of("proposal_opened") and not run.of("tool_called"), run.story()
    assert core(tmp_path) == CORE and not [e for e in run.of("prompted") if e["kind"] == "unused"]


async def test_code_makes_no_edit_where_two_files_are_shown_and_none_is_named(chat: Make, tmp_path: Path):
    run = await talk(chat(say(ADD), task="compare @calc/core.py with @tests/test_core.py"))
    assert [e["path"] for e in run.of("prompted") if e["kind"] == "attached"] == ["calc/core.py", "tests/test_core.py"]
    assert not run.of("proposal_opened"), run.story()


@pytest.mark.parametrize(
    "answer",
    [
        f"calc/core.py\n{ADD}",
        f"**calc/core.py**:\n\n{ADD}",
        f"Change `calc/core.py` so:\n{ADD}",
        "```python calc/core.py\ndef add(a, b):\n    return a + b\n```\n",
        "```python\n# calc/core.py\ndef add(a, b):\n    return a + b\n```\n",
        f"core.py\n{ADD}",
        "calc/core.py\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n",
        "calc/core.py\n```\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n```\n",
        "calc/core.py\n```diff\n@@ -4,2 +4,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n```\n",
        f"calc/core.py\n```python\n{FIXED}```\n",
    ],
)
async def test_code_below_the_name_of_its_file_is_an_edit(chat: Make, tmp_path: Path, answer: str):
    task = "compare @calc/core.py with @tests/test_core.py"
    run = await talk(chat(say(answer), task=task), decide=decided("approve"))
    assert core(tmp_path) == FIXED, run.story()


PRODUCT = "def product(values):\n    result = 1\n    for value in values:\n        result *= value\n    return result\n"


@pytest.mark.parametrize(
    ("form", "answer"),
    [
        ("whole", f"```\n{CORE}\n\n{PRODUCT}```"),
        ("functions", f"```python\n{CORE.partition('def mean')[0]}{PRODUCT}```\n"),
        ("functions", f"calc/core.py\n```python\n{PRODUCT}```\n"),
    ],
)
async def test_a_new_function_is_added_to_the_file(chat: Make, tmp_path: Path, form: EditFormat, answer: str):
    """With the first answer a real model added a function, and it was read as no change."""
    run = chat(say(answer), form=form, task="Add a function to calc/core.py that multiplies all values")
    await talk(run, decide=decided("approve"))
    assert core(tmp_path) == f"{CORE}\n\n{PRODUCT}", run.story()


async def test_a_new_function_without_the_name_of_a_file_is_an_example(chat: Make, tmp_path: Path):
    run = await talk(chat(say(f"```python\n{PRODUCT}```\n"), task="How would calc/core.py multiply values?"))
    assert not run.of("proposal_opened") and core(tmp_path) == CORE, run.story()


async def test_two_blocks_for_one_file_are_one_change_of_exactly_the_bytes_at_the_gate(chat: Make, tmp_path: Path):
    run = await talk(chat(say(f"First:\n{ADD}\nand then\n{MEAN}")), decide=decided("approve"))
    (opened,) = run.of("proposal_opened")
    assert core(tmp_path) == FIXED.replace("(len(values) + 1)", "len(values)"), run.story()
    assert opened["after"] == run.of("file_changed")[0]["after"]


async def test_an_anchor_that_occurs_twice_edits_nothing_and_both_the_person_and_the_model_read_why(
    chat: Make, tmp_path: Path
):
    answer = "<<<<<<< SEARCH\n    return\n=======\n    return 1\n>>>>>>> REPLACE\n"
    (tmp_path / "project/calc/core.py").write_text("def a():\n    return\n\n\ndef b():\n    return\n")
    run = await talk(chat(say(answer), say("I see."), form="blocks"), Say(text="and now?"))
    assert not run.of("proposal_opened"), run.story()
    (unused,) = [e["text"] for e in run.of("prompted") if e["kind"] == "unused"]
    assert unused.startswith("The code for calc/core.py was not used: The text to replace occurs 2 times")
    assert unused in run.heard(1)


async def test_a_new_file_is_made_where_its_path_is_alone_above_the_block(chat: Make, tmp_path: Path):
    answer = "calc/extra.py\n```python\ndef triple(a):\n    return 3 * a\n```\n"
    run = await talk(chat(say(answer), task="add triple in a new module"), decide=decided("approve"))
    assert (tmp_path / "project/calc/extra.py").read_text() == "def triple(a):\n    return 3 * a\n", run.story()


async def test_a_path_outside_of_the_workspace_edits_nothing(chat: Make, tmp_path: Path):
    answer = "../outside.py\n```python\nx = 1\n```\n/etc/hosts.py\n```python\nx = 1\n```\n"
    run = await talk(chat(say(answer), task="write x"))
    assert not run.of("proposal_opened") and not (tmp_path / "outside.py").exists(), run.story()


async def test_the_conversation_continues_and_shows_a_file_again_only_when_its_text_changed(chat: Make, tmp_path: Path):
    run = chat(say(f"Here.\n{ADD}"), say("It adds now."), say(f"Here.\n{MEAN}"))
    await talk(run, Say(text="what does it do now?"), Say(text="fix mean, too"), decide=decided("approve"))
    assert core(tmp_path) == FIXED.replace("(len(values) + 1)", "len(values)"), run.story()
    assert len([e for e in run.of("prompted") if e["kind"] == "attached"]) == 2
    second, third = run.model.requests[1:]
    assert [m.role for m in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[:2] == run.model.requests[0].messages, "each prompt extends the one before"
    assert second.messages[2].text == f"Here.\n{ADD}" and not second.messages[2].calls
    assert "Result of `write_file`:\ncalc/core.py changed" in second.messages[3].text
    assert FIXED in second.messages[3].text and FIXED not in third.messages[-1].text


async def test_after_a_rejection_with_a_reason_the_model_answers_and_without_one_the_person_speaks(
    chat: Make, tmp_path: Path
):
    run = chat(say(ADD), say(ADD.replace("a + b", "sum((a, b))")), say("unasked"))
    run.on("proposal_opened", decided("reject", reason="use sum"))
    run.on("proposal_opened", decided("reject"), nth=2)
    await talk(run)
    assert len(run.model.requests) == 2 and "use sum" in run.heard(1), run.story()
    assert core(tmp_path) == CORE


async def test_a_file_that_somebody_changed_while_the_model_wrote_is_not_overwritten(chat: Make, tmp_path: Path):
    path = tmp_path / "project/calc/core.py"
    run = chat()

    class Slow(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            path.write_text(CORE + "\n# mine\n")
            async for part in super().stream(request):
                yield part

    run.model = Slow([say(ADD)])
    await talk(run)
    assert "# mine" in path.read_text() and not run.of("proposal_opened"), run.story()
    assert "changed by somebody else" in next(e["text"] for e in run.of("prompted") if e["kind"] == "unused")


async def test_a_file_that_a_rule_hides_from_the_model_is_not_shown(chat: Make):
    rule = Rule(verdict="deny", path="calc/core.py")
    run = await talk(chat(say(ADD), rules=[rule]))
    assert "return a - b" not in run.model.requests[0].messages[-1].text, run.story()
    assert not run.of("file_changed")


async def test_a_file_that_a_tool_runs_by_itself_is_shown_only_where_the_person_marks_it(chat: Make, tmp_path: Path):
    (tmp_path / "project/.envrc").write_text("KEY=1234\n")
    run = await talk(chat(say("ok"), say("ok"), task="leave .envrc alone"), Say(text="explain @.envrc"))
    first, second = run.model.requests
    assert "1234" not in first.messages[-1].text and "KEY=1234" in second.messages[-1].text, run.story()


async def test_a_file_that_no_tool_may_read_is_never_shown(chat: Make, tmp_path: Path):
    (tmp_path / "project/.env").write_text("KEY=1234\n")
    run = await talk(chat(say(".env\n```\nKEY=5\n```\n"), task="explain @.env"))
    assert "1234" not in run.heard() and not run.of("proposal_opened"), run.story()


async def test_an_open_change_of_a_killed_chat_waits_again_whatever_the_gate(chat: Make, tmp_path: Path):
    run = await talk(chat(say(ADD)), decide=decided("reject"))
    (opened,) = run.of("proposal_opened")
    killed = run.killed_at("proposal_opened")
    killed.on("waiting", decided("approve")(opened), why="gate")
    await talk(killed)
    assert core(tmp_path) == FIXED, killed.story()
    (tmp_path / "project/calc/core.py").write_text(CORE)
    killed = await talk(run.killed_at("tool_called"), decide=decided("approve"))
    assert core(tmp_path) == FIXED and killed.of("proposal_opened")[0]["danger"], killed.story()


async def test_the_person_chooses_a_format_in_a_chat_and_goes_back_to_tools(chat: Make, tmp_path: Path):
    turns = [say("Hello."), say(f"Here.\n{ADD}"), call("read_file", path="calc/core.py"), say("Done.")]
    run = chat(*turns, form="auto", task="hi")
    run.on("waiting", SetEditFormat(format="functions"), Say(text="fix add in calc/core.py"), nth=1, why="message")
    run.on("waiting", SetEditFormat(format="tools"), Say(text="read it"), nth=2, why="message")
    run.on("waiting", Stop(how="now"), nth=3, why="message")
    run.on("proposal_opened", decided("approve"))
    await run.run(watched=True)
    assert core(tmp_path) == FIXED, run.story()
    assert [(e["format"], e["by"]) for e in run.of("edit_format_chosen")] == [
        ("functions", "person"),
        ("tools", "person"),
    ]
    first, second, third, _ = run.model.requests
    assert first.tools and not second.tools and third.tools
    assert all([m.role for m in request.messages].count("system") == 1 for request in run.model.requests)
    assert "one fenced block" in second.messages[0].text and third.messages[0] == first.messages[0]
    called = [call.tool for message in third.messages for call in message.calls]
    assert called == ["write_file"], "with tools the change is a call like any other"


@pytest.mark.parametrize(
    ("form", "more", "why"),
    [
        ("constrained", {}, "constrained needs a check (--until CMD): a chat uses functions, whole or blocks"),
        ("auto", {}, "the edit format is auto already"),
        ("whole", {"loop": LoopKind.GOAL, "predicates": Predicates(until=["false"], require=["search"])}, "--require"),
        ("whole", {"loop": LoopKind.GOAL, "predicates": Predicates(until=["false"], schema="s.json")}, "--schema"),
        ("whole", {"loop": LoopKind.GOAL, "predicates": Predicates(until=["false"], until_py=["m:f"])}, "--until-py"),
        ("whole", {"loop": LoopKind.GOAL, "until": ["false"], "commit": True}, "whole does not work with --commit"),
        ("functions", {"loop": LoopKind.GOAL}, "functions needs a check: give one with --until CMD"),
        ("tools", {"loop": LoopKind.NAIVE}, "a naive run edits with tools"),
    ],
)
async def test_a_format_that_does_not_fit_is_refused_in_words(chat: Make, form: EditFormat, more: Any, why: str):
    run = chat(say("Hello."), say("ok"), form="auto", **more)
    run.on("step_started", SetEditFormat(format=form))
    run.on("waiting", Stop(how="now"), why="message")
    run.on("command_refused", Stop(how="now"))
    await run.run(watched=True)
    assert why in run.of("command_refused")[0]["why"], run.story()
    assert not run.of("edit_format_chosen")


async def test_a_goal_run_changes_its_format_from_the_next_answer_on(chat: Make, tmp_path: Path):
    wrong = say("```python\ndef add(a, b):\n    return a * b\n```\n")
    both = FIXED.replace("(len(values) + 1)", "len(values)")
    run = chat(wrong, say(f"```python\n{both}```\n"), loop=LoopKind.GOAL, until=[CHECK], task="make it pass")
    run.on("answer_read", SetEditFormat(format="whole"))
    outcome = await run.run(watched=True)
    assert outcome.reason == "done" and core(tmp_path) == both, run.story()
    assert [e["format"] for e in run.of("answer_read")] == ["functions", "whole"]


async def test_a_goal_run_that_changes_to_tools_takes_its_red_answer_back_first(chat: Make, tmp_path: Path):
    wrong = say("```python\ndef add(a, b):\n    return a * b\n```\n")
    both = FIXED.replace("(len(values) + 1)", "len(values)")
    fix = call("write_file", path="calc/core.py", content=both)
    run = chat(wrong, fix, loop=LoopKind.GOAL, until=[CHECK], task="make it pass")
    run.on("answer_read", SetEditFormat(format="tools"))
    outcome = await run.run(watched=True)
    assert outcome.reason == "done" and core(tmp_path) == both, run.story()
    assert run.of("undone")[0]["by"] == "restart" and run.model.requests[1].tools
    assert "You work in a person's project folder through tools" in run.model.requests[1].messages[0].text
    assert "were undone, because the check failed" in "\n".join(m.text for m in run.model.requests[1].messages)


async def test_auto_gives_the_choice_back_to_the_program(chat: Make):
    run = chat(say("no"), say("no"), call("finish", answer="x"), loop=LoopKind.GOAL, until=["false"], task="pass")
    run.on("answer_read", SetEditFormat(format="auto"))
    run.on("step_started", Stop(how="now"), nth=3)
    await run.run(watched=True)
    assert [(e["format"], e["by"]) for e in run.of("edit_format_chosen")][:2] == [
        ("auto", "person"),
        ("tools", "program"),
    ], run.story()


async def test_the_switch_is_offered_once_after_two_answers_that_would_be_edits(chat: Make, tmp_path: Path):
    turns = [say("What is it?\n```python\nprint(1)\n```\n"), say(ADD), say(ADD), say(ADD)]
    run = await talk(chat(*turns, form="auto"), *[Say(text="please do it")] * 3)
    (offered,) = run.of("edit_format_offered")
    assert (offered["format"], offered["answers"]) == ("functions", 2), run.story()
    assert run.facts().answers.format == "tools" and not run.of("edit_format_chosen"), "it never switches by itself"
    assert core(tmp_path) == CORE
    steps = [e["number"] for e in run.of("step_started")]
    assert steps.index(3) == 2 and offered["seq"] < run.of("step_finished")[2]["seq"]


async def test_the_offer_fits_the_file(chat: Make, tmp_path: Path):
    (tmp_path / "project/a.txt").write_text("".join(f"line {n}\n" for n in range(9)))
    answer = say("a.txt\n```\n" + "".join(f"line {n}\n" for n in range(8)) + "last\n```\n")
    run = await talk(chat(answer, answer, form="auto", task="end a.txt with last"), Say(text="do it"))
    assert [e["format"] for e in run.of("edit_format_offered")] == ["whole"], run.story()


async def test_the_switch_is_offered_to_a_model_that_explains_its_calls(chat: Make):
    """As Qwen2.5-Coder-1.5B answers in a chat."""
    call_in_words = '{"name": "read_file", "arguments": {"path": "calc/core.py"}}'
    said = say(f"To read it, use the read_file function:\n\n<tools>\n{call_in_words}\n</tools>\n\nThis reads it.")
    run = await talk(chat(said, said, form="auto"), Say(text="do it"))
    assert [(e["format"], e["answers"]) for e in run.of("edit_format_offered")] == [("whole", 2)], run.story()


async def test_the_switch_is_offered_at_the_start_to_a_small_model(chat: Make):
    """A person should not need two useless answers first. An answer that only described a call is not sent again."""
    call_in_words = '```json\n{"name": "edit_file", "arguments": {"path": "calc/core.py"}}\n```'
    run = chat(say(f"You can use edit_file:\n\n{call_in_words}\n\nThis edits it."), say(ADD), form="auto")
    run.model.served = ServedFacts(self_hosted=True, parameters=1_777_088_000, template_knows_tools=True)
    await talk(run.on("waiting", SetEditFormat(format="functions")), Say(text="do it"))
    assert [(e["format"], e["answers"]) for e in run.of("edit_format_offered")] == [("whole", 0)], run.story()
    assert run.of("edit_format_offered")[0]["seq"] < run.of("step_started")[0]["seq"]
    sent = "\n".join(message.text for message in run.model.requests[1].messages)
    assert "edit_file" not in sent and "fix add in @calc/core.py" in sent and "do it" in sent


@pytest.mark.parametrize(
    "turns",
    [
        [say("```python\nprint(1)\n```\n")] * 3,  # code that would not be an edit
        [call("read_file", path="calc/core.py"), say(ADD), say(ADD), say(ADD)],  # a call worked
    ],
)
async def test_nothing_is_offered_to_a_model_that_needs_no_other_format(chat: Make, turns: list[Turn]):
    run = await talk(chat(*turns, form="auto"), *[Say(text="please do it")] * 2)
    assert not run.of("edit_format_offered"), run.story()


async def test_nothing_is_offered_to_a_person_who_chose_tools(chat: Make):
    run = await talk(chat(*[say(ADD)] * 3, form="tools"), *[Say(text="please do it")] * 2)
    assert not run.of("edit_format_offered"), run.story()
