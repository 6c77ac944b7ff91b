"""A runner is killed around the write of an approved change: it is applied once (docs/requirements.md 5.3)."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.killing.killed_at_write import MOMENTS, approve_and_die
from fakes.project import CHECK, CORE
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import edit, finish
from fakes.wire import text_of

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import event_type

DOUBLES = edit("calc/core.py", '"""Sums."""\n', '"""Sums."""\n"""Sums."""\n')
"""A change that would show if it were applied twice."""
DOUBLED = CORE.replace('"""Sums."""\n', '"""Sums."""\n"""Sums."""\n')


def kinds(journal: Path) -> list[str]:
    opened = Journal.open(journal)
    try:
        return [event_type(stamped.event) for stamped in opened.read()]
    finally:
        opened.close()


def resumed(home: Home, project: Path) -> Ran:
    return home.run("resume", home.journals()[0].stem, "--headless", "--json", "--steps", "2", cwd=project)


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_approved_change_is_applied_once_however_often_its_runner_is_killed(home: Home, project: Path, moment: str):
    core = project / "calc/core.py"
    with ScriptedServer([DOUBLES], then=finish("doubled", "calc/core.py:1")) as server:
        argv = ["run", "double it", "--headless", "--on-ask", "handoff", "--gate", "ask", "--until", CHECK]
        ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)
        assert ran.exit_code == 5, ran
        (journal,) = home.journals()
        approve_and_die(journal, moment)
        assert core.read_text() == (CORE if moment == "approved" else DOUBLED)
        assert kinds(journal).count("file_changed") == (moment == "recorded")
        first, second = resumed(home, project), resumed(home, project)
        told = [text_of(m) for m in server.wait_requests(2)[1].messages if m["role"] == "tool"]
    assert core.read_text() == DOUBLED, (first, second)
    found = kinds(journal)
    assert found.count("file_changed") == 1
    assert found.count("proposal_decided") == 1
    assert len(told) == 1 and "well done" in told[0], told
