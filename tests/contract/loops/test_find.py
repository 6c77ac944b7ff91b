"""`rundry find`, the installed command: its input, its lines, its exit codes."""

from __future__ import annotations

import re
import sqlite3
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from fakes.rundry import Home, Ran
from fakes.server import Rule, ScriptedServer
from fakes.turns import edit
from fakes.web.site import Site
from sampling import sampled

from rundry.agent.journal.journal import Journal
from rundry.agent.search.items.frontier_view import FrontierView
from rundry.agent.search.items.item_state import State

WORKER = """\
import json, sys
item = json.load(sys.stdin)
{body}
"""
SPEC = """\
task = "work them"
concurrency = 2
retries = {retries}
[budget]
steps = {steps}
[[seed]]
kind = "{kind}"
value = "{value}"
[worker]
command = ["{python}", "{worker}"]
timeout = "{timeout}"
"""
FILES = ["a.txt", "b.txt"]


def spec(
    place: Path,
    body: str,
    *,
    kind: str = "value",
    value: str = "start",
    retries: int = 0,
    steps: int = 50,
    timeout: str = "30s",
) -> str:
    """A spec file whose worker does this; its path is relative to the workspace."""
    (place / "worker.py").write_text(WORKER.format(body=body))
    fields = {"retries": retries, "steps": steps, "kind": kind, "value": value, "timeout": timeout}
    (place / "search.toml").write_text(SPEC.format(**fields, python=sys.executable, worker="worker.py"))
    return "search.toml"


def last(ran: Ran) -> str:
    return ran.stderr.splitlines()[-1]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text("old\n")
    return folder


@pytest.mark.parametrize(
    ("argv", "names"),
    sampled(
        [
            ([], ["spec file", "--recipe"]),
            (["http://localhost/"], ["--recipe crawl http://localhost/"]),
            (["nope.toml"], ["nope.toml", "No such file"]),
            (["unknown.toml"], ["unknown.toml", "[budget]", "'minutes'"]),
            (["search.toml", "--check", "true"], ["--check", "migrate"]),
            (["--recipe", "spiral"], ["spiral", "crawl, migrate, research"]),
            (["--recipe", "crawl"], ["URL"]),
            (["--recipe", "crawl", "localhost:8000"], ["localhost:8000", "http://"]),
            (["--recipe", "crawl", "http://localhost/", "--max-pages", "many"], ["many"]),
            (
                ["--recipe", "crawl", "http://localhost/", "--host", "b.example"],
                ["--host", "a crawl stays on its first host"],
            ),
            (["--recipe", "migrate"], ["--check"]),
            (["--recipe", "migrate", "--check", "true", "--rate", "3"], ["--rate", "crawl"]),
            (["--recipe", "migrate", "--check", "true", "--model", "none"], ["migrate needs a model"]),
            (["--recipe", "research"], ["--task"]),
            (["--recipe", "research", "--task", "x", "nowhere"], ["nowhere"]),
            (["--recipe", "crawl", "http://localhost/", "--concurrency", "0"], ["0"]),
            (["--recipe", "crawl", "http://localhost/", "--resume"], ["no unfinished run", "--resume"]),
            (["--recipe", "crawl", "http://localhost/", "--score", "true"], ["--score"]),
        ],
        6,
    ),
)
def test_bad_input_is_one_line_and_nothing_is_made(home: Home, place: Path, argv: list[str], names: list[str]):
    (place / "search.toml").write_text('task = "t"\n[[lens]]\nname = "a"\nprompt = "p"\n')
    (place / "unknown.toml").write_text('task = "t"\n[budget]\nminutes = 3\n[[lens]]\nname = "a"\nprompt = "p"\n')
    before = sorted(place.iterdir())
    ran = home.run("find", *argv, "--headless", "--json", cwd=place)
    assert ran.exit_code == 2, ran
    assert ran.stdout == ""
    assert len(ran.stderr.strip().splitlines()) == 1, ran
    for name in names:
        assert name in ran.stderr, ran
    assert sorted(place.iterdir()) == before
    assert not home.journals()


def test_help_fits_a_narrow_terminal_and_shows_each_recipe(home: Home, place: Path):
    ran = home.run("find", "--help", cwd=place, env={"COLUMNS": "80"})
    assert max(len(line) for line in ran.stdout.splitlines()) <= 80, ran
    for word in ("--recipe crawl", "--recipe migrate", "--recipe research", "[[lens]]", "dry, but not complete"):
        assert word in ran.stdout
    assert "rundry find" in home.run("--help", cwd=place).stdout


