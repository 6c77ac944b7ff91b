"""What a background command writes between two comparisons of the workspace, where nothing holds it (decision 0039)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fakes.machines import words_for
from fakes.project import make_project
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import call, say

WRITER = """
n=0
while ! test -e over && test $n -lt 5000; do
  echo $n > written/$n; n=$((n + 1)); sleep 0.02
  if test -e go && ! test -e .envrc; then echo more >> mine.txt; echo 'export A=1' > .envrc; fi
done
sleep 60
"""
COMMANDS = ("sleep 0.3", "cat one", "true", "echo 2 > two", "true", "sleep 0.3", "true", "touch over")


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_each_change_between_two_commands_is_known_once_and_undone_by_name_alone(tmp_path: Path):
    home, work = Home(tmp_path, words_for("no sandbox")), make_project(tmp_path / "project")
    (work / "written").mkdir()
    (work / "writer.sh").write_text(WRITER)
    (work / "mine.txt").write_text("mine\n")
    first, *others = (call("run_command", command=line) for line in COMMANDS)
    turns = [call("start_command", name="w", command="sh writer.sh"), call("run_command", command="echo 1 > one")]
    turns += [replace(first, hold_after=0), *(replace(turn, delay=0.1) for turn in others), say("done")]
    with ScriptedServer(turns) as server:
        words = ["--api-base", server.base_url, "--model", "fake", "--headless", "--json", "--gate", "auto"]
        with home.start("run", "go", "--until", "test -e over", *words, cwd=work) as running:
            running.wait_event("step_finished", number=2)
            (work / "go").touch()  # the first command was compared, and the second has not begun
            wait_until((work / ".envrc").exists)
            server.release()
            run = running.finish()
    changes = run.of("file_changed")
    written = {f"written/{one.name}" for one in (work / "written").iterdir()}
    found = Counter(one["path"] for one in changes)
    assert len(written) > 50 and written - found.keys() == set(), run.story()
    assert [path for path in written if found[path] != 1] == [], "a change is recorded twice"
    by_it = {one["path"]: one["command"] for one in changes if one["by"] == "background"}
    assert by_it[".envrc"] == by_it["mine.txt"] == "w: sh writer.sh", run.story()
    assert {one["path"] for one in changes} & {"one", "two", "over"} - by_it.keys() == {"one", "two", "over"}
    assert not {one["by"] for one in changes} & {"person", "model"}, run.story()

    told = [*run.results("run_command"), *(one["text"] for one in run.of("prompted"))]
    named = [text for text in told if ".envrc changed while the command ran" in text]
    assert len(named) == 1 and run.of("changes_undecided")[-1]["protected"] == [".envrc"], run.story()
    assert run.outcome["reason"] == "handoff" and ".envrc" in run.outcome["evidence"]["undecided"]

    before = {path: path.read_bytes() for path in work.rglob("*") if path.is_file() and ".git" not in path.parts}
    name = run.events[0]["run_id"]
    refused = home.run("ctl", name, "undo", "30", cwd=work)
    assert refused.exit_code == 1 and "perhaps by you" in refused.stderr, refused
    assert {path: path.read_bytes() for path in before} == before, "it was undone as the run's own"
    undone = home.run("ctl", name, "undo", "file", "written/7", cwd=work)
    assert undone.exit_code == 0 and not (work / "written/7").exists(), undone
    assert {path for path in before if not path.exists()} == {work / "written/7"}
    assert (work / "mine.txt").read_text() == "mine\nmore\n"
