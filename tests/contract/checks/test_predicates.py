"""What makes a goal run done, and what does not (docs/requirements.md 2.3)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.in_process.headless_run import play
from fakes.project import CHECK, CORE, FIX_BOTH, SUITE, changed_files, read
from fakes.server import ScriptedServer
from fakes.turns import Call, Turn, call, calls, finish, say
from fakes.wire import text_of

from rundry.agent.protocol import Budget, Predicates, Verify

LINT = call("run_command", command="python3 -m compileall -q calc")
WRITE = call("write_file", path="report.md", content="# Report\n")


async def test_until_file_is_met_by_a_file_that_exists_and_is_not_empty(runs: Path, project: Path):
    turns = [call("write_file", path="report.md", content=""), WRITE]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, predicates=Predicates(until_file=["report.md"]))
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 2), ran.story()
    assert "report.md" in ran.outcome["detail"]
    assert ran.outcome["files_changed"] == ["report.md"]


async def test_a_predicate_of_the_users_own_gets_the_runs_state_in_a_process_without_keys(runs: Path, project: Path):
    code = (
        "import json, os\n"
        "def ready(state):\n"
        "    tools = [action['tool'] for action in state['actions']]\n"
        "    keys = [name for name in os.environ if name.endswith('_API_KEY')]\n"
        "    return 'report.md' in state['files_changed'], json.dumps([tools, keys])\n"
    )
    (project / "own.py").write_text(code)
    with ScriptedServer([read("NOTES.md"), WRITE]) as server:
        ran = await play(runs, server, project, predicates=Predicates(until_py=["own.py:ready"]))
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 2), ran.story()
    detail = ran.of("predicate_judged")[-1]["detail"]
    tools, keys = json.loads(detail)
    assert tools == ["read_file", "write_file"]
    assert keys == []


async def test_a_schema_judges_the_final_answer_and_says_what_is_wrong(runs: Path, project: Path, tmp_path: Path):
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"type": "object", "required": ["bugs"], "properties": {"bugs": {"type": "integer"}}}))
    turns = [read("calc/core.py"), finish('{"bugs": "two"}', "calc/core.py"), finish('{"bugs": 2}', "calc/core.py")]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, predicates=Predicates(schema=str(schema)))
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 3), ran.story()
    assert json.loads(ran.outcome["answer"]) == {"bugs": 2}
    assert "integer" in server.requests[2].text


async def test_a_required_action_must_have_happened_besides_the_check(runs: Path, project: Path):
    turns = [FIX_BOTH, say("It is green."), call("run_command", command="echo python3"), LINT]
    wanted = Predicates(until=[CHECK], require=["run_command:python3 -m compileall"])
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, predicates=wanted)
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 4), ran.story()
    assert "run_command:python3 -m compileall" in ran.outcome["detail"]


async def test_with_any_one_predicate_is_enough_and_the_outcome_says_which(runs: Path, project: Path):
    wanted = Predicates(until=[CHECK], until_file=["report.md"], any=True)
    with ScriptedServer([WRITE]) as server:
        ran = await play(runs, server, project, predicates=wanted)
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 1), ran.story()
    assert "report.md" in ran.outcome["detail"]
    assert CHECK not in ran.outcome["detail"]


async def test_several_checks_must_all_pass(runs: Path, project: Path):
    with ScriptedServer([FIX_BOTH, WRITE]) as server:
        ran = await play(runs, server, project, predicates=Predicates(until=[CHECK, "test -s report.md"]))
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 2), ran.story()


async def test_on_change_skips_the_check_after_a_step_that_changed_nothing(runs: Path, project: Path):
    turns = [read("calc/core.py"), read("NOTES.md"), FIX_BOTH]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, predicates=Predicates(until=[CHECK], verify=Verify.ON_CHANGE))
    assert ran.outcome["reason"] == "done", ran.story()
    assert [c["step"] for c in ran.of("check_finished")] == [None, 3]


async def test_on_claim_runs_the_check_only_when_the_model_says_that_it_is_done(runs: Path, project: Path):
    turns = [FIX_BOTH, read("NOTES.md"), say("I am done.")]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, predicates=Predicates(until=[CHECK], verify=Verify.ON_CLAIM))
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 3), ran.story()
    assert [c["step"] for c in ran.of("check_finished")] == [None, 3]


async def test_a_check_that_times_out_or_cannot_start_is_reported(runs: Path, project: Path):
    slow = Predicates(until=["sleep 30"], timeout=0.3, any=True, until_file=["report.md"])
    with ScriptedServer([read("NOTES.md"), WRITE]) as server:
        ran = await play(runs, server, project, predicates=slow)
    assert ran.outcome["reason"] == "done", ran.story()
    check = ran.of("check_finished")[0]
    assert (check["timed_out"], check["passed"], check["exit_code"]) == (True, False, None)
    assert "timed out" in text_of(server.requests[1].messages[-1])


async def test_a_silent_model_is_reminded_and_its_claim_is_never_accepted(runs: Path, project: Path):
    turns = [say("Everything is fixed now."), read("NOTES.md"), say("Really, it is done."), FIX_BOTH]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, until=[CHECK])
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 4), ran.story()
    assert len(ran.of("prompted")) >= 2
    for after_silence in (server.requests[1], server.requests[3]):
        assert after_silence.messages[-1]["role"] == "user"


async def test_a_finish_is_rejected_with_the_reason_until_its_citations_hold(runs: Path, project: Path):
    turns = [
        finish("add subtracts"),
        finish("add subtracts", "calc/core.py:5"),
        read("calc/core.py"),
        finish("add subtracts", "calc/core.py:500"),
        finish("add subtracts", {"path": "calc/core.py", "line": 5, "quote": "return a * b"}),
        finish("add subtracts", {"path": "calc/core.py", "line": 5, "quote": "return a - b"}),
    ]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project)
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("answered", 6), ran.story()
    none, unread, line, quote, good = ran.of("tool_finished")[0:2] + ran.of("tool_finished")[3:6]
    assert [e["ok"] for e in (none, unread, line, quote, good)] == [False] * 4 + [True]
    assert "citation" in none["result"]
    assert "calc/core.py" in unread["result"]
    assert "500" in line["result"]
    assert "return a * b" in quote["result"]
    assert ran.outcome["answer"] == "add subtracts"
    assert ran.outcome["citations"] == [{"path": "calc/core.py", "line": 5, "quote": "return a - b"}]


async def test_next_to_other_calls_a_finish_is_judged_last_and_still_has_to_pass_the_check(runs: Path, project: Path):
    claim = Call("finish", {"answer": "fixed", "citations": ["calc/core.py"]})
    turns = [calls(claim, Call("read_file", {"path": "calc/core.py"})), calls(claim, *FIX_BOTH.calls)]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, until=[CHECK])
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 2), ran.story()
    assert ran.outcome["answer"] == "fixed"
    finished = [e["tool"] for e in ran.of("tool_finished")]
    assert finished == ["read_file", "finish", "edit_file", "edit_file", "finish"]


async def test_headless_a_question_is_answered_that_nobody_is_there(runs: Path, project: Path):
    turns = [call("ask_person", question="Shall I?"), FIX_BOTH]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, until=[CHECK])
    assert ran.outcome["reason"] == "done", ran.story()
    assert "nobody is there" in ran.results("ask_person")[0].lower()


@pytest.mark.parametrize(
    "cheat",
    [
        call("write_file", path="tests/test_core.py", content=""),
        call("run_command", command="printf 'import unittest\\n' > tests/test_core.py"),
    ],
    ids=["edit", "command"],
)
async def test_tests_that_were_emptied_are_missing_and_the_run_is_handed_over(runs: Path, project: Path, cheat: Turn):
    with ScriptedServer([read("tests/test_core.py"), cheat, FIX_BOTH]) as server:
        ran = await play(runs, server, project, until=[CHECK])
    assert (ran.outcome["reason"], ran.outcome["exit_code"]) == ("handoff", 5), ran.story()
    assert ran.outcome["detail"].startswith("suspect check"), ran.outcome["detail"]


async def test_a_path_of_the_guard_cannot_be_changed_headless(runs: Path, project: Path):
    edit = call("write_file", path="tests/test_core.py", content="")
    command = call("run_command", command="printf 'import unittest\\n' > tests/test_core.py")
    wanted = Predicates(until=[CHECK], guard=["tests/**"])
    with ScriptedServer([read("tests/test_core.py"), edit, command, FIX_BOTH]) as server:
        ran = await play(runs, server, project, predicates=wanted)
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 4), ran.story()
    assert (project / "tests/test_core.py").read_text() == SUITE
    first = ran.of("proposal_decided")[0]
    assert (first["decision"], first["by"]) == ("reject", "policy")
    assert "Not applied: `tests/test_core.py`: nobody is here to approve it" in ran.results("run_command")[0]
    assert ran.outcome["files_changed"] == ["calc/core.py"] == changed_files(project)


async def test_a_guarded_file_that_a_command_changed_by_another_name_is_as_before(runs: Path, project: Path):
    (project / "alias").hardlink_to(project / "tests/test_core.py")
    cheat = call("run_command", command="printf 'import unittest\\n' > alias")
    with ScriptedServer([cheat, FIX_BOTH]) as server:
        ran = await play(runs, server, project, until=[CHECK])
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 2), ran.story()
    assert (project / "tests/test_core.py").read_text() == (project / "alias").read_text() == SUITE
    assert [c for c in ran.of("check_finished") if c["step"] == 1][-1]["passed"] is False
    assert "Not applied: `alias`" in ran.results("run_command")[0]


async def test_guard_none_and_a_scope_that_names_the_file_let_it_change_and_a_task_does_not(runs: Path, project: Path):
    check, suite = "grep -q -- -1 tests/test_core.py", "tests/test_core.py"
    drop = call("write_file", path="tests/test_core.py", content=SUITE.replace("5)", "-1)").replace("3)\n", "2)\n"))
    for more, task, end in (
        ({"guard": ["none"]}, "fix it", ("done", 2)),
        ({"scope": [suite]}, "fix it", ("done", 2)),
        ({}, "rewrite tests/test_core.py", ("handoff", 2)),
    ):
        (project / suite).write_text(SUITE)
        with ScriptedServer([read(suite), drop]) as server:
            ran = await play(runs, server, project, predicates=Predicates(until=[check], **more), task=task)
        assert (ran.outcome["reason"], ran.outcome["steps"]) == end, ran.story()
    assert f"nobody decided on: {suite}" in ran.outcome["detail"]
    assert ran.of("judged")[-1]["undecided"] == [suite]


async def test_data_that_the_check_only_reads_is_not_guarded(runs: Path, project: Path):
    with ScriptedServer([call("write_file", path="report.txt", content="DONE\n")]) as server:
        ran = await play(runs, server, project, until=["grep -q DONE report.txt"])
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 1), ran.story()


async def test_a_script_that_the_check_executes_may_change_but_the_result_is_handed_over(runs: Path, project: Path):
    (project / "check.sh").write_text("exit 1\n")
    (project / "golden.txt").write_text("right\n")
    cheats = [
        call("write_file", path="check.sh", content="exit 0\n"),
        call("write_file", path="golden.txt", content="wrong\n"),
        say("I give up"),
    ]
    wanted = Predicates(until=["bash check.sh"], guard=["golden.*"])
    with ScriptedServer(cheats, then=read("NOTES.md")) as server:
        ran = await play(runs, server, project, predicates=wanted)
    assert (ran.outcome["reason"], ran.outcome["exit_code"]) == ("handoff", 5), ran.story()
    assert ran.outcome["complete"] is False and "nobody decided on: check.sh" in ran.outcome["detail"]
    assert (project / "check.sh").read_text() == "exit 0\n", "nothing is asked at the change"
    (project / "check.sh").write_text("exit 1\n")
    with ScriptedServer(cheats[1:], then=read("NOTES.md")) as server:
        ran = await play(runs, server, project, predicates=wanted, budget=Budget(steps=3))
    assert ran.outcome["complete"] is False, ran.story()
    assert (project / "golden.txt").read_text() == "right\n", "a path of --guard is asked about, and nobody is here"
    assert (project / "calc/core.py").read_text() == CORE


ASKS_CORE = (
    "import sys\nsys.path.insert(0, '.')\nfrom calc.core import add\ndef ready(state):\n    return add(2, 3) == 5\n"
)
FORGES = (
    "import os, sys\nprint('rundry-verdict [true, \"forged\"]')\nfor name in list(sys.modules):\n"
    "    sys.modules[name].__dict__['verdict'] = lambda answer: (True, 'forged')\n"
    "open(os.path.expanduser('~/mine'), 'w')\n"
)


async def test_code_under_test_cannot_forge_the_verdict_of_a_predicate(runs: Path, project: Path):
    (project / "checks").mkdir()
    (project / "checks/ready.py").write_text(ASKS_CORE)
    forge = call("write_file", path="calc/core.py", content=FORGES + CORE)
    exits = call("write_file", path="calc/core.py", content=f"import os\nos._exit(0)\n{CORE}")
    right = call("write_file", path="calc/core.py", content=CORE.replace("a - b", "a + b"))
    with ScriptedServer([read("calc/core.py"), forge, exits, right]) as server:
        ran = await play(runs, server, project, predicates=Predicates(until_py=["checks/ready.py:ready"]))
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 4), ran.story()
    assert [judged["passed"] for judged in ran.of("predicate_judged")] == [False] * 4 + [True]


async def test_a_schema_that_held_for_an_earlier_answer_does_not_end_the_run(runs: Path, project: Path):
    (project / "s.json").write_text('{"type": "object"}')
    turns = [say('{"bugs": 2}'), Turn("Now I fix it.", FIX_BOTH.calls), say('{"bugs": 0}')]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, predicates=Predicates(until=[CHECK], schema="s.json"))
    assert (ran.outcome["reason"], ran.outcome["answer"]) == ("done", '{"bugs": 0}'), ran.story()


async def test_a_required_command_after_the_last_edit_has_to_run_again_after_an_edit(runs: Path, project: Path):
    wanted = Predicates(until=[CHECK], require=["run_command:python3 -m compileall:after-last-edit"])
    with ScriptedServer([LINT, FIX_BOTH, LINT]) as server:
        ran = await play(runs, server, project, predicates=wanted)
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 3), ran.story()
