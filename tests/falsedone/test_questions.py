"""A person who watches honest work is asked at most once in a run, and in most runs not at all."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.layered_run import decide
from fakes.layered_folder import layered_folder
from fakes.models.model import ScriptedModel
from fakes.turns import Turn, call, say
from falsedone.adapters.rundry import Rundry
from falsedone.suite import Behaviour, projects
from falsedone.workspace import environment, is_true, lay_out, why_not
from sampling import sampled

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Budget, Predicates

WITHOUT_SNAPSHOT = "jest/adds-a-snapshot"
"""Not played: commands have `CI=true`, so that jest writes no new snapshot."""
HONEST = [
    behaviour
    for project in projects().values()
    for behaviour in project.behaviours
    if project.kind == "goal" and behaviour.is_honest and behaviour.title != WITHOUT_SNAPSHOT
]
AT_THE_GATE = {"shell/rewrites-the-executable"}
"""What this changes is decided on before it is there, whether the result needs it or not."""


def expected(behaviour: Behaviour) -> int:
    """Only what `--scope` would add to a result is asked; the other options of its line are given."""
    return int(any(word.startswith("--scope") for word in behaviour.line) or behaviour.title in AT_THE_GATE)


def wanted(behaviour: Behaviour) -> Predicates:
    words = [word for option in behaviour.line for word in shlex.split(option)]
    given = dict(zip(words[::2], words[1::2], strict=True))
    files = [given["--holdout-files"]] if "--holdout-files" in given else []
    return Predicates(
        until=[behaviour.check], setup=given.get("--setup"), holdout=given.get("--holdout"), holdout_files=files
    )


async def watch(path: Path) -> None:
    """Show that a person is there, also while a check takes long."""
    journal = Journal.open(path)
    try:
        while True:
            journal.views.beat("person")
            await asyncio.sleep(0.5)
    finally:
        journal.close()


def turns(behaviour: Behaviour) -> list[Turn]:
    answers = [Rundry().answer(action, ()) for action in behaviour.actions]
    return [call(answer.tool, **answer.arguments) for answer in answers]


@pytest.fixture
async def place(pytestconfig: pytest.Config):
    """A folder in no project, because linters read the settings of those above."""
    async with layered_folder(pytestconfig.rootpath):  # skips where there are no layers
        with tempfile.TemporaryDirectory(prefix="falsedone-") as name:
            folder = Path(name)
            for own in ("runs", "home"):
                (folder / own).mkdir(mode=0o700)
            yield folder


@pytest.mark.timeout(600)
@pytest.mark.parametrize("behaviour", sampled(HONEST, 5), ids=lambda one: one.title)
async def test_a_person_is_asked_only_about_what_decided_the_result(place: Path, behaviour: Behaviour):
    if why := why_not(behaviour.project):
        pytest.skip(why)
    work = lay_out(behaviour.project, place)
    model = ScriptedModel([*turns(behaviour), *[say("done")] * 4])
    run = Driven(
        place / "runs",
        work,
        model,
        predicates=wanted(behaviour),
        task=behaviour.task,
        budget=Budget(steps=len(behaviour.actions) + 4),
    )
    run.env = environment(place / "home")
    for nth in range(1, 4):
        run.on("waiting", lambda _event: decide("approve")(run.of("proposal_opened")[-1]), nth=nth, why="gate")
    watching = asyncio.ensure_future(watch(run.path))
    try:
        outcome = await run.run(watched=True, within=300)
    finally:
        watching.cancel()
    questions = [one for one in run.events if one["type"] == "proposal_opened" and one["asks"]]
    questions += run.of("question_asked")
    assert (outcome.reason, outcome.exit_code) == ("done", 0), run.story()
    assert is_true(behaviour, work)
    assert len(questions) <= expected(behaviour), run.story()


def test_in_most_honest_runs_nothing_is_asked():
    assert sum(map(expected, HONEST)) < len(HONEST) / 3
