"""What decides whether the goal is met runs in a layer: it changes nothing, and what it changed there is known."""

import json
import os
import subprocess

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.turns import call, say
from fakes.visible_folders import visible_folder
from msgspec.structs import replace

from rundry.agent.layers import layer
from rundry.agent.layers.remedies import LayerRefused
from rundry.agent.layers.run_layers import RunLayers
from rundry.agent.layers.watching import limits_at
from rundry.agent.protocol import Budget, Predicates
from rundry.agent.sandbox.sandbox import Sandbox

from .layered import events, three_folders, with_layers

PUT_BACK = "cp -p {0} k && echo true > {0} && {1} && cp -p k {0} && rm k"


@pytest.fixture
async def place(pytestconfig):
    found = await Sandbox.detect(kinds=["bubblewrap"])
    if found.kind is None:
        pytest.skip(found.why_none)
    with three_folders(visible_folder(pytestconfig.rootpath)) as folder:
        (folder / "work/tests").mkdir()
        (folder / "work/tests/run.sh").write_text("grep -q one kept.txt\n")
        yield folder


def guard_lines(run):
    return "\n".join(one["text"] for one in events(run, "prompted") if one["kind"] == "guard")


def verdicts(run, name):
    return [one for one in events(run, "predicate_judged") if one["name"].startswith(name)]


def state_of(work):
    """All that a check could have changed, times included."""
    return {
        path: (at.st_ino, at.st_mode, at.st_size, at.st_mtime_ns, at.st_ctime_ns)
        for path in sorted(work.rglob("*"))
        if (at := path.lstat())
    }


async def test_a_predicate_of_the_user_changes_nothing(place):
    work = place / "work"
    (work / "judge.py").write_text(
        "import work_of_model\n"
        "def good(state):\n"
        "    open('made', 'w').write('x')\n"
        "    return open('kept.txt').read() == 'one\\n' and work_of_model.value() == 1\n"
    )
    (work / "work_of_model.py").write_text("def value():\n    open('kept.txt', 'a').write('x')\n    return 1\n")
    before = state_of(work)
    run = with_layers(place, predicates=Predicates(until_py=["judge.py:good"]))
    outcome = await run.run()
    assert outcome.complete, run.story()
    assert state_of(work) == before
    assert "made" in guard_lines(run)


async def test_the_answer_is_compared_with_its_schema_in_a_layer(place):
    work = place / "work"
    (work / "schema.json").write_text(json.dumps({"type": "object", "required": ["a"]}))
    model = ScriptedModel([say('{"a": 1}')])
    run = Driven(place / "runs", work, model, predicates=Predicates(schema="schema.json"))
    before = state_of(work)
    outcome = await run.run()
    assert outcome.complete, run.story()
    assert state_of(work) == before


@pytest.mark.parametrize(
    "check",
    [
        PUT_BACK.format("tests/run.sh", "sh tests/run.sh"),
        "cp -rp tests saved && rm -r tests && mkdir tests && cp -p saved/run.sh tests/ && rm -r saved",
        "echo 'import sys' > tests/conftest.py",
        "echo x >> tests/run.sh",
        "rm tests/run.sh",
    ],
)
async def test_what_a_check_of_the_user_writes_never_reaches_the_workspace_and_decides_nothing(place, check):
    before = state_of(place / "work")
    run = with_layers(place, until=[check])
    outcome = await run.run(watched=True)
    assert outcome.complete and state_of(place / "work") == before, run.story()
    assert not events(run, "question_asked") and not events(run, "proposal_opened")


async def test_new_data_below_the_tests_is_dropped_and_the_check_counts(place):
    before = state_of(place / "work")
    run = with_layers(place, until=["sh tests/run.sh && echo x > tests/out.txt && echo x > k"])
    outcome = await run.run()
    assert outcome.complete and state_of(place / "work") == before
    assert "k, tests/out.txt" in guard_lines(run)


REQUIRED = Predicates(require=["run_command:sh tests/run.sh"])


async def test_a_required_command_does_not_count_if_it_made_something_that_decides(place):
    first = "echo true > tests/sitecustomize.py && sh tests/run.sh"
    run = with_layers(place, first, predicates=REQUIRED, budget=Budget(steps=1))
    outcome = await run.run()
    assert not outcome.complete and not (place / "work/tests/sitecustomize.py").exists()
    (done,) = [one for one in events(run, "tool_finished") if one["tool"] == "run_command"]
    assert done["disturbed"] == ["tests/sitecustomize.py"]


async def test_a_required_command_does_not_count_if_what_it_changed_was_not_applied(place):
    run = with_layers(place, "echo x > .envrc && sh tests/run.sh", predicates=REQUIRED, budget=Budget(steps=1))
    outcome = await run.run()
    assert not outcome.complete and not (place / "work/.envrc").exists()
    assert "what it changed was not applied" in verdicts(run, "require")[-1]["detail"]


