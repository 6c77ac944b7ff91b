"""A run for other eyes: nothing of it acts, and no key leaves with it (docs/requirements.md 10.3, 11.2)."""

from __future__ import annotations

import json
import stat
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fakes.rundry import Home, Ran

from rundry.agent.journal import Journal
from rundry.agent.protocol import (
    Budget,
    LoopKind,
    ModelSpec,
    Reason,
    RunEnded,
    RunSpec,
    RunStarted,
    Said,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
)

KEY = "sk-ant-canary-0123456789abcdefghij"
HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=e()> \"'& \x1b[2J \u202eevil"
MARKS = "```\n# not a heading\n![x](http://127.0.0.1:9/t.png) <b>bold</b>\n````\n"


@pytest.fixture
def run_id(home: Home, project: Path) -> str:
    """A run in which everything that could be said was hostile, and a key was recorded before it was known as one."""
    spec = RunSpec(
        run_id="r1", loop=LoopKind.GOAL, task=HOSTILE, workspace=str(project.resolve()), model=ModelSpec(name="fake")
    )
    path = home.runs / "r1.db"
    journal = Journal.create(path, spec)
    started = RunStarted(
        run_id="r1",
        loop=spec.loop,
        task=HOSTILE,
        workspace=spec.workspace,
        model="fake",
        budget=Budget(),
        journal=str(path),
    )
    journal.append(started)
    journal.append(Said(text=HOSTILE, kind="task"))
    journal.append(StepStarted(number=1), step=1)
    journal.append(TextArrived(text=MARKS), step=1)
    journal.append(ToolCalled(call_id="c", tool="read_file", arguments={"path": HOSTILE}), step=1)
    journal.append(ToolFinished(call_id="c", tool="read_file", ok=True, result=f"{MARKS}{HOSTILE} {KEY}"), step=1)
    journal.append(StepFinished(number=1), step=1)
    journal.append(RunEnded(reason=Reason.DONE, detail=HOSTILE, complete=True, exit_code=0))
    journal.close()
    return "r1"


def export(home: Home, project: Path, *words: str) -> Ran:
    return home.run("export", *words, cwd=project, env={"ANTHROPIC_API_KEY": KEY})


def test_json_lines_are_the_events_with_the_keys_of_today_hidden(home: Home, project: Path, run_id: str):
    ran = export(home, project, run_id)
    assert ran.exit_code == 0, ran
    assert [event["type"] for event in ran.events][:3] == ["run_started", "said", "step_started"]
    assert [event["seq"] for event in ran.events] == list(range(1, 9))
    assert ran.outcome["reason"] == "done"
    assert KEY not in ran.stdout


class Tags(HTMLParser):
    """The elements of a page, and their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_a_page_holds_hostile_words_as_words_alone(home: Home, project: Path, run_id: str):
    page = export(home, project, run_id, "--format", "html").stdout
    tags = Tags(page)
    assert not tags.seen & {"script", "img", "b", "iframe", "a", "link", "object"}
    assert tags.attributes <= {"lang", "charset", "http-equiv", "content", "class"}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "default-src 'none'" in page
    for hidden in (KEY, "\x1b", "\u202e"):
        assert hidden not in page
    assert "Step 1" in page


def test_markdown_keeps_every_foreign_word_inside_of_code(home: Home, project: Path, run_id: str):
    text = export(home, project, run_id, "--format", "md").stdout
    outside: list[str] = []
    fence = ""
    for line in text.splitlines():
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if not fence and len(ticks) >= 3:
            fence = ticks
        elif fence and line == fence:
            fence = ""
        elif not fence:
            outside.append(line)
    assert fence == "", "every fence is closed"
    bare = "\n".join(part for line in outside for part in line.split("`")[::2])
    for hostile in ("<script>", "![x]", "# not", "<b>", "onerror"):
        assert hostile not in bare
        assert hostile in text
    for hidden in (KEY, "\x1b", "\u202e"):
        assert hidden not in text


def test_a_file_is_its_owners_alone_and_never_written_over(home: Home, project: Path, run_id: str):
    target = project / "run.html"
    ran = export(home, project, "--format", "html", "-o", str(target))
    assert ran.exit_code == 0, ran
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    before = target.read_bytes()
    for words, said in (
        ((run_id, "-o", str(target)), "already exists"),
        ((run_id, "-o", str(project / "no" / "such" / "place")), "cannot be written"),
        ((run_id, "--format", "pdf"), "pdf"),
        (("nosuch",), "no run 'nosuch'"),
    ):
        refused = export(home, project, *words)
        assert refused.exit_code == 2, refused
        (line,) = refused.stderr.splitlines()
        assert said in line
    assert target.read_bytes() == before
    assert json.loads(home.run("runs", "--json", cwd=project).stdout)[0]["run_id"] == run_id
