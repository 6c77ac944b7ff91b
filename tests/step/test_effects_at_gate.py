"""What a command would change is one proposal that looks like a commit: what it shows, and what a decision applies."""

import asyncio
import os

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.layered_run import IDENTITY, begun, decide, effects_of, git, shown
from fakes.models.model import ScriptedModel
from fakes.turns import call, say

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import EntryChoice, GateMode, Interrupt, SetGateMode, Stop

LINES = "".join(f"line {n}\n" for n in range(40))
TWO_HUNKS = "sed -i -e 's/line 2$/LINE 2/' -e 's/line 30$/LINE 30/' long.txt"


@pytest.fixture
def effects(driven):
    """Makes a run in the mode `effects`."""
    return lambda *commands, **options: driven(*commands, gate=GateMode.EFFECTS, **options)


def opened(run):
    return [e for e in run.events if e["type"] == "proposal_opened" and e["asks"]]


def decided(run):
    return next(e for e in reversed(run.events) if e["type"] == "proposal_decided")


async def test_a_command_starts_immediately_and_all_that_it_changes_waits_as_one_proposal(place, effects):
    work = place / "work"
    (work / "tool.sh").write_text("#!/bin/sh\n")
    run = effects(
        "echo more >> kept.txt; rm gone.txt; ln -s kept.txt link; printf '\\0\\1\\2' > data.bin; chmod +x tool.sh;"
        "mkdir -p a/b"
    )
    run.on("proposal_opened", decide("approve"), command=None)
    await run.run(watched=True)
    entries = shown(run)
    assert len(opened(run)) == 1 and set(entries) == {"kept.txt", "gone.txt", "link", "data.bin", "tool.sh", "a"}
    assert (entries["kept.txt"]["added"], entries["kept.txt"]["hunks"]) == (1, 1)
    assert (entries["gone.txt"]["change"], entries["gone.txt"]["removed"]) == ("deleted", 1)
    assert (entries["link"]["kind"], entries["link"]["target"]) == ("link", "kept.txt")
    assert entries["data.bin"]["size"] == 3 and "is_text" not in entries["data.bin"]
    assert entries["tool.sh"]["mode"] == "executable" and entries["a"]["kind"] == "folder"
    assert (work / "kept.txt").read_text() == "one\nmore\n" and not (work / "gone.txt").exists()
    assert os.readlink(work / "link") == "kept.txt" and (work / "a/b").is_dir()
    assert os.access(work / "tool.sh", os.X_OK)


async def test_a_command_without_effects_needs_no_approval(effects):
    run = effects("cat kept.txt")
    await run.run()
    assert opened(run) == [] and "one" in run.heard()


async def test_an_edit_of_a_tool_waits_in_the_mode(place):
    turns = [call("edit_file", path="kept.txt", old="one", new="two"), say("done")]
    run = Driven(place / "runs", place / "work", ScriptedModel(turns), gate=GateMode.EFFECTS)
    await run.run()
    (waiting,) = opened(run)
    assert waiting["path"] == "kept.txt" and (place / "work/kept.txt").read_text() == "one\n"


async def test_some_hunks_own_text_and_a_skipped_file_are_applied_exactly_and_recorded(place, effects):
    work = place / "work"
    (work / "long.txt").write_text(LINES)
    run = effects(f"{TWO_HUNKS}; echo more >> kept.txt; rm gone.txt")
    choices = {
        "long.txt": EntryChoice(hunks=[1], hunk_reasons={0: "not this line"}),
        "kept.txt": EntryChoice(text="mine\n"),
        "gone.txt": EntryChoice(skip=True, reason="I need it"),
    }
    run.on("proposal_opened", decide("part", entries=choices), command=None)
    await run.run(watched=True)
    assert (work / "long.txt").read_text() == LINES.replace("line 30\n", "LINE 30\n")
    assert (work / "kept.txt").read_text() == "mine\n" and (work / "gone.txt").exists()
    heard = run.heard()
    assert "Skipped: `gone.txt` (I need it)." in heard
    assert "Of `long.txt` the person accepted 1 of 2 hunks (hunk 1 was skipped: not this line)." in heard
    assert "The person changed your text of `kept.txt` before approving it." in heard
    at = {one["path"]: str(n) for n, one in enumerate(effects_of(run)["entries"])}
    entries = decided(run)["entries"]
    assert entries[at["long.txt"]]["taken"] == [1] and entries[at["kept.txt"]]["edited"]
    journal = Journal.open(run.path)
    assert journal.blobs.load(entries[at["kept.txt"]]["after"]) == b"mine\n"
    journal.close()
    (accepted,) = [e for e in run.events if e["type"] == "effects_accepted"]
    assert accepted["files"] == 2


