"""A run for other eyes: nothing of it acts, and no key leaves with it (docs/requirements.md 10.3, 11.2)."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import tracemalloc
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fakes.rundry import Home, Ran

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    Charged,
    CheckFinished,
    Evidence,
    LoopKind,
    ModelSpec,
    ProposalOpened,
    Reason,
    RunEnded,
    RunSpec,
    RunStarted,
    Said,
    StepFinished,
    StepStarted,
    TestCounts,
    TextArrived,
    ToolCalled,
    ToolFinished,
)
from rundry.tui.export.formats import ExportFormat
from rundry.tui.export.writing import chunks

KEY = "sk-ant-canary-0123456789abcdefghij"
HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=e()> \"'& \x1b[2J \u202eevil"
MARKS = "```\n# not a heading\n![x](http://127.0.0.1:9/t.png) <b>bold</b>\n````\n"


def begun(home: Home, project: Path, run_id: str, task: str) -> Journal:
    """The journal of a goal run that has just begun."""
    spec = RunSpec(
        run_id=run_id, loop=LoopKind.GOAL, task=task, workspace=str(project.resolve()), model=ModelSpec(name="fake")
    )
    path = home.runs / f"{run_id}.db"
    journal = Journal.create(path, spec)
    started = RunStarted(
        run_id=run_id,
        loop=spec.loop,
        task=task,
        workspace=spec.workspace,
        model="fake",
        budget=Budget(tokens=200_000, usd=1.0),
        journal=str(path),
    )
    journal.append(started)
    return journal


@pytest.fixture
def run_id(home: Home, project: Path) -> str:
    """A run in which every text is hostile, and a key was recorded before it was known as one."""
    journal = begun(home, project, "r1", HOSTILE)
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
    """The elements of a page, their attributes, and the text of each element that is open at the end of it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}


DRAWN = {"viewbox", "role", "aria-label", "x1", "x2", "y1", "y2", "d", "cx", "cy", "r", "x", "y", "text-anchor"}


def test_a_page_holds_hostile_words_as_words_alone(home: Home, project: Path, run_id: str):
    page = export(home, project, run_id, "--format", "html").stdout
    tags = Tags(page)
    assert not tags.seen & {"script", "img", "b", "iframe", "a", "link", "object", "h3"}
    assert tags.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class", "open"} | DRAWN
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "default-src 'none'" in page
    for hidden in (KEY, "\x1b", "\u202e"):
        assert hidden not in page
    assert "Step 1" in page


def test_a_browser_runs_nothing_of_a_page_and_applies_its_style(home: Home, project: Path, tmp_path: Path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("needs chromium")
    hostile = "</title><script>document.title='owned'</script><svg onload=\"document.title='owned'\"><p id=planted>"
    journal = begun(home, project, "r2", hostile)
    for number, text in enumerate((hostile, f"# {hostile}", f"```\n{hostile}\n```", f"[x](javascript:{hostile})"), 1):
        journal.append(StepStarted(number=number), step=number)
        journal.append(TextArrived(text=text), step=number)
        journal.append(ToolCalled(call_id=f"c{number}", tool=hostile, arguments={"path": hostile}), step=number)
        diff = f"--- a/{hostile}\n+++ b/x\n@@ -1,1 +1,1 @@ {hostile}\n-{hostile}\n+{hostile} x\n"
        opened = ProposalOpened(
            proposal_id=f"p{number}", call_id=f"c{number}", tool="edit_file", path=hostile, digest="d", diff=diff
        )
        journal.append(opened, step=number)
        journal.append(Charged(tokens_in=40, tokens_out=10, model=hostile), step=number)
        journal.append(StepFinished(number=number), step=number)
    journal.append(RunEnded(reason=Reason.ERROR, detail=hostile, complete=False, exit_code=1, files_changed=[hostile]))
    journal.close()
    page = tmp_path / "page.html"
    assert export(home, project, "r2", "--format", "html", "-o", str(page)).exit_code == 0
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    probe = tmp_path / "probe.html"
    # the policy of the page allows no script: the same bytes without it show what the escaping alone prevents
    probe.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text()))
    for file in (page, probe):
        argv = [browser, *flags, "--virtual-time-budget=2000", "--dump-dom", file.as_uri()]
        drawn = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=True).stdout
        title = re.search(r"<title>(.*?)</title>", drawn, re.DOTALL)
        assert title is not None
        assert title[1].startswith("&lt;/title&gt;")
        tags = Tags(drawn)
        assert not tags.seen & {"script", "a", "img", "iframe"}
        assert not {name for name in tags.attributes if name.startswith("on") or name in ("id", "href", "src", "style")}
        assert drawn.count("<figure>") >= 1
        assert drawn.count('<details class="step"') == 4
    assert "sha256-" in page.read_text()


