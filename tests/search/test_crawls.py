"""A crawl from its first page to its end, over a real local site."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fakes.in_process.headless_run import Played, resume_run, spec_of
from fakes.killing.killed import run_until
from fakes.web.site import Site
from sampling import sampled

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Budget, FinderSpec, LoopKind, ModelSpec, Recipe, RunSpec, Seed, WorkerSpec
from rundry.agent.search.items.frontier_view import FrontierView
from rundry.agent.search.items.item_state import State
from rundry.agent.state.facts.run_facts import fold

ODD = [
    "/page/0",
    "/flaky/1",
    "/broken",
    "/missing",
    "/moved/7",
    "/loop/a",
    "/loop/self",
    "/links",
    "/busy/1",
]


def crawl(site: Site, place: Path, *paths: str, budget: Budget | None = None, **more: object) -> RunSpec:
    seeds = [Seed(kind="url", value=site.url + path) for path in paths or ("/page/0",)]
    finder = FinderSpec(**{"recipe": Recipe.CRAWL, "seeds": seeds, "sceptics": 0, **more})
    return spec_of(
        None,
        place,
        task="crawl",
        loop=LoopKind.UNTIL_DRY,
        model=ModelSpec(name="none"),
        budget=budget or Budget(steps=10_000),
        finder=finder,
    )


async def played(folder: Path, spec: RunSpec) -> Played:
    journal = folder / "run.db"
    Journal.create(journal, spec).close()
    return await resume_run(journal)


async def test_a_crawl_follows_every_link_once_and_ends_dry(tmp_path):
    with Site(pages=60) as site:
        run = await played(tmp_path, crawl(site, tmp_path))
        pages = {path: count for path, count in site.hits.items() if path.startswith("/page/")}
    assert (run.result.reason, run.result.complete) == ("dry", True), run.story()
    assert pages == {f"/page/{n}": 1 for n in range(60)}
    assert run.result.seen == 60
    assert run.result.steps == 60
    assert {e["source"] for e in run.of("item_duplicate")} <= {f"{site.url}/page/{n}" for n in range(60)}


async def test_a_pass_is_a_batch_of_at_most_as_many_items_as_there_are_workers(tmp_path):
    with Site(pages=60) as site:
        run = await played(tmp_path, crawl(site, tmp_path, concurrency=7))
    opened, passes = 0, list[tuple[int, int]]()
    done = new = 0
    for event in run.of("pass_started", "pass_finished", "work_finished", "item_queued"):
        match event["type"]:
            case "pass_started":
                opened, done, new = event["number"], 0, 0
            case "pass_finished":
                assert (event["number"], event["new"]) == (opened, new)
                passes.append((event["number"], done))
            case "work_finished":
                done += 1
            case _:
                new += event["reason"] == "new"
    assert [number for number, _ in passes] == list(range(1, len(passes) + 1))
    assert max(count for _, count in passes) == 7
    assert sum(count for _, count in passes) == 60, "every item is in a pass"
    assert [e["number"] for e in run.of("step_started")] == list(range(1, 61))


async def test_works_that_begin_together_do_not_pass_the_limit_of_steps_together(tmp_path):
    with Site(pages=60) as site:
        run = await played(tmp_path, crawl(site, tmp_path, concurrency=8, budget=Budget(steps=13)))
        asked = sum(site.hits.values()) - site.hits["/robots.txt"]
    assert (run.result.reason, run.result.steps) == ("budget", 13), run.story()
    assert asked == 13


async def test_a_page_that_fails_is_tried_again_then_fails_permanently_and_is_named(tmp_path):
    with Site(pages=3) as site:
        run = await played(tmp_path, crawl(site, tmp_path, "/page/0", "/flaky/1", "/broken", retries=2))
        url, hits = site.url, dict(site.hits)
    assert (run.result.reason, run.result.complete, run.exit_code) == ("dry", False, 6), run.story()
    assert run.result.failed_items == [f"{url}/broken"]
    assert (hits["/flaky/1"], hits["/broken"]) == (2, 3)
    failed = [(e["attempts"], e["final"]) for e in run.of("item_failed") if e["key"].endswith("/broken")]
    assert failed == [(1, False), (2, False), (3, True)]
    assert [e["reason"] for e in run.of("item_queued") if e["key"].endswith("/flaky/1")] == ["seed", "retry"]


async def test_a_site_that_never_ends_is_ended_by_the_budget_and_never_called_dry(tmp_path):
    with Site() as site:
        run = await played(tmp_path, crawl(site, tmp_path, "/calendar/1", budget=Budget(steps=25)))
    assert (run.result.reason, run.result.complete, run.exit_code) == ("budget", False, 3), run.story()
    assert run.result.steps == 25
    assert "25 of 25" in run.result.detail


def sets(journal: Path) -> dict[str, set[str]]:
    """What the run ended with."""
    handle = Journal.open(journal)
    view = FrontierView(handle)
    found = {state.value: {row.key for row in view.page(state, limit=10_000)} for state in State}
    facts = fold(handle.spec, handle.read())
    found["findings"] = set(facts.finder.findings) if facts.finder else set()
    queued = [s.event.key for s in handle.read() if type(s.event).__name__ == "ItemQueued" and s.event.reason == "new"]
    assert len(queued) == len(set(queued)), "a key was new twice"
    handle.close()
    return found


@pytest.mark.parametrize("seed", sampled(range(3), 0))
def test_a_crawl_that_is_killed_again_and_again_ends_with_the_same_sets(tmp_path, seed):
    luck = random.Random(seed)
    with Site(pages=80) as site:
        whole, killed = tmp_path / "whole.db", tmp_path / "killed.db"
        for journal in (whole, killed):
            Journal.create(journal, crawl(site, tmp_path, *ODD, retries=1)).close()
        assert run_until(whole, 0) == "dry"
        site.hits.clear()
        for _ in range(4):
            if run_until(killed, luck.randrange(5, 300)) != "killed":
                break
        assert run_until(killed, 0) == "dry"
    assert sets(killed) == sets(whole)


async def test_a_site_that_asks_to_be_left_alone_for_a_day_is_not_waited_for_and_asked_again_on_resume(tmp_path):
    with Site(pages=3) as site:
        run = await played(tmp_path, crawl(site, tmp_path, "/page/0", "/busy-until/86400"))
        assert (run.result.reason, run.result.complete) == ("dry", False), run.story()
        (failed,) = run.of("item_failed")
        assert failed["final"] and "asks to wait" in failed["error"]
        hits = site.hits["/busy-until/86400"]
        again = await resume_run(run.path)
        assert site.hits["/busy-until/86400"] == hits + 1
    assert [e["reason"] for e in again.of("item_queued")] == ["retry"], again.story()


async def test_what_a_worker_found_before_it_failed_is_kept(tmp_path):
    """A key is seen the moment it surfaces."""
    (tmp_path / "worker.py").write_text(
        "import json, sys\n"
        "item = json.load(sys.stdin)\n"
        "found = [{'kind': 'value', 'value': 'b'}] if item['value'] == 'a' else []\n"
        "print(json.dumps({'items': found, 'error': 'cut off' if found else ''}))\n"
    )
    finder = FinderSpec(
        seeds=[Seed(kind="value", value="a")],
        worker=WorkerSpec(command=["python3", "worker.py"]),
        sceptics=0,
        retries=0,
    )
    spec = spec_of(
        None, tmp_path, task="t", loop=LoopKind.UNTIL_DRY, model=ModelSpec(name="none"), budget=Budget(), finder=finder
    )
    runs = tmp_path / "runs"
    runs.mkdir(mode=0o700)
    run = await played(runs, spec)
    assert (run.result.reason, run.result.complete, run.result.seen) == ("dry", False, 2), run.story()
    assert run.result.failed_items == ["a"]
    assert [e["about"] for e in run.of("work_finished") if e["ok"]] == ["b"]


async def test_a_crawl_that_robots_txt_kept_from_pages_says_of_how_many(tmp_path):
    with Site(pages=30, robots="User-agent: *\nDisallow: /page/1\n") as site:
        run = await played(tmp_path, crawl(site, tmp_path))
    assert "drained, except for 11 pages that robots.txt forbids" in run.result.detail, run.story()
    assert (run.result.reason, run.result.complete, run.result.steps) == ("dry", False, 30)
