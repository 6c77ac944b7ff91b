"""A judged result is void in lists and exports when one of the judged files was changed after the end."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec
import pytest
from fakes.played_events import spec
from fakes.views.judged_ends import ENDS

from rundry.agent.journal.journal import Journal
from rundry.agent.layers.layer_effects import Side, side_at
from rundry.agent.layers.open_below import FOLDER
from rundry.agent.protocol import RunEnded
from rundry.agent.state.facts.decided_files import changed_since, encode_decided
from rundry.agent.state.reports.reporting import report
from rundry.agent.state.reports.run_index import list_runs
from rundry.agent.state.reports.void_runs import newest_as_of_now
from rundry.tui.export.export_facts import facts_of_run
from rundry.tui.export.read_run import read_run


def judged_run(runs: Path, root: Path, name: str, *paths: str) -> Path:
    """A run in `root` that ended with a judgement of these files as they are now."""
    journal = Journal.create(runs / f"{name}.db", spec(run_id=name, workspace=str(root)))
    folder = os.open(root, FOLDER)
    seen = {path: side_at(folder, os.fsencode(path)) for path in paths}
    os.close(folder)
    blob = journal.blobs.keep(encode_decided({path: None if one is None else one.side for path, one in seen.items()}))
    end = ENDS["judged"]
    assert end.evidence is not None
    journal.append(msgspec.structs.replace(end, evidence=msgspec.structs.replace(end.evidence, decided_files=blob)))
    journal.close()
    return runs / f"{name}.db"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "calc.py").write_text("1\n")
    (folder / "run.sh").write_text("true\n")
    (folder / "link").symlink_to("calc.py")
    return folder


def test_each_kind_of_later_change_is_found_and_named(root: Path):
    def side(data: bytes, **fields: object) -> Side:
        return Side(type="file", digest=hashlib.sha256(data).hexdigest(), size=len(data), **fields)  # type: ignore[arg-type]

    target = hashlib.sha256(b"calc.py").hexdigest()
    stored = encode_decided(
        {
            "calc.py": side(b"1\n"),
            "run.sh": side(b"true\n"),
            "link": Side(type="link", digest=target, size=7),
            "gone.py": None,
        }
    )
    assert changed_since(stored, root) == []
    (root / "calc.py").write_text("2\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").unlink()
    (root / "gone.py").write_text("")
    assert changed_since(stored, root) == ["calc.py", "gone.py", "link", "run.sh"]


def test_a_file_that_is_written_again_with_the_same_content_changes_nothing(root: Path):
    stored = encode_decided({"calc.py": Side(type="file", digest=hashlib.sha256(b"1\n").hexdigest(), size=2)})
    (root / "calc.py").unlink()
    (root / "calc.py").write_text("1\n")
    assert changed_since(stored, root) == []


def test_lists_reports_and_exports_say_that_the_newest_judged_run_is_void(tmp_path: Path, root: Path):
    runs = tmp_path / "runs"
    runs.mkdir()
    judged_run(runs, root, "20261128-100000-aaaa", "calc.py")
    newest = judged_run(runs, root, "20261128-110000-bbbb", "calc.py", "gone.py")
    assert [line.complete for line in newest_as_of_now(list_runs(runs))] == [True, True]
    (root / "calc.py").write_text("2\n")
    line, older = newest_as_of_now(list_runs(runs))
    assert (line.is_void, line.changed_since, line.complete, line.evidence) == (True, ["calc.py"], False, "")
    assert line.why_void == "was done, files changed since"
    assert (older.is_void, older.complete) == (False, True), "a later run changed its files"
    told = report(runs, 10_000, line.started)
    assert {each.reason: each.runs for each in told.exits} == {"void": 1, "done": 1}
    journal = Journal.open_for_reading(newest)
    facts = dict(facts_of_run(read_run(journal)))
    recorded = [each.event for each in journal.read_types([RunEnded])]
    journal.close()
    assert facts["outcome"].startswith("void: calc.py was changed since; it was done: ")
    assert "evidence" not in facts
    assert [each.complete for each in recorded if isinstance(each, RunEnded)] == [True], "it stays as recorded"


def test_a_report_does_not_store_that_a_run_is_void(tmp_path: Path, root: Path):
    runs = tmp_path / "runs"
    runs.mkdir()
    for name in ("20261128-100000-aaaa", "20261128-110000-bbbb"):
        journal = judged_run(runs, root, name, "calc.py")
        os.utime(journal, (1e9, 1e9))  # so old that the list keeps what it read
    (root / "calc.py").write_text("2\n")
    report(runs, 10_000, list_runs(runs)[0].started)
    assert (runs / "runs.index").exists()
    assert [line.is_void for line in newest_as_of_now(list_runs(runs))] == [True, False]
    (root / "calc.py").write_text("1\n")
    assert [line.is_void for line in newest_as_of_now(list_runs(runs))] == [False, False]


def test_an_export_names_what_the_check_opened_and_what_is_undecided_with_what_to_do(tmp_path: Path):
    journal = Journal.create(tmp_path / "r1.db", spec(workspace=str(tmp_path)))
    journal.append(ENDS["rests"])
    facts = dict(facts_of_run(read_run(journal)))
    journal.close()
    assert facts["undecided"] == (
        "3 changes; the result needs tests/test_money.py; `rundry apply --keep` shows them as a diff and accepts "
        "them, and so does a resume in a session"
    )
    assert facts["look first"] == (
        "accept the changed test tests/test_money.py only if you have looked at it: --scope tests/test_money.py"
    )
