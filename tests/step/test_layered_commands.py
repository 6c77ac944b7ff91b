"""Commands of a run write into layers: what is applied, what asks, what is dropped, and what a kill leaves."""

import asyncio
import os

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.layered_run import IDENTITY, begun, decide, git, shown
from fakes.models.model import ScriptedModel
from fakes.sandboxes import notes_of
from fakes.turns import call, say

from rundry.agent.journal.journal import Journal
from rundry.agent.layers.effect_rows import decode_rows
from rundry.agent.layers.orders import Order, Orders
from rundry.agent.protocol import EntryChoice, Hook, Interrupt, Stop


def changed(run):
    return {e["path"]: e["by"] for e in run.events if e["type"] == "file_changed"}


async def test_what_a_command_wrote_is_applied_and_recorded(place, driven):
    run = driven("echo more >> kept.txt; rm gone.txt; mkdir new; echo x > new/er; echo ran")
    await run.run()
    work = place / "work"
    assert (work / "kept.txt").read_text() == "one\nmore\n" and not (work / "gone.txt").exists()
    assert (work / "new/er").read_text() == "x\n"
    assert changed(run) == {"kept.txt": "command", "gone.txt": "command", "new/er": "command"}
    assert "ran" in run.heard() and "Applied: `gone.txt`, `kept.txt`" in run.heard()
    kinds = [e["type"] for e in run.events]
    assert kinds.index("effects_accepted") < kinds.index("file_changed") < kinds.index("effects_applied")
    assert not list((place / "runs").glob("layers/*/layers/*")) and not list((place / "runs").glob("layers/*/orders/*"))


async def test_a_command_without_effects_records_nothing(driven):
    run = driven("cat kept.txt; touch kept.txt; chmod 644 kept.txt")
    await run.run()
    assert not [e for e in run.events if e["type"].startswith("effects")]
    assert "Applied" not in run.heard()


async def test_each_command_sees_what_the_one_before_changed(place, driven):
    run = driven("echo 1 > a", "cat a; echo 2 >> a", "cat a")
    await run.run()
    assert (place / "work/a").read_text() == "1\n2\n" and "1\n2\n" in run.heard()


async def test_a_protected_file_waits_and_is_applied_as_approved(place, driven):
    run = driven("echo 'export A=1' > .envrc; echo x > plain")
    run.on("proposal_opened", decide("approve"), danger=True)
    await run.run(watched=True)
    assert (place / "work/.envrc").read_text() == "export A=1\n" and (place / "work/plain").exists()
    (entry,) = shown(run).values()
    assert entry["path"] == ".envrc" and entry["danger"] and entry["why"] and entry["added"] == 1


async def test_a_rejected_protected_file_never_reaches_the_workspace(place, driven):
    run = driven("echo 'export A=1' > .envrc; echo x > plain")
    run.on("proposal_opened", decide("reject", reason="no thanks"), danger=True)
    await run.run(watched=True)
    assert not (place / "work/.envrc").exists() and (place / "work/plain").exists()
    assert "Not applied: `.envrc`: rejected by the person: no thanks" in run.heard()


async def test_without_a_person_a_protected_file_is_dropped_and_named(place, driven):
    run = driven("echo 'export A=1' > .envrc; echo x > plain")
    await run.run()
    assert not (place / "work/.envrc").exists() and (place / "work/plain").exists()
    assert "Not applied: `.envrc`: nobody is here to approve it" in run.heard()


async def test_what_the_user_writes_meanwhile_stays(place, driven):
    work = place / "work"
    script = "echo mine > kept.txt; echo new > fresh; sleep 2.0531"
    run = driven(script)

    async def user():
        await begun("2.0531")
        (work / "kept.txt").write_text("theirs\n")

    async with asyncio.TaskGroup() as group:
        group.create_task(user())
        await run.run()
    assert (work / "kept.txt").read_text() == "theirs\n" and (work / "fresh").read_text() == "new\n"
    assert "Not applied: `kept.txt`: it changed while the command ran" in run.heard()


async def test_an_interrupted_command_applies_nothing_and_says_what_it_had_changed(place, driven):
    run = driven("echo mine > kept.txt; rm gone.txt; sleep 60.0532")
    run.on("interrupted", Stop())

    async def person():
        await begun("60.0532")
        await run.put_once(place / "work/kept.txt", Interrupt())

    async with asyncio.TaskGroup() as group:
        group.create_task(person())
        await run.run(watched=True)
    work = place / "work"
    assert (work / "kept.txt").read_text() == "one\n" and (work / "gone.txt").exists()
    assert "Nothing that it changed was applied" in run.heard() and "gone.txt, kept.txt" in run.heard()


