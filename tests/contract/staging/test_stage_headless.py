"""A headless run without `--gate` changes nothing in the workspace; `rundry apply` decides on all that it staged."""

from __future__ import annotations

import signal

from fakes.paused_command import PausedCommand
from fakes.project import CHECK, FIX_ADD, FIX_BOTH, FIX_MEAN, changed_files, git, read
from fakes.rundry import RUNDRY
from fakes.server import ScriptedServer
from fakes.staged_project import DONE, StagedProject, ended
from fakes.terminal import Terminal
from fakes.turns import call, say

COMMAND = call("run_command", command="cat calc/core.py | grep -c 'a + b' > counted.txt; mkdir -p out; echo x > out/x")


async def test_what_a_run_stages_is_applied_by_its_digest_and_undone(place: StagedProject):
    ran = place.run([FIX_ADD, COMMAND, FIX_MEAN], "--until", CHECK)
    end = ended(ran)
    assert (ran.exit_code, end["reason"]) == (5, "handoff"), ran
    assert changed_files(place.project) == []
    assert end["files_changed"] == [] and end["staged"] == ["calc/core.py", "counted.txt", "out/x"]
    shown = place.shown()
    assert [entry["path"] for entry in shown["entries"]] == ["calc/core.py", "counted.txt", "out/x"]  # type: ignore[index]
    assert "+    return a + b" in str(shown["diff"])
    wrong = place.apply("--digest", "0" * 64)
    assert wrong.exit_code == 2 and changed_files(place.project) == [], wrong
    done = place.apply("--digest", str(shown["digest"]))
    assert done.exit_code == 0, done
    assert changed_files(place.project) == ["calc/core.py", "counted.txt", "out/x"]
    assert (place.project / "counted.txt").read_text() == "1\n"
    assert place.stages() == []
    undone = place.home.run("ctl", place.home.journals()[-1].stem, "undo", cwd=place.project)
    assert undone.exit_code == 0, undone
    assert changed_files(place.project) == [], undone


async def test_a_run_that_stages_nothing_ends_as_before(place: StagedProject):
    ran = place.run([read("calc/core.py")])
    assert (ran.exit_code, ended(ran)["reason"]) == (0, "answered"), ran
    assert place.stages() == []
    done = place.apply()
    assert done.exit_code == 2 and "nothing is staged" in done.stderr, done


async def test_a_check_that_passes_because_of_ignored_output_is_a_hand_off(place: StagedProject):
    (place.project / ".gitignore").write_text("dist/\n")
    git(place.project, "add", ".")
    git(place.project, "commit", "-qm", "ignore")
    build = call("run_command", command="mkdir -p dist && echo app > dist/app")
    ran = place.run([read("calc/core.py"), build], "--until", "test -f dist/app")
    assert (ran.exit_code, ended(ran)["reason"]) == (5, "handoff"), ran
    assert "build output staged" in str(ended(ran)["detail"]) and not (place.project / "dist").exists()
    assert place.shown()["entries"] == []
    done = place.apply("--digest", str(place.shown()["digest"]))
    assert done.exit_code == 5 and "changes that nobody decided on: dist/app" in done.stdout, done
    assert (place.project / "dist/app").exists() and place.stages() == []


async def test_a_check_that_passes_from_the_start_needs_no_decision_about_what_it_writes(place: StagedProject):
    (place.project / ".gitignore").write_text("dist/\n")
    ran = place.run([], "--until", "mkdir -p dist && echo x > dist/log")
    assert (ran.exit_code, ended(ran)["reason"]) == (0, "done"), ran
    assert place.stages() == []


async def test_a_red_check_keeps_its_reason_and_the_stage_stays(place: StagedProject):
    ran = place.run([FIX_ADD], "--until", CHECK, "--steps", "2")
    assert (ran.exit_code, ended(ran)["reason"]) == (3, "budget"), ran
    shown = place.shown()
    done = place.apply("--digest", str(shown["digest"]))
    assert done.exit_code == 5 and "do not pass in the workspace" in done.stdout, done
    assert changed_files(place.project) == ["calc/core.py"]


