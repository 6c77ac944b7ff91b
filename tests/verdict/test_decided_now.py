"""What real runs changed, as `decided_now` reads it from their journals."""

import hashlib
import shutil
import subprocess

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.layered_run import IDENTITY, decide, git
from fakes.models.model import ScriptedModel
from fakes.turns import call, say
from fakes.visible_folders import visible_folder
from step.layered import events, three_folders

from rundry.agent.journal.journal import Journal
from rundry.agent.layers.fitness import place_of_orders
from rundry.agent.protocol import (
    AcceptedPath,
    Act,
    Decide,
    GateMode,
    GiveWheel,
    Rule,
    Stamped,
    TakeWheel,
    UndecidedAccepted,
)
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.verdict.judge.decided_now import DecidedNow, decided_now, note_undecided
from rundry.agent.verdict.judge.workspace_ledger import Ledger

from .changing import NOTHING, Paths, scope_of, undecided

TEST = "".join(f"assert {number}\n" for number in range(1, 21))


@pytest.fixture
async def place(pytestconfig):
    """A folder with a repository, `work`, and a place for runs."""
    found = await Sandbox.detect(kinds=["bubblewrap"])
    if found.kind is None:
        pytest.skip(str(found.why_none))
    with three_folders(visible_folder(pytestconfig.rootpath)) as folder:
        work = folder / "work"
        (work / "tests").mkdir()
        (work / "tests/test_a.py").write_text(TEST)
        (work / "a.py").write_text("old\n")
        (work / ".gitignore").write_text(".cache/\n*.log\n")
        for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "start"]):
            subprocess.run(["git", "-C", work, *IDENTITY, *words], check=True, capture_output=True)
        yield folder


def run_in(place, *turns, **options) -> Driven:
    turns = [call("run_command", command=turn) if isinstance(turn, str) else turn for turn in turns]
    return Driven(place / "runs", place / "work", ScriptedModel([*turns, say("done")]), **options)


def base_of(place):
    return place_of_orders(place / "work", place / "runs")


def now(run: Driven, place, scope: Paths = NOTHING) -> DecidedNow:
    return decided_now(run.facts(), Journal.open(run.path), base_of(place), place / "work", scope)


def view(found: DecidedNow, path: str) -> str | None:
    past = found.decided.view[path]
    if past.side is None:
        return None
    data = past.data if past.data is not None else found.contents.find(path, past.side)
    return data.decode() if isinstance(data, bytes) else f"a file of {data.stat().st_size} bytes"


async def test_commands_and_edits_are_decided_on_path_by_path(place):
    edit = call("write_file", path="b.py", content="new\n")
    command = "echo pass > tests/test_a.py; echo skip > conftest.py; rm gone.txt; echo more >> a.py; mkdir -p x/y"
    run = run_in(place, edit, command)
    await run.run()
    found = now(run, place, scope_of("a.py", "b.py"))
    assert undecided(found.decided) == {"tests/test_a.py": "changed", "conftest.py": "new", "gone.txt": "deleted"}
    assert view(found, "tests/test_a.py") == TEST and view(found, "gone.txt") == "two\n"
    assert view(found, "conftest.py") is None
    assert set(found.decided.accepted) == {"a.py", "b.py"} and found.decided.unknown == []
    assert found.decided.folders == ["x/y", "x"]
    assert now(run, place, Paths(lambda _: True)).decided.undecided == []


async def test_a_small_diff_of_a_person_over_what_a_command_did(place):
    small = call("edit_file", path="tests/test_a.py", old="assert 3\n", new="assert 3, 'three'\n")
    gut = "sed -i 's/assert 1.$/pass/' tests/test_a.py"
    run = run_in(place, gut, call("read_file", path="tests/test_a.py"), small, gate=GateMode.ASK, on_ask=None)
    run.on("proposal_opened", decide("approve"), command=gut)
    run.on("proposal_opened", decide("approve"), path="tests/test_a.py")
    await run.run(watched=True)
    found = now(run, place)
    assert undecided(found.decided) == {"tests/test_a.py": "changed"}
    assert view(found, "tests/test_a.py") == TEST.replace("assert 3\n", "assert 3, 'three'\n")


async def test_what_a_person_accepts_of_the_effects_of_a_command(place):
    command = "echo pass > tests/test_a.py; echo new > c.py; head -c 3000000 /dev/zero > big"
    run = run_in(place, command, gate=GateMode.EFFECTS)
    run.on("proposal_opened", decide("approve"), command=None)
    await run.run(watched=True)
    found = now(run, place)
    assert undecided(found.decided) == {"big": "new"}  # only its name was seen