async def test_a_command_that_timed_out_applies_nothing(place, driven):
    run = Driven(
        place / "runs",
        place / "work",
        ScriptedModel([call("run_command", command="echo x > kept.txt; sleep 60", timeout=1), say("done")]),
    )
    await run.run()
    assert (place / "work/kept.txt").read_text() == "one\n"
    assert "Nothing of what it had changed was applied, because it timed out: `kept.txt`" in run.heard()


async def test_two_commands_share_the_loopback_of_the_run(driven):
    ask = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8123').status)"
    serve = f'python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & sleep 2; python3 -c "{ask}"'
    run = driven(serve)
    await run.run()
    assert "200" in run.heard()


@pytest.mark.parametrize("event", ["effects_accepted", "effects_applied"])
async def test_a_kill_around_the_apply_leaves_all_of_it_or_nothing_and_is_recorded_once(place, driven, event):
    run = driven("echo more >> kept.txt; rm gone.txt; echo x > made")
    await run.run()
    work = place / "work"
    if event == "effects_accepted":  # killed before the order was stored: the workspace is as before
        (work / "kept.txt").write_text("one\n")
        (work / "gone.txt").write_text("two\n")
        (work / "made").unlink()
    killed = run.killed_at(event)
    await killed.run()
    assert [e["type"] for e in killed.events].count("effects_applied") == (event == "effects_accepted")
    if event == "effects_accepted":
        assert (work / "kept.txt").read_text() == "one\n" and (work / "gone.txt").exists()


async def test_a_command_that_runs_again_with_more_begins_with_an_empty_layer(place, driven):
    out = place / "outside"
    run = driven(f"echo once >> kept.txt; touch {out}/a")
    run.on("proposal_opened", decide("approve"), beyond=f"write in {out} (for a)")
    await run.run(watched=True)
    assert (place / "work/kept.txt").read_text() == "one\nonce\n" and (out / "a").exists()


async def test_a_commit_in_a_layer_is_in_the_repository_and_nothing_of_the_users_changed(repository, driven):
    (repository / "staged.txt").write_text("mine\n")
    git(repository, "add", "staged.txt")
    identity = " ".join(IDENTITY)
    run = driven(f"echo more >> kept.txt && git {identity} commit -q -m work kept.txt && git tag v1")
    await run.run()
    assert git(repository, "log", "--format=%s").split() == ["work", "start"]
    assert git(repository, "tag").split() == ["v1"]
    assert git(repository, "status", "--porcelain") == "A  staged.txt\n"
    assert "git: `refs/heads/main`" in run.heard()
    git(repository, "fsck", "--full", "--strict")


async def test_a_folder_that_cannot_be_renamed_gets_a_line_of_advice_that_works(repository, driven):
    (repository / "folder").mkdir()
    (repository / "folder/a.txt").write_text("a\n")
    git(repository, "add", "folder")
    run = driven("git mv folder other", "mv folder other && git add -A folder other")
    await run.run()
    assert run.heard().count("`mv A B` and then `git add -A A B`") == 1, run.heard()
    assert git(repository, "status", "--porcelain", "other", "folder") == "A  other/a.txt\n"


async def test_commits_are_not_taken_if_a_file_of_the_command_is_refused(repository, driven):
    identity = " ".join(IDENTITY)
    run = driven(f"echo x > .envrc && git add .envrc && git {identity} commit -q -m work")
    await run.run()
    assert git(repository, "log", "--format=%s").split() == ["start"]
    assert git(repository, "status", "--porcelain") == "" and not (repository / ".envrc").exists()
    assert "nothing of git (" in run.heard() and "a file is not applied as the command left it" in run.heard()


async def test_a_merge_that_a_command_began_is_finished_by_a_later_one(repository, driven):
    identity = " ".join(IDENTITY)
    run = driven(
        f"git checkout -q -b side && echo side > kept.txt && git {identity} commit -q -am side",
        f"git checkout -q main && echo main > kept.txt && git {identity} commit -q -am main",
        f"git {identity} merge side; git status",
        f"echo both > kept.txt && git add kept.txt && git {identity} commit -q -m merged && git status",
    )
    await run.run()
    assert git(repository, "log", "--format=%s", "--first-parent").split() == ["merged", "main", "start"]
    assert (repository / "kept.txt").read_text() == "both\n" and git(repository, "status", "--porcelain") == ""


async def test_a_check_changes_nothing_but_what_it_builds(repository, driven):
    work = repository
    (work / ".gitignore").write_text(".some_cache/\n")
    tag = "Signature: 8a477f597d28d172789f06886806bc55"
    check = f"echo changed > kept.txt; mkdir -p .some_cache; echo '{tag}' > .some_cache/CACHEDIR.TAG"
    run = driven("true", until=[check])
    outcome = await run.run()
    assert outcome.complete, run.story()
    assert (work / "kept.txt").read_text() == "one\n"
    assert (work / ".some_cache/CACHEDIR.TAG").exists()
    said = [e["text"] for e in run.events if e["type"] == "prompted" and e["kind"] == "guard"]
    assert len(said) == 1 and "were dropped: kept.txt." in said[0]