async def test_a_required_command_counts_with_what_it_changed_and_what_was_applied(place):
    command = "echo one > kept.txt && sh tests/run.sh && touch -d 2001-01-01 gone.txt"
    run = with_layers(place, command, predicates=Predicates(require=["run_command:sh tests/run.sh"]))
    assert (await run.run()).complete, run.story()


async def test_a_check_is_confirmed_in_a_checkout_with_what_commands_changed_in_layers(place):
    work = place / "work"
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=u", "-c", "user.email=e", "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", work, *words], check=True)
    check = "grep -q more kept.txt && test -f made && echo x >> kept.txt && touch built"
    wanted = Predicates(until=[check], confirm=True, scope=["kept.txt", "made"])
    run = with_layers(place, "echo more >> kept.txt; echo x > made", predicates=wanted)
    outcome = await run.run()
    assert outcome.complete, run.story()
    assert [one["result"] for one in events(run, "confirmation_finished")] == ["passed"]
    assert (work / "kept.txt").read_text() == "one\nmore\n" and not (work / "built").exists()


@pytest.fixture
def refusing(monkeypatch):
    """Layers that cannot be opened any more after some were."""

    def refuse(after):
        opened, real = [], RunLayers.open

        def open_one(self, *given, **options):
            opened.append(1)
            if len(opened) > after:
                raise LayerRefused(OSError(28, os.strerror(28)), self.workspace.root)
            return real(self, *given, **options)

        monkeypatch.setattr(RunLayers, "open", open_one)

    return refuse


async def test_without_a_layer_a_command_does_not_run(place, refusing):
    refusing(1)
    run = with_layers(place, "echo 1 > a", "echo 2 > b")
    await run.run()
    assert (place / "work/a").exists() and not (place / "work/b").exists()
    assert "The command was not run: no layer could be opened" in run.heard()
    assert "Free some space on the disk of" in run.heard() and not events(run, "fault")


async def test_without_a_layer_no_check_runs_and_none_passes(place, refusing):
    refusing(0)
    (place / "work/judge.py").write_text("def good(state):\n    return True\n")
    wanted = Predicates(until=["touch ran"], until_py=["judge.py:good"])
    run = with_layers(place, predicates=wanted, budget=Budget(steps=1))
    outcome = await run.run()
    assert not outcome.complete and not (place / "work/ran").exists() and not events(run, "fault")
    assert "no layer could be opened" in events(run, "check_finished")[-1]["error"]
    assert "it was not run: no layer could be opened" in verdicts(run, "until-py")[-1]["detail"]


async def test_a_workspace_inside_a_repository_shares_only_its_git_folder(place):
    top = place / "work"
    inner = top / "inner"
    inner.mkdir()
    (inner / "own").write_text("own\n")
    identity = "-c user.name=u -c user.email=e"
    for words in (["init", "-q"], ["add", "."], [*identity.split(), "commit", "-qm", "start"]):
        subprocess.run(["git", "-C", top, *words], check=True)
    turns = [
        call("run_command", command="echo x > ../kept.txt; echo x > ../new; touch ../../outside/a; cat ../gone.txt"),
        call("run_command", command=f"echo more >> own && git {identity} commit -qam more"),
        say("done"),
    ]
    run = Driven(place / "runs", inner, ScriptedModel(turns))
    await run.run()
    assert (top / "kept.txt").read_text() == "one\n" and not (top / "new").exists() and "two" in run.heard()
    log = subprocess.run(["git", "-C", top, "log", "--format=%s"], check=True, capture_output=True, text=True).stdout
    assert log.split() == ["more", "start"] and (inner / "own").read_text() == "own\nmore\n"


async def test_a_reader_needs_no_layer_and_sees_the_newest_files(place, refusing):
    refusing(0)
    work = place / "work"
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    before = state_of(work)
    run = with_layers(place, "cat kept.txt; git status --short", "cat kept.txt; touch made")
    await run.run()
    assert state_of(work) == before
    assert "one\n?? gone.txt" in run.heard() and "The command was not run" in run.heard()


async def test_a_check_that_writes_too_much_is_ended_and_does_not_pass(place, monkeypatch):
    monkeypatch.setattr(layer, "limits_at", lambda folder: replace(limits_at(folder), files=20))
    before = state_of(place / "work")
    check = "for name in $(seq 60); do touch made$name; done; sleep 60"
    run = with_layers(place, until=[check], budget=Budget(steps=0))
    outcome = await run.run()
    assert not outcome.complete and state_of(place / "work") == before
    assert "was ended, because it wrote more than 20 files" in guard_lines(run)
    assert not any(one["passed"] for one in events(run, "check_finished"))


@pytest.mark.parametrize(
    ("second", "counts"), [("test -f gone.txt; python3 -c pass", True), ("echo x > late; true", False)]
)
async def test_what_commands_changed_is_known_from_their_layers(place, second, counts):
    wanted = Predicates(require=["run_command:sh tests/run.sh:after-last-edit"], until_file=["never"])
    run = with_layers(place, "sh tests/run.sh", second, predicates=wanted, budget=Budget(steps=2))
    await run.run()
    assert verdicts(run, "require")[-1]["passed"] is counts