async def test_a_rule_and_a_digest_approve_nothing(place):
    rule = Rule(verdict="allow", tool="write_file", path="tests/**")
    run = run_in(place, call("write_file", path="tests/test_b.py", content="pass\n"), gate=GateMode.ASK, rules=[rule])
    await run.run()
    assert undecided(now(run, place).decided) == {"tests/test_b.py": "new"}
    run = run_in(place, call("write_file", path="tests/test_c.py", content="pass\n"), gate=GateMode.ASK, on_ask=None)
    run.on("proposal_opened", lambda event: _by_digest(event))
    await run.run(watched=True)
    assert (place / "work/tests/test_c.py").exists()
    assert undecided(now(run, place).decided) == {"tests/test_c.py": "new"}


def _by_digest(event) -> Decide:
    return Decide(proposal_id=event["proposal_id"], digest=event["digest"], verdict="approve", channel="digest")


async def test_a_person_accepts_what_the_judge_asked_about(place):
    run = run_in(place, "echo pass > tests/test_a.py; echo x > image; rm gone.txt")
    await run.run()
    facts, digest = run.facts(), hashlib.sha256(b"pass\n").hexdigest()
    paths = [AcceptedPath(path="tests/test_a.py", digest=digest), AcceptedPath(path="gone.txt", digest="")]
    paths.append(AcceptedPath(path="image", digest=hashlib.sha256(b"x\n").hexdigest(), seen=False))
    facts.apply(Stamped(facts.last_seq + 1, 0.0, None, None, UndecidedAccepted(paths=paths)))
    found = decided_now(facts, Journal.open(run.path), base_of(place), place / "work", NOTHING).decided
    assert not found.undecided and found.unseen == ["image"]


async def test_what_a_person_in_control_does_is_the_persons(place):
    run = run_in(place, "echo pass > tests/test_a.py", "true")
    by_hand = Act(tool="run_command", arguments={"command": "echo by hand > hand.txt"})
    run.on("step_finished", TakeWheel(), number=1)
    run.on("wheel_taken", by_hand)
    edit = Act(tool="write_file", arguments={"path": "b.txt", "content": "mine\n"})
    run.on("tool_finished", edit, by="person")
    run.on("tool_finished", GiveWheel(), by="person", nth=2)
    await run.run(watched=True)
    assert (place / "work/hand.txt").exists() and (place / "work/b.txt").exists()
    assert undecided(now(run, place).decided) == {"tests/test_a.py": "changed"}


async def test_the_old_content_of_a_large_file_is_found_and_its_event_says_that_there_was_one(place):
    large = b"x" * 3_000_000
    (place / "work/large").write_bytes(large)
    run = run_in(place, "echo small > large; head -c 2000000 /dev/zero > new", "rm new")
    await run.run()
    found = now(run, place)
    assert view(found, "large") == "a file of 3000000 bytes" and found.decided.unknown == []
    changed = {(one["path"], number): one for number, one in enumerate(events(run, "file_changed"))}
    of_large = next(one for (path, _), one in changed.items() if path == "large")
    assert of_large["before"] is None and of_large["unstored_before"]["size"] == 3_000_000
    assert of_large["unstored_before"]["digest"] == hashlib.sha256(large).hexdigest()
    new = [one for (path, _), one in changed.items() if path == "new"]
    assert [one["before"] for one in new] == [None, None]
    assert [bool(one["unstored_before"]) for one in new] == [False, True]
    assert "large" in run.facts().files_changed and "new" not in run.facts().files_changed


TAG = "Signature: 8a477f597d28d172789f06886806bc55"
MAKE = f"mkdir -p .cache && echo '{TAG}' > .cache/CACHEDIR.TAG && echo x > .cache/"
"""Write a file of output; its name follows."""


async def test_output_of_commands_and_of_checks_is_named_once(place):
    run = run_in(place, f"{MAKE}one", f"{MAKE}two", until=[f"{MAKE}three"])
    await run.run()
    named = [path for one in events(run, "effects_accepted") for path in one["outputs"]]
    named += [path for one in events(run, "outputs_written") for path in one["paths"]]
    assert set(named) == {".cache"}
    found = now(run, place)
    assert undecided(found.decided) == {".cache": "output"} and found.decided.view[".cache"].side is None


async def test_output_that_the_user_deleted_is_not_noted_any_more(place):
    ledger = Ledger(place / "work", place / "runs")
    first = run_in(place, f"{MAKE}one")
    await first.run()
    noted(first, place)
    assert ledger.read().outputs == {".cache"}
    shutil.rmtree(place / "work/.cache")
    second = run_in(place, "true")
    await second.run()
    noted(second, place)
    assert ledger.read().outputs == frozenset()


async def test_a_commit_counts_if_all_its_files_do(place):
    identity = " ".join(IDENTITY)
    run = run_in(place, f"echo new > a.py; git {identity} commit -qam work")
    await run.run()
    assert now(run, place, scope_of("a.py")).decided.git == []
    found = now(run, place)
    assert set(undecided(found.decided)) == {"a.py", "main", "index: a.py"} or "a.py" in undecided(found.decided)
    (changes,) = found.decided.git
    start = git(place / "work", "rev-parse", "main~1").strip()
    assert start in {getattr(row, "after", "") for row in changes.rows}


