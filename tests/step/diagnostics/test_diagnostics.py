"""Diagnostics after an edit, in real runs: with ruff of the project, and with parsers alone."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.turns import Turn, call, calls, edit

from rundry.agent.protocol import GateMode, GoalTries, LoopKind, Rule

from ..layered import events

RUFF = Path(sys.executable).with_name("ruff")
CALC = "def add(a, b):\n    return a + b\n\n\ndef old():\n    return missing\n"
BREAKS = edit("calc.py", "return a + b", "return a + c")


@pytest.fixture
def place(place):
    (place / "work/calc.py").write_text(CALC)
    return place


def with_ruff(folder: Path, config: str = "[tool.ruff]\n") -> None:
    (folder / ".venv/bin").mkdir(parents=True)
    os.link(RUFF, folder / ".venv/bin/ruff")
    (folder / "pyproject.toml").write_text(config)


def run_of(place: Path, *turns: Turn, **options) -> Driven:
    done = call("finish", answer="done", citations=["calc.py"])
    return Driven(place / "runs", place / "work", ScriptedModel([*turns, done]), **options)


def sent(run: Driven) -> list[str]:
    return [one["text"] for one in events(run, "prompted") if one["kind"] == "diagnostics"]


async def test_a_new_problem_is_sent_with_the_results_of_the_step_and_an_old_one_is_not(place):
    with_ruff(place / "work")
    run = run_of(place, BREAKS)
    await run.run()
    (text,) = sent(run)
    assert text.splitlines()[1:] == ["- calc.py:2: F821 Undefined name `c` (ruff)"], text
    assert text in run.heard(1) and "missing" not in text
    (event,) = events(run, "files_diagnosed")
    assert event["ran"] == ["ruff"] and event["problems"][0]["line"] == 2 and event["seconds"] < 3
    assert not (place / "work/.ruff_cache").exists()
    run.assert_legal()


async def test_a_problem_is_sent_once_while_it_lasts_and_again_when_it_comes_back(place):
    with_ruff(place / "work")
    other = edit("calc.py", "def old", "def older")
    mended = edit("calc.py", "return a + c", "return a + b")
    again = edit("calc.py", "return a + b", "return c + b")
    run = run_of(place, BREAKS, other, mended, again)
    await run.run()
    assert [text.count("Undefined name `c`") for text in sent(run)] == [1, 1], run.story()
    assert len(events(run, "files_diagnosed")) == 4


async def test_a_name_that_lost_its_import_is_reported_though_its_line_did_not_change(place):
    with_ruff(place / "work")
    (place / "work/calc.py").write_text("import os\n\n\ndef here():\n    return os.getcwd()\n")
    run = run_of(place, edit("calc.py", "import os\n\n\n", ""))
    await run.run()
    assert "calc.py:2: F821 Undefined name `os`" in sent(run)[0]


async def test_files_of_a_command_are_looked_at_and_a_deleted_one_is_not(place):
    with_ruff(place / "work")
    line = "rm calc.py; for n in $(seq 40); do echo 'print(missing)' > m$n.py; done"
    run = run_of(place, call("run_command", command=line))
    await run.run()
    (text,) = sent(run)
    assert text.startswith("40 new problems") and len(text.splitlines()) == 12 and len(text) < 1_700
    assert text.endswith("- and 30 more")
    assert events(run, "files_diagnosed")[0]["left_out"] == 30


async def test_a_project_in_a_folder_has_its_own_tool_and_configuration(place):
    with_ruff(place / "work/services/a", '[tool.ruff.lint]\nselect = ["E501"]\n')
    run = run_of(place, call("write_file", path="services/a/src/x.py", content=f"x = '{'x' * 100}'\ny = z\n"))
    await run.run()
    (text,) = sent(run)
    assert "services/a/src/x.py:1: E501" in text and "F821" not in text


async def test_nothing_is_reported_about_files_that_git_ignores_or_a_rule_denies(place):
    with_ruff(place / "work")
    (place / "work/.gitignore").write_text("made/\n")
    line = "mkdir -p made secret; echo 'x = y' > made/a.py; echo 'x = y' > secret/a.py"
    deny = Rule(verdict="deny", path="secret/**")
    run = run_of(place, call("run_command", command=line), rules=[deny])
    await run.run()
    assert not sent(run) and not events(run, "files_diagnosed")


async def test_without_a_tool_files_that_no_longer_parse_are_reported(place):
    work = place / "work"
    for name, text in (("a.json", '{"a": 1}'), ("a.toml", "a = 1\n"), ("kept.json", "{")):
        (work / name).write_text(text)
    script = calls(
        *edit("calc.py", "def add(a, b):", "def add(a, b:").calls,
        *call("write_file", path="new.json", content='{"a": 1,}\n').calls,
        *call("run_command", command="echo '{' > kept.json; echo 'a = ' > a.toml; echo '// x' >> a.json").calls,
    )
    run = run_of(place, script)
    await run.run()
    (text,) = sent(run)
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    assert f"calc.py:1: '(' was never closed ({version})" in text
    assert "new.json:1: " in text and "a.toml:1: " in text and "kept.json" not in text and "a.json:2" not in text
    assert events(run, "files_diagnosed")[0]["ran"] == []


async def test_a_project_of_a_newer_python_is_not_judged_by_an_older_one(place):
    (place / "work/pyproject.toml").write_text('[project]\nrequires-python = ">=3.99"\n')
    run = run_of(place, edit("calc.py", "def add(a, b):", "def add(a, b):= new syntax"))
    await run.run()
    assert not sent(run)


async def test_a_broken_file_is_reported_by_its_parser_alone(place):
    with_ruff(place / "work")
    run = run_of(place, edit("calc.py", "def add(a, b):", "def add(a, b:"))
    await run.run()
    assert len(sent(run)[0].splitlines()) == 2, sent(run)


@pytest.mark.timeout(60)
async def test_a_tool_that_hangs_is_tried_twice_reported_once_and_never_delays_a_step_longer(place):
    work = place / "work"
    (work / ".venv/bin").mkdir(parents=True)
    (work / ".venv/bin/ruff").write_text("#!/bin/bash\ntrap '' TERM\nwhile true; do sleep 1; done\n")
    (work / ".venv/bin/ruff").chmod(0o755)
    (work / "ruff.toml").write_text("")
    edits = [
        edit("calc.py", f"return {old}", f"return {old} + 1") for old in ("a + b", "a + b + 1", "missing", "a + b")
    ]
    run = run_of(place, *edits)
    await run.run(within=40)
    found = events(run, "files_diagnosed")
    assert [one["notes"] for one in found] == [["ruff took longer than 3 s twice: it is not tried again in this run"]]
    assert not sent(run)
    steps = [one["seconds"] for one in events(run, "step_finished")]
    assert sorted(steps, reverse=True)[0] < 4 and sorted(steps)[-3] < 2, steps


async def test_a_tool_that_fails_is_reported_once_and_decides_nothing(place):
    with_ruff(place / "work", "[tool.ruff]\nline-length = 'x'\n")
    run = run_of(place, BREAKS, edit("calc.py", "return a + c", "return a + d"))
    outcome = await run.run()
    assert outcome.reason == "answered" and not sent(run), run.story()
    (event,) = events(run, "files_diagnosed")
    assert "ruff could not look at the changed files: " in event["notes"][0]


async def test_the_same_problem_again_and_again_feeds_no_stall_and_no_loop(place):
    with_ruff(place / "work")
    edits = [edit("calc.py", "    return a", f"    print({n})\n    return a") for n in range(6)]
    run = run_of(place, BREAKS, *edits)
    outcome = await run.run()
    assert outcome.reason == "answered" and not events(run, "stall_detected"), run.story()
    assert len(sent(run)) == 1


@pytest.mark.parametrize("gate", [GateMode.ASK, GateMode.EDITS])
async def test_where_commands_ask_no_tool_of_the_project_starts_and_parsers_do(place, gate):
    work = place / "work"
    (work / ".venv/bin").mkdir(parents=True)
    (work / ".venv/bin/ruff").write_text(
        "#!/bin/sh\ntouch /tmp/ran; echo \"./calc.py:1:1: F1 it ran $(grep -c 'a + c' calc.py)\"\n"
    )
    (work / ".venv/bin/ruff").chmod(0o755)
    (work / "ruff.toml").write_text("")
    allowed = [Rule(verdict="allow", tool="edit_file", path="**")]
    run = run_of(place, edit("calc.py", "def add(a, b):", "def add(a, b:"), gate=gate, rules=allowed)
    await run.run()
    assert "never closed" in sent(run)[0] and "it ran" not in sent(run)[0]
    assert events(run, "files_diagnosed")[0]["ran"] == []
    ruled = [*allowed, Rule(verdict="allow", command=".venv/bin/ruff")]
    (work / "calc.py").write_text(CALC)
    ruled_run = run_of(place, BREAKS, gate=gate, rules=ruled)
    await ruled_run.run()
    assert "it ran" in "".join(sent(ruled_run)), "a rule of the person lets it start"


async def test_what_a_tool_writes_is_dropped_and_it_has_no_network(place):
    work = place / "work"
    (work / ".venv/bin").mkdir(parents=True)
    reach = "(exec 3<>/dev/tcp/127.0.0.1/9) 2>&1 | grep -q refused; ls /sys/class/net | tr '\\n' ,"
    (work / ".venv/bin/ruff").write_text(
        f'#!/bin/bash\necho x >> calc.py; touch made; echo "calc.py:1:1: F1 $({reach})"\n'
    )
    (work / ".venv/bin/ruff").chmod(0o755)
    (work / "ruff.toml").write_text("")
    run = run_of(place, BREAKS)
    await run.run()
    assert not (work / "made").exists() and (work / "calc.py").read_text() == CALC.replace("a + b", "a + c")
    assert [one["path"] for one in events(run, "file_changed")] == ["calc.py"]
    assert "F1" not in "".join(sent(run)), "it said the same of the file before the run"


async def test_off_looks_at_nothing(place):
    with_ruff(place / "work")
    run = run_of(place, BREAKS, diagnostics=False)
    await run.run()
    assert not sent(run) and not events(run, "files_diagnosed")


async def test_in_a_stage_the_tools_see_what_is_staged(place):
    with_ruff(place / "work")
    run = run_of(place, BREAKS, gate=GateMode.STAGE)
    await run.run()
    assert "calc.py:2: F821 Undefined name `c`" in sent(run)[0] and "missing" not in sent(run)[0], sent(run)
    assert (place / "work/calc.py").read_text() == CALC


async def test_a_red_check_is_still_reported_after_diagnostics(place):
    with_ruff(place / "work")
    run = run_of(place, BREAKS, until=["grep -q never calc.py"])
    await run.run()
    kinds = [one["kind"] for one in events(run, "prompted") if one["kind"] in ("diagnostics", "check")]
    assert kinds[:3] == ["check", "diagnostics", "check"], run.story()


async def test_a_pass_is_looked_at_in_its_unit(place):
    with_ruff(place / "work")
    run = run_of(place, BREAKS, loop=LoopKind.GOAL, until=["grep -q 'a + c' calc.py"], tries=GoalTries(tries=2))
    await run.run()
    assert "Undefined name `c`" in "".join(sent(run)), run.story()
