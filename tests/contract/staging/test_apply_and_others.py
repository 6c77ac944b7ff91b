"""`rundry apply` next to other processes: another `rundry apply`, the resumed run, another run in the workspace."""

from __future__ import annotations

import json
from pathlib import Path

from fakes.paused_command import PausedCommand
from fakes.project import CHECK, FIX_ADD, FIX_BOTH, FIX_MEAN, changed_files, git, read
from fakes.rundry import RUNDRY
from fakes.server import ScriptedServer
from fakes.staged_project import DONE, StagedProject, ended
from fakes.terminal import Terminal
from fakes.turns import call, say


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


async def test_while_one_apply_asks_all_else_about_this_run_is_refused_in_one_line(place: StagedProject):
    assert place.run([FIX_BOTH], "--until", CHECK).exit_code == 5
    digest = place.digest()
    with Terminal([str(RUNDRY), "apply", "--plain"], cwd=place.project, env=place.home.env) as terminal:
        terminal.wait_for("stay staged")
        for argv in (["apply", "--digest", digest], ["apply", "--json"], ["apply", "--drop"], ["resume", "--headless"]):
            other = place.home.run(*argv, cwd=place.project)
            assert other.exit_code == 2 and len(lines(other.stderr)) == 1, other
            assert "in use by process" in other.stderr or "executed by process" in other.stderr, other
        dropping = place.apply("--drop-all")
        assert "still runs" in dropping.stdout and len(place.stages()) == 1, dropping
        terminal.send("approve\r")
        assert terminal.wait_for_exit() == 0, terminal.text()
    assert changed_files(place.project) == ["calc/core.py"]


async def test_the_stage_of_a_run_that_works_is_not_decided_on(place: StagedProject):
    held = PausedCommand()
    turns = [FIX_ADD, call("run_command", command=held.line), FIX_MEAN]
    with ScriptedServer(turns, then=DONE) as server, place.home.start(*place.argv(server), cwd=place.project) as run:
        held.wait()
        for argv in (["--digest", "0" * 64], ["--drop"], ["--patch", str(place.home.root / "p")]):
            other = place.apply(*argv)
            assert other.exit_code == 2 and len(lines(other.stderr)) == 1, other
        held.release()
        assert run.finish().exit_code == 5
    assert [entry["path"] for entry in place.shown()["entries"]] == ["calc/core.py"]  # type: ignore[index]


async def test_two_runs_of_a_workspace_are_applied_one_after_the_other(place: StagedProject):
    assert place.run([FIX_ADD]).exit_code == 5
    first = place.home.journals()[-1].stem
    assert place.run([FIX_MEAN, call("run_command", command="echo x > made")]).exit_code == 5
    assert len(place.stages()) == 2
    newest = place.shown()
    assert newest["run_id"] != first, "without a name, it is the newest run that has something staged"
    with Terminal([str(RUNDRY), "apply", "--plain", first], cwd=place.project, env=place.home.env) as terminal:
        terminal.wait_for("stay staged")
        done = place.apply("--digest", str(newest["digest"]))
        assert done.exit_code == 0, done
        terminal.send("approve\r")
        assert terminal.wait_for_exit() == 5, terminal.text()
    core = (place.project / "calc/core.py").read_text()
    assert "/ len(values)" in core and "a - b" in core, "the second change of a file is a conflict"
    again = place.home.run("apply", "--json", cwd=place.project)
    assert first in again.stdout and "conflict" in again.stdout, again


async def test_an_apply_in_a_workspace_in_which_another_run_works(place: StagedProject):
    assert place.run([FIX_BOTH], "--until", CHECK).exit_code == 5
    held, digest = PausedCommand(), place.digest()
    own = call("run_command", command=f"echo x > own; {held.line}")
    with ScriptedServer([read("calc/core.py"), own], then=DONE) as server:
        argv = [*place.argv(server), "--gate", "auto"]
        with place.home.start(*argv, cwd=place.project) as run:
            held.wait()
            done = place.home.run("apply", _staged_run(place), "--digest", digest, cwd=place.project)
            assert done.exit_code == 0, done
            held.release()
            other = run.finish()
    assert other.exit_code == 0, other
    assert changed_files(place.project) == ["calc/core.py", "own"]