async def test_a_commit_of_a_test_takes_the_ref_back_and_the_source_stays(place):
    identity = " ".join(IDENTITY)
    run = run_in(place, f"echo new > a.py; echo pass > tests/test_a.py; git {identity} commit -qam work")
    await run.run()
    found = now(run, place, scope_of("a.py"))
    assert set(found.decided.accepted) == {"a.py"} and view(found, "tests/test_a.py") == TEST
    (changes,) = found.decided.git
    assert {type(row).__name__ for row in changes.rows} >= {"RefRow"}


async def test_files_that_the_model_stages_for_the_user_count(place):
    (place / "work/a.py").write_text("mine\n")
    run = run_in(place, "git add a.py")
    await run.run()
    assert now(run, place).decided.git == [] and now(run, place).decided.undecided == []


def noted(run: Driven, place, scope: Paths = NOTHING) -> int:
    return note_undecided(run.facts(), Journal.open(run.path), base_of(place), place / "work", scope)


async def test_a_later_run_has_the_undecided_changes_of_an_earlier_one(place):
    first = run_in(place, "echo pass > tests/test_a.py; echo skip > conftest.py; echo new > a.py")
    await first.run()
    assert noted(first, place, scope_of("a.py")) == 2
    second = run_in(place, "echo newer > a.py")
    await second.run()
    found = now(second, place, scope_of("a.py"))
    assert undecided(found.decided) == {"tests/test_a.py": "changed", "conftest.py": "new"}
    assert view(found, "tests/test_a.py") == TEST
    assert undecided(now(second, place, scope_of("a.py", "conftest.py")).decided) == {"tests/test_a.py": "changed"}
    first.path.unlink()  # the ledger has the old contents itself
    assert view(now(second, place), "tests/test_a.py") == TEST


async def test_a_run_with_a_check_notes_at_its_end_what_nobody_decided_on_and_the_next_one_says_so(place):
    first = run_in(place, "echo pass > data.txt; echo new > a.py", until=["grep -q new a.py"])
    await first.run()
    assert [entry.path for entry in Ledger(place / "work", place / "runs").read().entries] == ["data.txt"]
    second = run_in(place, "true", until=["false"])
    await second.run()
    (started,) = events(second, "run_started")
    assert "earlier runs changed 1 file that nobody decided on: data.txt" in started["notes"]


async def test_an_entry_goes_when_its_file_has_the_old_content_or_the_user_commits_it(place):
    work, ledger = place / "work", Ledger(place / "work", place / "runs")
    first = run_in(place, "echo pass > tests/test_a.py; echo skip > conftest.py; echo x > other.txt")
    await first.run()
    assert noted(first, place) == 3
    (work / "tests/test_a.py").write_text(TEST)
    git(work, *IDENTITY, "add", "conftest.py")
    git(work, *IDENTITY, "commit", "-q", "-m", "mine")
    second = run_in(place, "true")
    await second.run()
    assert undecided(now(second, place).decided) == {"other.txt": "new"}
    assert noted(second, place) == 1
    assert [entry.path for entry in ledger.read().entries] == ["other.txt"]


async def test_a_resumed_run_still_has_the_changes_of_earlier_ones(place):
    first = run_in(place, "echo pass > tests/test_a.py; echo x > other.txt")
    await first.run()
    noted(first, place)
    second = run_in(place, "echo pass, too > tests/test_a.py")
    await second.run()
    for _ in range(2):
        assert noted(second, place) == 2
        found = now(second, place)
        assert undecided(found.decided) == {"tests/test_a.py": "changed", "other.txt": "new"}
        assert view(found, "tests/test_a.py") == TEST


async def test_a_commit_of_a_run_decides_nothing(place):
    identity = " ".join(IDENTITY)
    first = run_in(place, f"echo pass > tests/test_a.py; git {identity} commit -qam work")
    await first.run()
    assert noted(first, place) == 1
    git(place / "work", *IDENTITY, "commit", "-q", "--allow-empty", "-m", "mine")
    second = run_in(place, "true")
    await second.run()
    assert undecided(now(second, place).decided) == {"tests/test_a.py": "changed"}


async def test_what_another_run_noted_meanwhile_counts_as_that_runs(place):
    first = run_in(place, "echo first > shared.txt")
    await first.run()
    other = run_in(place, "echo pass > tests/test_a.py; echo other > shared.txt")
    await other.run()
    noted(other, place)
    assert undecided(now(first, place).decided) == {"shared.txt": "new", "tests/test_a.py": "changed"}


async def test_a_damaged_ledger_is_named(place):
    run = run_in(place, "echo x > data.txt")
    await run.run()
    noted(run, place)
    next((place / "runs/undecided").glob("*/index")).write_bytes(b"\xc1")
    with pytest.raises(ValueError, match="delete it"):
        now(run, place)
