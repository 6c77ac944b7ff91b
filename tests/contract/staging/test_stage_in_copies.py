"""Where layers do not work, a staged run works in a copy of the workspace, and `rundry apply` decides on that."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.layered_folder import layered_folder
from fakes.machines import words_for
from fakes.project import CHECK, FIX_ADD, FIX_BOTH, FIX_MEAN, changed_files, git
from fakes.rundry import Ran
from fakes.server import ScriptedServer
from fakes.staged_project import DONE, StagedProject, ended
from fakes.turns import call

from rundry.agent.sandbox.landlock import why_no_landlock

COMMAND = call("run_command", command="grep -c 'a + b' calc/core.py > counted.txt; mkdir -p out; echo x > out/x")
COMMIT = "git add -A; git -c user.name=a -c user.email=a@b.c commit -qm fixed"
STAGED = ["calc/core.py", "counted.txt", "out/x"]


@pytest.fixture(params=["bubblewrap", "landlock"])
async def place(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> AsyncIterator[StagedProject]:
    if request.param == "landlock" and (why := why_no_landlock()):
        pytest.skip(why)
    async with layered_folder(pytestconfig.rootpath) as folder:
        (folder / "project").mkdir()
        found = StagedProject(folder, words_for(request.param))
        yield found
        found.home.end_runners()


def notes(ran: Ran) -> str:
    return "\n".join(ran.of("run_started")[0]["notes"])


async def test_what_a_run_stages_in_a_copy_is_judged_applied_by_its_digest_and_undone(place: StagedProject):
    ran = place.run([FIX_ADD, COMMAND, FIX_MEAN], "--until", CHECK)
    end = ended(ran)
    assert (ran.exit_code, end["reason"], end["staged"]) == (5, "handoff", STAGED), ran
    assert "it works in a copy of the workspace (" in notes(ran)
    started = ran.of("run_started")[0]
    assert started["gate"] == "stage" and not started["direct"]
    assert ran.of("judged")[-1]["passed"], ran.story()
    assert changed_files(place.project) == []
    shown = place.shown()
    assert [entry["path"] for entry in shown["entries"]] == STAGED  # type: ignore[attr-defined]
    done = place.apply("--digest", str(shown["digest"]))
    assert done.exit_code == 0, str(done)
    assert changed_files(place.project) == STAGED and (place.project / "counted.txt").read_text() == "1\n"
    assert place.stages() == []
    undone = place.home.run("ctl", place.home.journals()[-1].stem, "undo", cwd=place.project)
    assert undone.exit_code == 0 and changed_files(place.project) == [], undone


async def test_another_name_does_not_make_a_hidden_file_readable(place: StagedProject):
    (place.project / ".env").write_text("hush\n")
    (place.project / "plant.sh").write_text(
        "cat .env; ln .env hard; ln -s .env soft; mv .env moved; echo x > made; ls -a\n"
    )
    read = "cat .env hard soft moved; cp hard copied; cp moved copied; cat copied; echo end\n"
    (place.project / "read.sh").write_text(read)
    turns = [call("run_command", command=f"sh {name}.sh") for name in ("plant", "read", "read")]
    place.home.config_file.parent.mkdir(parents=True)
    place.home.config_file.write_text('[[gate.rules]]\nverdict = "deny"\npath = ".env"\n')
    ran = place.run(turns, "--until", CHECK, "--steps", "4")
    heard = "\n".join(str(one["result"]) for one in ran.of("tool_finished"))
    assert ran.of("stage_began") and "it works in a copy of the workspace (" in notes(ran), ran.story()
    assert "hush" not in heard and heard.count("end") >= 2 and "\nmade\n" in heard, heard
    assert (place.project / ".env").read_text() == "hush\n"


async def test_a_change_of_the_tests_is_not_a_success_and_names_them(place: StagedProject):
    ran = place.run(
        [call("run_command", command="echo > tests/test_core.py")], "--until", "! grep -q . tests/test_core.py"
    )
    assert (ran.exit_code, ended(ran)["reason"]) == (5, "handoff"), ran
    assert "tests/test_core.py" in str(ended(ran)["detail"]) and changed_files(place.project) == []


@pytest.mark.long
async def test_what_the_user_does_meanwhile_stays_and_a_resumed_run_sees_it(place: StagedProject):
    turns = [FIX_ADD, DONE, DONE, call("run_command", command="cat notes.txt > seen.txt"), FIX_MEAN]
    with ScriptedServer(turns, then=DONE) as server:
        red = place.home.run(*place.argv(server), "--until", CHECK, "--steps", "2", cwd=place.project)
        assert red.exit_code == 3 and changed_files(place.project) == [] and len(place.stages()) == 1, red
        (place.project / "notes.txt").write_text("the user's\n")
        argv = ("resume", place.home.journals()[-1].stem, "--headless", "--json", "--steps", "9")
        ran = place.home.run(*argv, cwd=place.project)
    assert (ran.exit_code, ended(ran)["staged"]) == (5, ["calc/core.py", "seen.txt"]), ran
    (place.project / "calc/core.py").write_text("the user's\n")
    done = place.apply("--digest", place.digest())
    assert done.exit_code == 5 and "calc/core.py" in done.stdout, done
    assert (place.project / "calc/core.py").read_text() == "the user's\n"
    assert (place.project / "seen.txt").read_text() == "the user's\n"
    assert len(place.stages()) == 1 and place.apply("--drop").exit_code == 0 and place.stages() == []


@pytest.mark.long
async def test_commits_and_what_a_digest_does_not_accept_stay_until_a_person_looks(place: StagedProject):
    line = f"echo 'export X=1' > .envrc; {COMMIT}"
    ran = place.run([FIX_BOTH, call("run_command", command=line)])
    assert ran.exit_code == 5 and changed_files(place.project) == [], ran
    done = place.apply("--digest", place.digest())
    assert "Skipped: `.envrc`" in done.stdout and changed_files(place.project) == ["calc/core.py"], done
    assert [entry["path"] for entry in place.shown()["entries"]][:1] == [".envrc"]  # type: ignore[attr-defined]
    assert git(place.project, "log", "-1", "--format=%s") != "fixed\n"


@pytest.mark.long
async def test_commits_in_a_copy_are_applied_with_their_files(place: StagedProject):
    ran = place.run([FIX_BOTH, call("run_command", command=COMMIT)])
    assert ran.exit_code == 5 and changed_files(place.project) == [], ran
    done = place.apply("--digest", place.digest())
    assert done.exit_code == 0 and git(place.project, "log", "-1", "--format=%s") == "fixed\n", done
    assert changed_files(place.project) == [] and place.stages() == []


@pytest.mark.long
async def test_a_command_in_a_copy_does_not_write_to_the_workspace_by_its_path(place: StagedProject):
    line = f"echo x > {place.project}/made; echo x > {place.project}/calc/core.py; true"
    ran = place.run([call("run_command", command=line)])
    assert ran.exit_code in (0, 3, 5), ran
    assert changed_files(place.project) == []


@pytest.mark.long
async def test_a_copy_is_reviewed_where_layers_work_again_and_a_layer_is_kept_where_they_do_not(place: StagedProject):
    words = place.home.words
    assert place.run([FIX_BOTH]).exit_code == 5
    place.home.words = []
    done = place.apply("--digest", place.digest())
    assert done.exit_code == 0 and changed_files(place.project) == ["calc/core.py"], done
    git(place.project, "checkout", "-q", "--", ".")
    assert place.run([FIX_BOTH]).exit_code == 5
    place.home.words = words
    refused = place.apply("--json")
    assert refused.exit_code == 2 and "cannot be mounted" in refused.stderr and len(place.stages()) == 1, refused
    place.home.words = []
    assert json.loads(place.apply("--json").stdout)["entries"]


@pytest.mark.long
async def test_the_patch_of_a_copy_applies_with_plain_git(place: StagedProject, tmp_path: Path):
    patch = tmp_path / "fix.patch"
    assert place.run([FIX_BOTH], "--until", CHECK, "--stage-patch", str(patch)).exit_code == 5
    git(place.project, "apply", str(patch))
    assert changed_files(place.project) == ["calc/core.py"]