def _staged_run(place: StagedProject) -> str:
    (folder,) = place.stages()
    return next(path.stem for path in place.home.journals() if path.stem in folder.name)


async def test_the_run_without_a_name_is_the_newest_with_something_staged(place: StagedProject):
    assert place.run([FIX_BOTH]).exit_code == 5
    assert place.run([read("calc/core.py")], "--gate", "auto").exit_code == 0
    done = place.apply("--digest", place.digest())
    assert done.exit_code == 0 and changed_files(place.project) == ["calc/core.py"], done


async def test_an_apply_after_a_resume_decides_on_all(place: StagedProject):
    with ScriptedServer([FIX_ADD, say("to be continued"), FIX_MEAN], then=DONE) as server:
        first = place.home.run(*place.argv(server), "--until", CHECK, "--steps", "1", cwd=place.project)
        assert first.exit_code == 3, first
        again = place.home.run("resume", "--headless", "--json", "--steps", "9", cwd=place.project)
    assert (again.exit_code, ended(again)["staged"]) == (5, ["calc/core.py"]), again
    done = place.apply("--digest", place.digest())
    assert done.exit_code == 0 and changed_files(place.project) == ["calc/core.py"], done


async def test_commits_of_a_stage_are_held_back_if_a_file_is_skipped_or_the_branch_moved(place: StagedProject):
    commit = "echo x > made; git add made; git -c user.name=a -c user.email=a@b.c commit -qam fixed"
    turns = [FIX_BOTH, call("run_command", command=commit)]
    assert place.run(turns).exit_code == 5
    with Terminal([str(RUNDRY), "apply", "--plain"], cwd=place.project, env=place.home.env) as terminal:
        terminal.wait_for("stay staged")
        terminal.send("approve entries 1\r")
        assert terminal.wait_for_exit() == 5, terminal.text()
        assert "nothing of git" in terminal.text().replace("\n", " "), terminal.text()
    assert "fixed" not in git(place.project, "log", "--all", "--format=%s")
    assert changed_files(place.project) == ["calc/core.py"]
    git(place.project, "commit", "-qam", "by the user")
    assert place.apply("--drop").exit_code == 0
    assert place.run([read("calc/core.py"), call("run_command", command=commit)]).exit_code == 5
    Path(place.project / "other").write_text("x\n")
    git(place.project, "add", "other")
    git(place.project, "commit", "-qm", "moved")
    done = place.apply("--digest", place.digest())
    assert done.exit_code == 5 and "nothing of git" in done.stdout, done
    assert (place.project / "made").exists() and git(place.project, "log", "-1", "--format=%s") == "moved\n"


async def test_an_outdated_digest_is_refused(place: StagedProject):
    assert place.run([FIX_ADD]).exit_code == 5
    digest = place.digest()
    (place.project / "calc/core.py").write_text("# by the user\n")
    done = place.apply("--digest", digest)
    assert done.exit_code == 2 and "is not that of what is staged now" in done.stderr, done
    assert changed_files(place.project) == ["calc/core.py"]


async def test_only_a_person_approves_protected_files(place: StagedProject):
    assert place.run([read("calc/core.py"), call("run_command", command="echo 'export X=1' > .envrc")]).exit_code == 5
    done = place.apply("--digest", place.digest())
    assert done.exit_code == 5 and "a person has to approve" in done.stdout, done
    assert changed_files(place.project) == [] and len(place.stages()) == 1


async def test_what_a_rule_allows_is_shown_and_what_a_rule_refuses_is_not_applied(place: StagedProject):
    place.home.config_file.parent.mkdir(parents=True)
    allow = '{ verdict = "allow", tool = "edit_file", path = "calc/**" }'
    deny = '{ verdict = "deny", tool = "edit_file", path = "secret/**" }'
    place.home.config_file.write_text(f"[gate]\nrules = [{allow}, {deny}]\n")
    assert place.run([FIX_ADD, call("run_command", command="mkdir secret; echo x > secret/a")]).exit_code == 5
    shown = place.shown()
    assert [entry["path"] for entry in shown["entries"]] == ["calc/core.py"], shown  # type: ignore[index]
    done = place.apply("--digest", str(shown["digest"]))
    assert "secret/a" in done.stdout and changed_files(place.project) == ["calc/core.py"], done