def _checked(failing: int) -> CheckFinished:
    return CheckFinished(
        command="pytest -q", passed=not failing, exit_code=1, timed_out=False, output="", failing=failing
    )


def test_a_page_shows_verdict_plots_and_diffs_and_folds_steps(home: Home, project: Path):
    journal = begun(home, project, "r3", "repair it")
    for number in (1, 2, 3):
        journal.append(StepStarted(number=number), step=number)
        journal.append(ToolCalled(call_id=f"c{number}", tool="edit_file", arguments={"path": "a.py"}), step=number)
        diff = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n"
        opened = ProposalOpened(
            proposal_id=f"p{number}", call_id=f"c{number}", tool="edit_file", path="a.py", digest="d", diff=diff
        )
        journal.append(opened, step=number)
        journal.append(Charged(tokens_in=40, tokens_out=10, usd=0.25, model="fake"), step=number)
        journal.append(StepFinished(number=number, seconds=1.0), step=number)
        journal.append(_checked(4 - number), step=number)
    evidence = Evidence(before=TestCounts(9, 3), after=TestCounts(9, 0), guarded_unchanged=True)
    end = RunEnded(reason=Reason.DONE, detail="pytest -q passes", complete=True, exit_code=0, evidence=evidence)
    journal.append(end)
    journal.close()
    page = export(home, project, "r3", "--format", "html").stdout
    for part in (
        "✓ done",
        "9 tests as at the start, 3 -&gt; 0 failing",
        "prefers-color-scheme: dark",
        "$0.75",
        "Step 3",
    ):
        assert part in page
    for name in ("tokens", "cost", "failing tests"):
        assert f"<figcaption><strong>{name}</strong>" in page
    assert page.count('<details class="step" open>') == 3
    assert page.count("<mark>") >= 6, "the changed words of a line are marked"
    assert '<span class="c1">def</span>' in page


@pytest.mark.long
def test_the_memory_of_an_export_does_not_grow_with_the_length_of_a_run(home: Home, project: Path):
    peaks: list[int] = []
    for name, steps in (("short", 2_200), ("long", 4_400)):
        journal = begun(home, project, name, "read all")
        with journal.transaction():
            for number in range(1, steps + 1):
                text = f"{number} " + os.urandom(1_000).hex()
                journal.append(StepStarted(number=number), step=number)
                journal.append(ToolCalled(call_id="c", tool="read_file", arguments={"path": "a"}), step=number)
                journal.append(ToolFinished(call_id="c", tool="read_file", ok=True, result=text), step=number)
                journal.append(StepFinished(number=number), step=number)
        tracemalloc.start()
        size = sum(len(each) for each in chunks(journal, ExportFormat.HTML))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        journal.close()
        assert size > 2_000 * steps, "each result is in the page"
    short, long = peaks
    assert long < 1.3 * short, f"{short:,} bytes, then {long:,} bytes"


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


def test_a_page_shows_steps_that_took_turns_once_and_in_order(home: Home, project: Path):
    journal = begun(home, project, "r4", "look")
    for number in (1, 3, 2):
        journal.append(StepStarted(number=number), step=number)
    for turn in range(3):
        for number in (3, 1, 2):
            call_id = f"c{number}{turn}"
            journal.append(ToolCalled(call_id=call_id, tool="read_file", arguments={"path": call_id}), step=number)
            journal.append(ToolFinished(call_id=call_id, tool="read_file", ok=True, result="x"), step=number)
    journal.close()
    page = export(home, project, "r4", "--format", "html").stdout
    places = [page.index(f"<strong>Step {number}</strong>") for number in (1, 2, 3)]
    assert places == sorted(places) and page.count("<strong>Step ") == 3
    assert page.index("read c10") < page.index("read c12") < places[1] < page.index("read c32")