async def test_a_rejection_drops_all_of_it_what_is_ignored_too(repository, effects):
    (repository / ".gitignore").write_text("*.log\n")
    run = effects("echo more >> kept.txt; echo x > new.log")
    run.on("proposal_opened", decide("reject", reason="no"), command=None)
    await run.run(watched=True)
    assert (repository / "kept.txt").read_text() == "one\n" and not (repository / "new.log").exists()
    effects = effects_of(run)
    assert effects["along_waits"] and "1 new ignored file (" in effects["along"]
    assert "Not applied: `kept.txt`: rejected by the person: no" in run.heard()


async def test_what_is_never_applied_is_shown_before_the_decision(place, effects):
    run = effects("echo more >> kept.txt; mkfifo pipe1 pipe2 pipe3 pipe4 pipe5 pipe6 pipe7")
    run.on("proposal_opened", decide("approve"), command=None)
    await run.run(watched=True)
    line = effects_of(run)["never"]
    assert line.startswith("pipe1: a FIFO, pipe2: ") and line.endswith(", pipe5: a FIFO and 2 more")
    assert "Never applied: pipe1: a FIFO; " in run.heard() and "pipe7: a FIFO." in run.heard()


async def test_a_head_that_stays_is_not_named_as_applied(repository, effects):
    run = effects("echo more >> kept.txt; git add kept.txt")
    run.on("proposal_opened", decide("approve"), command=None)
    await run.run(watched=True)
    assert "Applied: `kept.txt`; git: `kept.txt`." in run.heard()


async def test_what_a_submodule_gains_is_named_by_its_folder(repository, effects):
    lib = repository.parent / "lib"
    lib.mkdir()
    git(lib, "init", "-q", "-b", "main")
    git(lib, *IDENTITY, "commit", "-q", "--allow-empty", "-m", "one")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(lib), "vendor/lib")
    git(repository, *IDENTITY, "commit", "-qm", "lib")
    who = " ".join(IDENTITY)
    run = effects(
        f"cd vendor/lib && git switch -qc work && git {who} commit -q --allow-empty -m two; git branch -f main"
    )
    run.on("proposal_opened", decide("approve"), command=None)
    await run.run(watched=True)
    (entry,) = [one for one in effects_of(run)["entries"] if one.get("kind") == "git"]
    assert entry["path"] == "vendor/lib" and "work: new branch, 1 commit" in entry["lines"]
    assert "git: `refs/heads/main`, `refs/heads/work`, `HEAD` in `vendor/lib`." in run.heard()


async def test_a_stash_that_was_popped_leaves_only_what_git_keeps_of_it(repository, effects):
    (repository / "kept.txt").write_text("mine\n")
    run = effects(f"git {' '.join(IDENTITY)} stash -q; git stash pop -q; echo x > new.txt")
    run.on("proposal_opened", decide("approve"), command=None)
    await run.run(watched=True)
    (entry,) = [one for one in effects_of(run)["entries"] if one.get("kind") == "git"]
    assert entry["lines"] == ["AUTO_MERGE, ORIG_HEAD"] and "git: `AUTO_MERGE, ORIG_HEAD`." in run.heard()


async def test_only_ignored_new_files_need_no_approval(repository, effects):
    (repository / ".gitignore").write_text("*.log\n")
    run = effects("echo x > new.log")
    await run.run()
    assert opened(run) == [] and (repository / "new.log").exists()


async def test_nobody_there_applies_nothing_that_asks_and_names_it(place, effects):
    run = effects("echo more >> kept.txt; rm gone.txt")
    await run.run()
    assert (place / "work/kept.txt").read_text() == "one\n" and (place / "work/gone.txt").exists()
    assert "Not applied: `gone.txt`, `kept.txt`: nobody is here to approve it" in run.heard()


async def test_what_somebody_changes_while_the_proposal_waits_is_a_conflict_and_stays(place, effects):
    work = place / "work"

    def then_approve(event):
        (work / "kept.txt").write_text("theirs\n")
        return decide("approve")(event)

    run = effects("echo more >> kept.txt; rm gone.txt")
    run.on("proposal_opened", then_approve, command=None)
    await run.run(watched=True)
    assert (work / "kept.txt").read_text() == "theirs\n" and not (work / "gone.txt").exists()
    assert "Applied: `gone.txt`" in run.heard() and "`kept.txt`: somebody changed it meanwhile" in run.heard()