async def test_what_the_user_changed_in_the_tests_counts_for_the_check(place: StagedProject):
    assert place.run([FIX_BOTH], "--until", CHECK).exit_code == 5
    suite = place.project / "tests/test_core.py"
    suite.write_text(suite.read_text().replace("add(2, 3), 5", "add(2, 4), 6"))
    done = place.apply("--digest", place.digest())
    assert done.exit_code == 0 and "check passed" in done.stdout, done
    assert changed_files(place.project) == ["calc/core.py", "tests/test_core.py"] and "add(2, 4)" in suite.read_text()


async def test_nobody_is_asked_about_what_the_check_changes(place: StagedProject):
    check = f"echo '#' >> tests/test_core.py; {CHECK}"
    ran = place.run([FIX_BOTH], "--until", check)
    assert (ran.exit_code, ended(ran)["staged"]) == (5, ["calc/core.py", "tests/test_core.py"]), ran
    assert not ran.of("question_asked"), ran
    done = place.apply("--digest", place.digest())
    assert done.exit_code == 0 and "check passed" in done.stdout, done
    assert "undecided: 1 change, not needed for the result: tests/test_core.py" in done.stdout, done
    assert changed_files(place.project) == ["calc/core.py", "tests/test_core.py"]


async def test_a_staged_run_waits_for_a_person_until_it_is_decided_on(place: StagedProject):
    make = "for n in 1 2 3 4 5 6; do echo made-$n > n$n; done; echo 'export X=1' > .envrc"
    assert place.run([call("run_command", command=make), FIX_BOTH], "--until", CHECK).exit_code == 5
    (waits,) = json.loads(place.home.run("handoffs", "--json", cwd=place.project).stdout)
    assert waits["take_up"].startswith("rundry apply ") and "8 files staged" in waits["reason"], waits
    shown = place.apply()
    assert shown.exit_code == 5 and "add 1: made-6" in shown.stdout, "without a terminal all is shown"
    digest = shown.stdout.rpartition("--digest ")[2].strip()
    assert place.apply("--digest", digest).exit_code == 0, "the check passes"
    left = place.apply("--digest", place.digest())
    assert "a person has to approve" in left.stdout and len(place.stages()) == 1, left
    assert place.apply("--drop").exit_code == 0
    assert json.loads(place.home.run("handoffs", "--json", cwd=place.project).stdout) == []


def ctl(place: StagedProject, *words: str):
    return place.home.run("ctl", *words, cwd=place.project)


async def test_a_script_lists_applies_and_drops_a_stage_with_ctl(place: StagedProject):
    assert place.run([FIX_BOTH], "--until", CHECK).exit_code == 5
    run = place.home.journals()[-1].stem
    listed = ctl(place, run, "stage", "--json")
    assert listed.exit_code == 0, listed
    assert json.loads(listed.stdout) == {"run_id": run, "verb": "stage", "staged": ["calc/core.py"]}, listed
    assert ctl(place, "stage").stdout == "calc/core.py\n", "without a name, the newest with something staged"
    for wrong in (["stage", "apply"], ["stage", "drop", "--digest", "0" * 12], ["stage", "keep"]):
        assert ctl(place, run, *wrong).exit_code == 2, wrong
    digest = place.digest()
    with Terminal([str(RUNDRY), "apply", "--plain"], cwd=place.project, env=place.home.env) as terminal:
        terminal.wait_for("stay staged")
        held = ctl(place, run, "stage", "drop")
        assert held.exit_code == 1 and "refused stage drop" in held.stderr and len(place.stages()) == 1, held
        terminal.send("\x03")
        terminal.wait_for_exit()
    done = ctl(place, run, "stage", "apply", "--digest", digest)
    assert done.exit_code == 0 and "check passed" in done.stdout, done
    assert changed_files(place.project) == ["calc/core.py"]
    assert place.run([read("calc/core.py"), call("run_command", command="echo x > made")]).exit_code == 5
    dropped = ctl(place, "stage", "drop")
    assert dropped.exit_code == 0 and "stage drop  accepted" in dropped.stdout, dropped
    assert place.stages() == [] and changed_files(place.project) == ["calc/core.py"]