async def test_protected_files_are_staged_and_not_applied_by_a_digest(place: StagedProject):
    ran = place.run([FIX_ADD, call("run_command", command="echo 'export X=1' > .envrc")])
    assert ran.exit_code == 5, ran
    shown = place.shown()
    assert {entry["path"]: bool(entry.get("danger")) for entry in shown["entries"]} == {  # type: ignore[attr-defined]
        ".envrc": True,
        "calc/core.py": False,
    }
    done = place.apply("--digest", str(shown["digest"]))
    assert done.exit_code == 5, done
    assert changed_files(place.project) == ["calc/core.py"]
    assert "Skipped: `.envrc` (a digest does not accept what a person has to see)." in done.stdout, done
    assert [entry["path"] for entry in place.shown()["entries"]] == [".envrc"], "nobody decided against it"  # type: ignore[index]


async def test_commits_that_a_digest_holds_back_can_be_approved_later(place: StagedProject):
    commit = "echo x > .envrc; git add -A; git -c user.name=a -c user.email=a@b.c commit -qm fixed"
    assert place.run([FIX_BOTH, call("run_command", command=commit)]).exit_code == 5
    done = place.apply("--digest", str(place.shown()["digest"]))
    assert "stays staged" in done.stdout and changed_files(place.project) == ["calc/core.py"], done
    with Terminal([str(RUNDRY), "apply", "--plain"], cwd=place.project, env=place.home.env) as terminal:
        terminal.wait_for("stay staged")
        terminal.send("approve\r")
        assert terminal.wait_for_exit() == 0, terminal.text()
    assert git(place.project, "log", "-1", "--format=%s") == "fixed\n"
    assert changed_files(place.project) == [] and place.stages() == []


async def test_the_end_of_a_run_that_is_not_staged_names_the_missing_patch(place: StagedProject):
    ran = place.run([FIX_BOTH], "--gate", "auto", "--stage-patch", str(place.home.root / "p"))
    assert ran.exit_code == 0 and "is not written, because this run is not staged" in ran.stdout, ran


async def test_what_is_to_be_written_is_not_dropped_instead(place: StagedProject):
    assert place.run([FIX_ADD]).exit_code == 5
    done = place.apply("--patch", str(place.home.root / "p"), "--drop")
    assert done.exit_code == 2 and "cannot be used together" in done.stderr, done
    assert len(place.stages()) == 1


async def test_an_interrupt_at_the_question_leaves_all_of_it_staged(place: StagedProject):
    assert place.run([FIX_ADD]).exit_code == 5
    with Terminal([str(RUNDRY), "apply", "--plain"], cwd=place.project, env=place.home.env) as terminal:
        terminal.wait_for("stay staged")
        terminal.send("\x03")
        assert terminal.wait_for_exit(10.0) == 5, terminal.text()
        assert "Nothing was applied. It stays staged." in terminal.text()
    assert len(place.stages()) == 1 and changed_files(place.project) == []


async def test_after_a_kill_in_rundry_apply_the_checks_decide_its_exit_code(place: StagedProject):
    log, red = place.home.root / "points", [FIX_ADD]
    place.run(red, "--until", CHECK, "--steps", "2")
    counting = {"RUNDRY_CRASH_AT": "0", "RUNDRY_CRASH_LOG": str(log)}
    place.apply("--digest", str(place.shown()["digest"]), env=counting)
    git(place.project, "checkout", ".")
    place.run(red, "--until", CHECK, "--steps", "2")
    at = log.read_text().splitlines().index("order: given") + 1
    killed = place.apply("--digest", str(place.shown()["digest"]), env={"RUNDRY_CRASH_AT": str(at)})
    assert killed.exit_code == -signal.SIGKILL, killed
    done = place.apply()
    assert "What `rundry apply` changed (1 file) was applied." in done.stdout, done
    assert done.exit_code == 5 and "do not pass in the workspace" in done.stdout, done
    assert changed_files(place.project) == ["calc/core.py"] and place.stages() == []