async def test_a_decision_on_another_digest_is_refused(place, effects):
    run = effects("echo more >> kept.txt")
    stale = lambda event: decide("approve")({**event, "digest": "0" * 64})  # noqa: E731
    run.on("proposal_opened", stale, decide("reject"), command=None)
    await run.run(watched=True)
    assert [e["command"] for e in run.events if e["type"] == "command_refused"] == ["decide"]
    assert (place / "work/kept.txt").read_text() == "one\n"


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        ({"kept.txt": EntryChoice(hunks=[7])}, "there is no hunk 7"),
        ({"gone.txt": EntryChoice(hunks=[0])}, "it has no hunks to choose from"),
        ({"gone.txt": EntryChoice(text="x")}, "it has no text to edit"),
        ({name: EntryChoice(skip=True) for name in ("kept.txt", "gone.txt")}, "nothing is accepted"),
    ],
)
async def test_an_impossible_choice_is_refused_and_the_proposal_still_waits(place, effects, choices, why):
    run = effects("echo more >> kept.txt; rm gone.txt")
    run.on("proposal_opened", decide("part", entries=choices), decide("approve"), command=None)
    await run.run(watched=True)
    (refused,) = [e for e in run.events if e["type"] == "command_refused"]
    assert why in refused["why"] and not (place / "work/gone.txt").exists()


async def test_an_install_is_one_entry_that_asks_in_every_mode_and_names_what_runs(place, driven):
    (place / "work/package.json").write_text("{}")
    script = "mkdir -p node_modules/.bin node_modules/x; echo 1 > node_modules/x/a.js; echo 1 > node_modules/.bin/tool"
    run = driven(f"{script}; echo x > plain", gate=GateMode.AUTO)
    run.on("proposal_opened", decide("approve"), danger=True)
    await run.run(watched=True)
    entry = shown(run)["node_modules"]
    assert (entry["kind"], entry["count"]) == ("install", 2) and entry["danger"] and entry["why"]
    assert any("node_modules/.bin/tool" in line for line in entry["lines"]), entry
    assert (place / "work/node_modules/x/a.js").exists() and "install in `node_modules` (2 files)" in run.heard()


async def test_an_install_is_not_applied_without_a_person(place, driven):
    (place / "work/package.json").write_text("{}")
    run = driven("mkdir -p node_modules/x; echo 1 > node_modules/x/a.js; echo x > plain")
    await run.run()
    assert not (place / "work/node_modules").exists() and (place / "work/plain").exists()
    assert "Not applied: `node_modules`: nobody is here" in run.heard()


async def test_a_commit_is_shown_with_its_files_and_applied_with_them(repository, effects):
    """A file that the user has staged goes into the commit, so it is named although the command did not change it."""
    identity = " ".join(IDENTITY)
    (repository / "mine.txt").write_text("mine\n")
    git(repository, "add", "mine.txt")
    run = effects(f"echo more >> kept.txt && git {identity} commit -qam 'first work' && git branch side && git tag v1")
    run.on("proposal_opened", decide("approve"), command=None)
    await run.run(watched=True)
    lines = shown(run)["git"]["lines"]
    assert "main: 1 commit" in lines and "  first work" in lines and "tag v1: new" in lines
    assert lines[lines.index("  first work") + 1] == "  changes kept.txt, mine.txt"
    assert lines[-2:] == ["index: kept.txt", "also in new commits: mine.txt"]
    assert any(line.startswith("side: new branch") for line in lines)
    assert git(repository, "log", "--format=%s").split("\n")[:2] == ["first work", "start"]
    assert (repository / "kept.txt").read_text() == "one\nmore\n" and git(repository, "status", "--porcelain") == ""


async def test_commits_are_not_taken_if_one_of_their_files_is_skipped(repository, effects):
    identity = " ".join(IDENTITY)
    run = effects(f"echo more >> kept.txt && rm gone.txt && git {identity} commit -qam work")
    run.on("proposal_opened", decide("part", entries={"gone.txt": EntryChoice(skip=True)}), command=None)
    await run.run(watched=True)
    assert git(repository, "log", "--format=%s").split() == ["start"]
    assert (repository / "kept.txt").read_text() == "one\nmore\n" and (repository / "gone.txt").exists()
    at = {one["path"] or one["kind"]: str(n) for n, one in enumerate(effects_of(run)["entries"])}
    entries = decided(run)["entries"]
    assert entries[at["git"]]["skipped"] and "as the command left it" in entries[at["git"]]["reason"]


async def test_commits_can_be_skipped_alone(repository, effects):
    identity = " ".join(IDENTITY)
    run = effects(f"echo more >> kept.txt && git {identity} commit -qam work")
    run.on("proposal_opened", decide("part", entries={"git": EntryChoice(skip=True)}), command=None)
    await run.run(watched=True)
    assert git(repository, "log", "--format=%s").split() == ["start"]
    assert git(repository, "status", "--porcelain") == " M kept.txt\n"