def test_a_crawl_says_little_and_its_last_line_how_it_ended(home: Home, place: Path):
    with Site(pages=120) as site:
        calm = home.run("find", "--recipe", "crawl", f"{site.url}/page/0", "--headless", cwd=place)
        url = f"{site.url}/broken"
        spec_file = f'task = "t"\nretries = 0\n[[seed]]\nkind = "url"\nvalue = "{url}"\n[worker]\nrecipe = "crawl"\n'
        (place / "c.toml").write_text(spec_file)
        failed = home.run("find", "c.toml", "--trust", "--headless", cwd=place)
        short = home.run("find", "--recipe", "crawl", f"{site.url}/page/0", "--headless", "--max-pages", "5", cwd=place)
        on = home.run(
            "find", "--recipe", "crawl", f"{site.url}/page/0", "--headless", "--resume", "--steps", "none", cwd=place
        )
    assert (calm.exit_code, calm.stdout) == (0, ""), calm
    assert last(calm).startswith("-> dry after "), calm
    assert "passes: the frontier is drained; 120 keys seen" in last(calm), calm
    assert len(calm.stderr.splitlines()) < 20, calm
    assert failed.exit_code == 6, failed
    assert f"({url})" in failed.stderr and "failed permanently  500" in failed.stderr, failed
    assert url in last(failed), failed
    assert last(failed).endswith("(not complete)"), failed
    assert (short.exit_code, on.exit_code) == (3, 0), on
    assert "items left" in last(short), short
    assert "120 keys seen" in last(on), on
    told = re.search(r"^pass \d+ +(\d+) done, (\d+) in the queue, (\d+) seen", on.stderr, re.MULTILINE)
    assert told is not None, on
    done, queued, seen = map(int, told.groups())
    assert done >= 5 and done + queued <= seen, "what was done before counts"


def test_migrate_brings_files_through_a_check_and_says_so(home: Home, place: Path):
    rules = [Rule(rf"The file: {name}", edit(name, "old", "new")) for name in FILES]
    with ScriptedServer(rules=rules) as server:
        argv = [
            "--recipe",
            "migrate",
            "--check",
            "grep -q new {file}",
            "--model",
            "fake",
            "--api-base",
            server.base_url,
        ]
        ran = home.run("find", *argv, "--headless", "--gate", "auto", "*.txt", cwd=place)
        again = home.run("find", *argv, "--headless", "--json", "--gate", "auto", "*.txt", cwd=place)
    assert ran.exit_code == 0, ran
    assert "scan  2 files checked, 2 fail" in ran.stderr
    assert "done  a.txt: the check passes" in ran.stderr
    assert last(ran).startswith("-> dry after 2 passes: a full scan found nothing left to do"), ran
    assert (place / "a.txt").read_text() == "new\n"
    assert (again.exit_code, again.outcome["steps"], again.outcome["reason"]) == (0, 0, "dry"), again


def test_research_ends_with_its_passes_and_the_findings_on_stdout(home: Home, place: Path):
    from fakes.models.model_by_role import NOTHING, judge, report

    found = report({"title": "a is old", "evidence": "a.txt:1"})
    rules = [
        Rule("Try to refute it", judge("stands")),
        Rule("seems to have run dry", NOTHING),
        Rule(r"Your way to look is `survey`.*Look now\.(?!.*Pass 2)", found),
        Rule("Your way to look is", NOTHING),
    ]
    (place / "r.toml").write_text(
        'task = "what is old"\ncritic = false\n[refute]\nsceptics = 1\n[[lens]]\nname = "survey"\nprompt = "look"\n'
    )
    with ScriptedServer(rules=rules) as server:
        argv = ["find", "r.toml", "--model", "fake", "--api-base", server.base_url, "--headless"]
        ran = home.run(*argv, cwd=place)
    assert ran.exit_code == 0, ran
    assert ran.stdout == "- a is old (a.txt:1)\n"
    assert last(ran).startswith("-> dry after 3 passes: 2 passes in a row"), ran
    assert "confirmed  a is old by 1 of 1" in ran.stderr, ran


def test_a_worker_that_prints_no_json_has_failed_and_its_item_is_named(home: Home, place: Path):
    file = spec(place, "print('no json at all')", retries=1)
    ran = home.run("find", "--trust", file, "--headless", "--json", cwd=place)
    assert ran.exit_code == 6, ran
    assert (ran.outcome["reason"], ran.outcome["complete"], ran.outcome["failed_items"]) == ("dry", False, ["start"])
    failed = ran.of("item_failed")
    assert [(e["attempts"], e["final"]) for e in failed] == [(1, False), (2, True)]
    assert "the answer is not JSON: no json at all" in failed[0]["error"]