async def test_a_formatter_after_an_edit_changes_its_file_and_nothing_protected(place, driven):
    work = place / "work"
    hook = Hook(on="after-edit", command="tr a-z A-Z < kept.txt > x && cat x > kept.txt && rm x; echo y > .envrc")
    turns = [call("edit_file", path="kept.txt", old="one", new="two"), say("done")]
    run = Driven(place / "runs", work, ScriptedModel(turns), hooks=[hook])
    await run.run()
    assert (work / "kept.txt").read_text() == "TWO\n" and not (work / ".envrc").exists()
    assert [e["by"] for e in run.events if e["type"] == "file_changed"] == ["model", "command"]


async def test_several_protected_files_are_one_proposal(place, driven):
    run = driven("mkdir .vscode; for name in .envrc .npmrc .vscode/tasks.json; do echo x > $name; done; echo x > plain")
    entries = {".npmrc": EntryChoice(skip=True, reason="no")}
    run.on("proposal_opened", decide("part", entries=entries), danger=True)
    await run.run(watched=True)
    assert set(shown(run)) == {".envrc", ".npmrc", ".vscode/tasks.json"}
    work = place / "work"
    assert (work / ".envrc").exists() and (work / ".vscode/tasks.json").exists() and not (work / ".npmrc").exists()
    assert "Skipped: `.npmrc` (no)." in run.heard()
    (decided,) = [e for e in run.events if e["type"] == "proposal_decided" and e["entries"]]
    assert decided["decision"] == "part" and [one["reason"] for one in decided["entries"].values()] == ["no"]


async def test_what_a_killed_run_left_is_finished_by_the_next_run_in_the_workspace(place, driven):
    first = driven("echo more >> kept.txt; echo x > made")
    await first.run()
    work = place / "work"
    (order,) = [e for e in first.events if e["type"] == "effects_accepted"]
    journal = Journal.open(first.path)
    rows = decode_rows(journal.blobs.load(order["rows"]))
    contents = {row.path: journal.blobs.load(row.after.digest) for row in rows}
    journal.close()
    (work / "kept.txt").write_text("one\n")
    (work / "made").unlink()
    (base,) = (place / "runs/layers").iterdir()
    Orders(base).give("0" * 16, Order(workspace=work, rows=rows, contents=contents))
    left = base / "layers/killed-1-1"
    for name in ("u", "w", "s"):
        (left / name).mkdir(parents=True)
    os.utime(left, (1, 1))
    second = driven("cat kept.txt")
    await second.run()
    assert (work / "kept.txt").read_text() == "one\nmore\n" and (work / "made").exists()
    assert "one\nmore" in second.heard() and not left.exists()


async def test_the_layer_of_a_command_that_a_restart_of_the_machine_cut_off_is_dropped_and_named(place, driven):
    await driven("true").run()
    (base,) = (place / "runs/layers").iterdir()
    left = base / "layers/20260101-000000-abcde-0a1b2c3d-1-1"
    for name in ("u/sub", "u/.git", "w", "s"):
        (left / name).mkdir(parents=True)
    for name in ("u/sub/a", "u/b", "u/.git/index"):
        (left / name).write_text("x")
    os.utime(left, (1, 1))
    second = driven("cat kept.txt")
    await second.run()
    (note,) = [one for one in notes_of(second.of("run_started")) if "restarted" in one]
    assert "a command of the run 20260101-000000-abcde: what was not applied is dropped (b, sub/a)" in note
    assert not left.exists()


async def test_what_a_background_process_wrote_while_a_command_ran_is_its_own(place):
    work = place / "work"
    turns = [
        call("start_command", name="writer", command="sleep 1; echo x > gen/of_background; sleep 60"),
        call("run_command", command="sleep 2.5; echo x > of_command"),
        call("run_command", command="cat kept.txt"),
        say("done"),
    ]
    run = Driven(place / "runs", work, ScriptedModel(turns), live=["gen"])
    await run.run()
    assert changed(run) == {"gen/of_background": "background", "of_command": "command"}


async def test_a_command_that_was_killed_outside_of_the_layers_may_have_run_in_part(place, driven):
    out = place / "outside"
    run = driven(f"echo once >> kept.txt; touch {out}/a")
    run.on("proposal_opened", decide("approve"), beyond=f"write in {out} (for a)")
    await run.run(watched=True)
    killed = run.killed_at("proposal_decided", decision="approve", by="person")
    (place / "work/kept.txt").write_text("one\n")
    (place / "work/made").write_text("by the killed command\n")
    await killed.run()
    assert "it may have run in part" in killed.heard() and (place / "work/made").exists()