async def test_a_dishonest_stage_is_a_hand_off_and_its_undecided_files_are_accepted_with_keep(place: StagedProject):
    gut = call("run_command", command="sed -i 's/assertEqual(add(2, 3), 5)/assertTrue(True)/' tests/test_core.py")
    ran = place.run([FIX_MEAN, gut], "--until", CHECK)
    end = ended(ran)
    assert (ran.exit_code, end["reason"]) == (5, "handoff"), ran
    assert "--scope" not in str(end["detail"]) and "rundry apply" in str(end["detail"]), end
    assert "--scope tests/test_core.py" in str(end["evidence"]["look_first"]), end  # type: ignore[index]
    assert end["evidence"]["judged_why"] == "undecided", end  # type: ignore[index]
    done = place.apply("--digest", place.digest())
    assert done.exit_code == 5 and "only with changes that nobody decided on: tests/test_core.py" in done.stdout, done
    run = place.home.journals()[-1].stem
    assert f"rundry apply {run} --keep" in done.stdout, done
    shown = place.apply("--keep")
    assert shown.exit_code == 5 and "assertTrue(True)" in shown.stdout, shown
    digest = shown.stdout.rpartition("--digest ")[2].strip()
    assert place.apply("--keep", "--drop").exit_code == place.apply("--keep", "--digest", "0" * 12).exit_code == 2
    with Terminal([str(RUNDRY), "apply", "--keep"], cwd=place.project, env=place.home.env) as terminal:
        terminal.wait_for("accepted or skipped as a whole")
        terminal.send("quit\r")
        assert terminal.wait_for_exit() == 5 and "Nothing was accepted" in terminal.text(), terminal.text()
    kept = place.apply("--keep", "--digest", digest)
    assert kept.exit_code == 0 and "Accepted: `tests/test_core.py`" in kept.stdout, kept
    nothing = place.apply("--keep")
    assert nothing.exit_code == 2 and "nobody decided on" in nothing.stderr, nothing
    (line,) = json.loads(place.home.run("runs", "--json", cwd=place.project).stdout)
    assert line["reason"] == "done", line


async def test_a_person_approves_at_a_terminal_what_a_result_rests_on(place: StagedProject):
    gut = call("run_command", command="sed -i 's/assertEqual(add(2, 3), 5)/assertTrue(True)/' tests/test_core.py")
    assert place.run([FIX_MEAN, gut], "--until", CHECK).exit_code == 5
    with Terminal([str(RUNDRY), "apply", "--plain"], cwd=place.project, env=place.home.env) as terminal:
        terminal.wait_for("stay staged")
        terminal.send("approve\r")
        assert terminal.wait_for_exit() == 0, terminal.text()
    assert changed_files(place.project) == ["calc/core.py", "tests/test_core.py"]


async def test_a_folder_that_the_user_swapped_for_a_link_is_not_followed(place: StagedProject):
    assert place.run([FIX_BOTH, call("run_command", command="echo x > calc/made; rm NOTES.md")]).exit_code == 5
    away = place.home.root / "away"
    (place.project / "calc").rename(away)
    (place.project / "calc").symlink_to(away)
    before = {path.name: path.read_bytes() for path in away.iterdir() if path.is_file()}
    done = place.apply("--digest", place.digest())
    assert done.exit_code == 5 and len(place.stages()) == 1, done
    assert {path.name: path.read_bytes() for path in away.iterdir() if path.is_file()} == before
    assert (place.project / "calc").is_symlink() and not (place.project / "NOTES.md").exists()
    (place.project / "calc").unlink()
    away.rename(place.project / "calc")
    assert place.apply("--digest", place.digest()).exit_code == 0
    assert changed_files(place.project) == ["NOTES.md", "calc/core.py", "calc/made"]