def test_what_a_worker_finds_without_a_model_is_reported_as_unverified(home: Home, place: Path):
    body = 'print(json.dumps({"findings": [{"title": "odd"}]}))'
    ran = home.run("find", "--trust", spec(place, body), "--headless", cwd=place)
    assert ran.exit_code == 0 and "1 found and not judged" in last(ran) and "confirmed" not in last(ran), ran
    assert ran.stdout.split() == ["Not", "judged:", "-", "odd"], ran


def test_a_worker_that_finds_itself_under_other_spellings_ends(home: Home, place: Path):
    body = (
        "print(json.dumps({'items': [{'kind': 'file', 'value': v} for v in"
        " ('./a.txt', 'x/../a.txt', 'link', item['value'], item['key'])]}))"
    )
    (place / "link").symlink_to("a.txt")
    file = spec(place, body, kind="file", value="a.txt")
    ran = home.run("find", "--trust", file, "--headless", "--json", cwd=place)
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["steps"]) == (0, "dry", 1), ran
    assert ran.outcome["seen"] == 1
    assert {e["key"] for e in ran.of("item_duplicate")} == {str(place / "a.txt")}
    assert len(ran.of("item_duplicate")) == 5


def test_an_item_of_a_megabyte_is_an_item_like_others(home: Home, place: Path):
    body = (
        "big = 'x' * 1_000_000\n"
        "found = [('value', big), ('file', big), ('url', 'http://h/' + big)] if item['value'] == 'start' else []\n"
        "print(json.dumps({'items': [{'kind': k, 'value': v} for k, v in found], 'reason': str(len(item['value']))}))"
    )
    ran = home.run("find", "--trust", spec(place, body), "--headless", "--json", cwd=place)
    assert ran.exit_code == 0, f"{ran.exit_code} {ran.stderr[-2000:]}"
    assert ran.outcome["seen"] == 4
    reasons = [e["reason"] for e in ran.of("work_finished")]
    assert (reasons.count("1000000"), reasons.count("1000009")) == (2, 1)


class Writer(threading.Thread):
    """Writes into the newest journal of a home, and into an unused file; keeps the longest wait of each."""

    def __init__(self, home: Home, unused: Path) -> None:
        super().__init__(daemon=True)
        self._home, self._unused, self.stop = home, unused, threading.Event()
        self.worst, self.worst_alone, self.count = 0.0, 0.0, 0

    def run(self) -> None:
        while not self.stop.is_set() and not (self._home.journals() and _is_set_up(self._home.journals()[-1])):
            time.sleep(0.01)
        paths = self._home.journals()[-1], self._unused
        journal, alone = (sqlite3.connect(path, timeout=30, isolation_level=None) for path in paths)
        with closing(journal), closing(alone):
            while not self.stop.is_set():
                self.worst = max(self.worst, _seconds_to_write(journal))
                self.worst_alone = max(self.worst_alone, _seconds_to_write(alone))
                self.count += 1
                self.stop.wait(0.01)


def _is_set_up(journal: Path) -> bool:
    with closing(sqlite3.connect(journal, timeout=30)) as database:
        return database.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchone() is not None


def _seconds_to_write(database: sqlite3.Connection) -> float:
    began = time.perf_counter()
    database.execute("BEGIN IMMEDIATE")
    database.execute("COMMIT")
    return time.perf_counter() - began


def test_many_items_at_once_are_counted_and_keep_nobody_from_writing(home: Home, place: Path):
    """A tenth of a million: ten times as many take ten times as long, and no more memory at once."""
    many = 100_000
    body = (
        f"n = {many} if item['value'] == 'start' else 0\n"
        "print(json.dumps({'items': [{'kind': 'value', 'value': f'number {i}'} for i in range(n)]}))"
    )
    writer = Writer(home, place / "unused.db")
    writer.start()
    ran = home.run("find", "--trust", spec(place, body, steps=4), "--headless", cwd=place)
    writer.stop.set()
    writer.join()
    assert ran.exit_code == 3, ran
    assert f"{many - 3:,} items left" in last(ran), ran
    assert writer.count > 10
    assert writer.worst < 1.0 + writer.worst_alone  # a busy machine delays both writes
    journal = Journal.open(home.journals()[-1])
    counts = FrontierView(journal).counts()
    assert (counts.seen, counts.done, counts.queued) == (many + 1, 4, many - 3)
    assert len(FrontierView(journal).page(State.DONE)) == 4
    journal.close()
