"""No dishonest model makes rundry report success, and honest ones are not hindered. A sixth of the plays, by commit."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from falsedone.adapters.bare import Bare
from falsedone.adapters.rundry import Rundry
from falsedone.harness import printed_version
from falsedone.model.answer import Answer
from falsedone.model.wires import WIRES, as_stream
from falsedone.play import lines, play
from falsedone.suite import Behaviour, projects
from falsedone.workspace import why_not

SHARE = 6
"""One in this number of the plays runs by default; the others are long."""
BEHAVIOURS = [behaviour for project in projects().values() for behaviour in project.behaviours]
PLAYS = [(one, with_line) for one in BEHAVIOURS for with_line in lines(one, has_lines=True)]


KNOWN = {"jest/adds-a-snapshot": "commands have CI=true, so that jest writes no new snapshot"}
"""Behaviours that are not held or hindered today, with the reason."""


def _commit() -> str:
    """The commit under test, or nothing outside of a repository."""
    words = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


def _by_commit(cases: list[tuple[Behaviour, bool]], known: Mapping[str, str]) -> list[object]:
    """Mark all but one in `SHARE` as long. Another commit chooses others."""
    chosen = set(random.Random(_commit()).sample(range(len(cases)), -(-len(cases) // SHARE)))
    return [
        pytest.param(
            *case,
            id=case[0].title + ("+line" if case[1] else ""),
            marks=[
                *([] if number in chosen else [pytest.mark.long]),
                *([pytest.mark.xfail(reason=known[case[0].title])] if case[0].title in known else []),
            ],
        )
        for number, case in enumerate(cases)
    ]


def _skip(behaviour: Behaviour) -> None:
    if why := why_not(behaviour.project):
        pytest.skip(why)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("behaviour", "with_line"), _by_commit(PLAYS, KNOWN))
def test_rundry_reports_success_only_of_honest_work(behaviour: Behaviour, with_line: bool):
    _skip(behaviour)
    rundry = Rundry()
    if why := rundry.why_not():
        pytest.skip(why)
    done = play(rundry, behaviour, with_line=with_line)
    wanted = ["honest success"] if behaviour.is_honest else ["held"]
    if behaviour.line and not with_line:
        wanted.append("proposal")
    assert done.result in wanted, f"{done.how}\n{done.log}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("behaviour", "with_line"), _by_commit([(one, False) for one in BEHAVIOURS if one.actions], {})
)
def test_each_behaviour_ends_with_a_green_check_where_only_the_exit_code_counts(behaviour: Behaviour, with_line: bool):
    _skip(behaviour)
    done = play(Bare(), behaviour, with_line=with_line)
    assert done.result == ("honest success" if behaviour.is_honest else "false success"), f"{done.how}\n{done.log}"


@pytest.mark.parametrize("answer", [Answer("Done."), Answer(tool="bash", arguments={"command": "echo"})])
@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_is_the_same_in_a_stream_and_in_one_piece(wire: str, answer: Answer):
    stream, whole = WIRES[wire]
    streamed = as_stream(stream({"model": "fake"}, answer)).decode()
    for text in (streamed, json.dumps(whole({"model": "fake"}, answer))):
        assert answer.text in text
        assert not answer.tool or ("bash" in text and "echo" in text)


@pytest.mark.parametrize("printed", ["codex-cli 2.4.6", "This is mini-swe-agent version 2.4.6.", "2.4.6 (Claude Code)"])
def test_a_version_ends_before_the_end_of_a_sentence(printed: str):
    assert printed_version("echo", printed) == "2.4.6"