async def test_a_patch_and_a_branch_leave_the_workspace_and_the_stage_as_they_are(place: StagedProject):
    patch, at_end = place.home.root / "stage.patch", place.home.root / "end.patch"
    ran = place.run([FIX_BOTH], "--until", CHECK, "--stage-patch", str(at_end))
    assert ran.exit_code == 5, ran
    done = place.apply("--patch", str(patch), "--branch", "fixed")
    assert done.exit_code == 0 and patch.read_bytes() == at_end.read_bytes(), done
    assert changed_files(place.project) == [] and len(place.stages()) == 1
    assert git(place.project, "diff", "--stat", "HEAD", "fixed").startswith(" calc/core.py")
    git(place.project, "apply", str(patch))
    assert git(place.project, "diff") == git(place.project, "diff", "HEAD", "fixed")


async def test_a_branch_of_a_stage_that_needs_uncommitted_lines_is_refused_with_the_file(place: StagedProject):
    core = place.project / "calc/core.py"
    core.write_text(core.read_text().replace("def add(a, b):\n", "def add(a, b):\n    # mine\n"))
    assert place.run([FIX_BOTH], "--until", CHECK).exit_code == 5
    refused = place.apply("--branch", "fixed")
    why = "calc/core.py has changes that are not committed, and the stage begins with them. Commit them, or use --patch"
    assert refused.exit_code == 2 and f"--branch fixed: {why}" in refused.stderr, refused
    assert not git(place.project, "branch", "--list", "fixed") and len(place.stages()) == 1


async def test_a_stage_survives_a_kill_and_a_later_runner_works_on_in_it(place: StagedProject):
    held = PausedCommand()
    turns = [FIX_ADD, call("run_command", command=f"echo before > made.txt; {held.line}"), FIX_MEAN]
    later = call("run_command", command="cat made.txt > more.txt")
    with ScriptedServer([*turns, later], then=DONE) as server:
        with place.home.start(*place.argv(server), cwd=place.project) as run:
            held.wait()
            run.signal(signal.SIGKILL)
            run.finish()
        assert changed_files(place.project) == []
        again = place.home.run("resume", "--headless", "--json", cwd=place.project)
    assert (again.exit_code, ended(again)["reason"]) == (5, "handoff"), again
    shown = place.shown()
    paths = [entry["path"] for entry in shown["entries"]]  # type: ignore[attr-defined]
    assert paths == ["calc/core.py", "made.txt", "more.txt"], shown
    assert changed_files(place.project) == []
    assert place.apply("--drop").exit_code == 0
    assert place.stages() == [] and changed_files(place.project) == []


async def test_a_file_that_the_user_changed_meanwhile_stays_and_is_named(place: StagedProject):
    ran = place.run([FIX_ADD, COMMAND])
    assert ran.exit_code == 5, ran
    core = place.project / "calc/core.py"
    core.write_text(core.read_text() + "# by the user\n")
    shown = place.shown()
    done = place.apply("--digest", str(shown["digest"]))
    assert done.exit_code == 5, done
    assert "# by the user" in core.read_text() and "a - b" in core.read_text()
    assert (place.project / "counted.txt").exists()
    assert len(place.stages()) == 1, "it can be decided on later"


async def test_commits_of_a_stage_are_imported_with_their_files(place: StagedProject):
    commit = "git -c user.name=a -c user.email=a@b.c commit -qam fixed"
    ran = place.run([FIX_BOTH, call("run_command", command=commit)])
    assert ran.exit_code == 5, ran
    assert "fixed" not in git(place.project, "log", "--format=%s")
    done = place.apply("--digest", str(place.shown()["digest"]))
    assert done.exit_code == 0, done
    assert git(place.project, "log", "-1", "--format=%s") == "fixed\n"
    assert changed_files(place.project) == []


async def test_a_server_of_the_stage_sees_edits_and_checks_reach_it(place: StagedProject):
    serve = call("start_command", name="web", command="python3 -m http.server 8765 --bind 127.0.0.1")
    check = "python3 -c \"import urllib.request as r; assert b'a + b' in r.urlopen('http://127.0.0.1:8765/calc/core.py').read()\""
    ran = place.run([serve, FIX_ADD, say("done")], "--until", check)
    assert ended(ran)["reason"] == "handoff", ran
    assert ran.of("check_finished")[-1]["passed"], "it reaches the server"
    assert "let the check start `web`" in str(ended(ran)["detail"]), "the view of a judge has no such server"