async def test_thousands_of_files_are_joined_by_folder(place, effects):
    run = effects("for d in a b c; do mkdir $d; for n in $(seq 400); do echo $n > $d/$n; done; done")
    run.on("proposal_opened", decide("part", entries={"b": EntryChoice(skip=True)}), command=None)
    await run.run(watched=True)
    entries = shown(run)
    assert {path: (one["kind"], one["count"]) for path, one in entries.items()} == dict.fromkeys("abc", ("tree", 400))
    work = place / "work"
    assert (work / "a/400").exists() and (work / "c/1").exists() and not (work / "b").exists()


async def test_a_deny_rule_drops_a_path_and_an_allow_rule_lets_it_pass(place, effects):
    from rundry.agent.protocol import Rule

    rules = [
        Rule(verdict="deny", path="secret/**", tool="edit_file"),
        Rule(verdict="allow", path="out/**", tool="edit_file"),
    ]
    run = effects("mkdir secret out; echo x > secret/a; echo x > out/b", rules=rules)
    await run.run()
    work = place / "work"
    assert not (work / "secret/a").exists() and (work / "out/b").exists() and opened(run) == []
    assert "`secret/a`: a rule refuses it" in run.heard()


async def test_a_background_command_asks_because_it_writes_to_the_workspace(place):
    turns = [call("start_command", name="s", command="sleep 1"), say("done")]
    run = Driven(place / "runs", place / "work", ScriptedModel(turns), gate=GateMode.EFFECTS)
    await run.run()
    (waiting,) = opened(run)
    assert "this one writes to the workspace itself" in waiting["asks"][0]


async def test_an_interrupt_at_the_proposal_applies_nothing_and_keeps_the_output(place, effects):
    run = effects("echo printed; echo more >> kept.txt")
    run.on("waiting", Interrupt(), why="gate").on("interrupted", Stop())
    await run.run(watched=True)
    assert (place / "work/kept.txt").read_text() == "one\n"
    (result,) = [e["result"] for e in run.events if e["type"] == "tool_finished"]
    assert "printed" in result and "Nothing that it changed was applied" in result


async def test_another_mode_decides_a_waiting_proposal_that_it_would_not_ask_about(place, effects):
    run = effects("echo more >> kept.txt")
    run.on("waiting", SetGateMode(mode=GateMode.EDITS, settle=True), why="gate")
    await run.run(watched=True)
    assert (place / "work/kept.txt").read_text() == "one\nmore\n"
    assert decided(run)["by"] == "policy" and decided(run)["decision"] == "approve"


async def test_no_mode_decides_what_asks_in_every_mode(place, effects):
    run = effects("echo more >> kept.txt; echo x > .envrc")
    run.on("waiting", SetGateMode(mode=GateMode.AUTO, settle=True), why="gate")
    run.on("gate_mode_changed", Interrupt()).on("interrupted", Stop())
    await run.run(watched=True)
    assert not (place / "work/.envrc").exists() and (place / "work/kept.txt").read_text() == "one\n"


async def test_read_drops_what_a_command_changed(place, driven):
    run = driven("echo more >> kept.txt; sleep 2.0612", gate=GateMode.AUTO)

    async def person():
        await begun("2.0612")
        await run.put_once(place / "work/kept.txt", SetGateMode(mode=GateMode.READ))

    async with asyncio.TaskGroup() as group:
        group.create_task(person())
        await run.run(watched=True)
    assert (place / "work/kept.txt").read_text() == "one\n"
    assert "Not applied: `kept.txt`: the gate is set to `read`" in run.heard()


async def test_names_that_are_not_utf_8_are_shown_and_applied(place, effects):
    run = effects("printf x > $'bad\\xff'; echo more >> kept.txt")
    run.on("proposal_opened", decide("approve"), command=None)
    await run.run(watched=True)
    assert set(shown(run)) == {"bad\\xff", "kept.txt"}
    assert os.path.exists(os.fsencode(place / "work") + b"/bad\xff")


async def test_what_changed_while_the_command_ran_is_shown_as_a_conflict(place, effects):
    work = place / "work"
    run = effects("echo more >> kept.txt; rm gone.txt; sleep 2.0611")
    run.on("proposal_opened", decide("approve"), command=None)

    async def user():
        await begun("2.0611")
        (work / "kept.txt").write_text("theirs\n")

    async with asyncio.TaskGroup() as group:
        group.create_task(user())
        await run.run(watched=True)
    assert shown(run)["kept.txt"]["conflict"] == "it changed while the command ran"
    assert (work / "kept.txt").read_text() == "theirs\n" and not (work / "gone.txt").exists()
    assert "Not applied: `kept.txt`: it changed while the command ran" in run.heard()
