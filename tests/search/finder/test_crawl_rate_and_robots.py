"""How often a crawl asks a server, and what robots.txt allows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
from fakes.clock import ManualClock
from fakes.web.odd_pages import Reply, moved
from fakes.web.site import Site
from search.finder.crawling import crawl, work

from rundry.agent.search.crawl.crawler import SKIPPED, Crawler
from rundry.agent.search.crawl.pace import Pace
from rundry.agent.search.workers.worker import ItemResult


async def test_what_robots_forbids_is_neither_fetched_nor_a_failure(make_crawler: Callable[..., Crawler]) -> None:
    rules = "User-agent: *\nDisallow: /\n\nUser-agent: rundry\nDisallow: /page/2\nAllow: /page/20\n"
    with Site(pages=30, robots=rules) as site:
        crawler = make_crawler(site)
        done = await crawl(crawler, site.url + "/page/0")
    skipped = {
        url.removeprefix(site.url) for url, one in done.items() if one == ItemResult(reason=SKIPPED, unread="robots")
    }
    assert skipped == {"/page/2", *(f"/page/{number}" for number in range(21, 30))} & {
        url.removeprefix(site.url) for url in done
    }
    assert skipped
    assert crawler.skipped == len(skipped)
    assert not skipped & set(site.hits)
    assert site.hits["/robots.txt"] == 1


async def test_robots_can_be_left_unasked(make_crawler: Callable[..., Crawler]) -> None:
    with Site(pages=3, robots="User-agent: *\nDisallow: /") as site:
        await crawl(make_crawler(site, robots=False), site.url + "/page/0")
        assert site.hits == {f"/page/{number}": 1 for number in range(3)}


@pytest.mark.parametrize("status", [401, 403, 404, 410])
async def test_without_a_robots_file_all_is_allowed(make_crawler: Callable[..., Crawler], status: int) -> None:
    with Site(pages=3, robots=Reply(b"User-agent: *\nDisallow: /", status=status)) as site:
        assert not (await work(make_crawler(site), site.url + "/page/0")).error


async def test_where_robots_cannot_be_read_nothing_is_fetched_before_it_can(
    make_crawler: Callable[..., Crawler],
) -> None:
    away = Reply(b"", status=503, headers={"Retry-After": "7"})
    with Site(pages=3, robots=lambda count: away if count == 1 else Reply(b"User-agent: *\nDisallow: /page/1")) as site:
        crawler = make_crawler(site)
        worked = await asyncio.gather(*(work(crawler, f"{site.url}/page/{number}") for number in range(3)))
        assert all("robots.txt answers 503" in one.error and one.retry_after == 7 for one in worked)
        assert not any(one.hopeless for one in worked)
        assert site.hits == {"/robots.txt": 1}
        assert not (await work(crawler, site.url + "/page/0")).error
        assert (await work(crawler, site.url + "/page/1")).reason == SKIPPED


async def test_a_moved_robots_file_is_followed_on_the_crawls_hosts_only(make_crawler: Callable[..., Crawler]) -> None:
    rules = Reply(b"User-agent: *\nDisallow: /page/1")
    with Site(pages=3, robots=moved("/the-robots"), routes={"/the-robots": rules}) as site:
        assert (await work(make_crawler(site), site.url + "/page/1")).reason == SKIPPED
    with Site(robots="User-agent: *\nDisallow: /") as other:
        with Site(pages=3, robots=moved(other.url + "/robots.txt")) as site:
            assert not (await work(make_crawler(site), site.url + "/page/1")).error
        assert not other.asked


async def test_the_robots_file_is_asked_for_again_after_a_day(make_crawler: Callable[..., Crawler]) -> None:
    clock = ManualClock()
    with Site(pages=3, robots="User-agent: *\nDisallow: /private") as site:
        crawler = make_crawler(site, clock=clock)
        for hours, asked in ((0, 1), (23, 1), (2, 2)):
            await clock.advance(hours * 3600)
            await work(crawler, site.url + "/page/0")
            assert site.hits["/robots.txt"] == asked


async def test_the_rate_holds_over_all_workers_and_robots(site: Site, make_crawler: Callable[..., Crawler]) -> None:
    crawler = make_crawler(site, rate=20)
    before = time.monotonic()
    await asyncio.gather(*(work(crawler, f"{site.url}/page/{number}") for number in range(6)))
    assert time.monotonic() - before >= 6 / 20
    times = [asked.at for asked in site.asked]
    assert len(times) == 7
    assert times[-1] - times[0] >= 0.9 * 6 / 20


async def test_turns_come_at_an_even_pace_in_the_order_of_asking() -> None:
    clock = ManualClock()
    pace = Pace(0.5, clock)
    came: list[tuple[int, float]] = []

    async def wait(number: int) -> None:
        await pace.turn()
        came.append((number, clock.monotonic() - 1000))

    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(wait(number))
        await clock.advance(10)
    assert came == [(0, 0.0), (1, 0.5), (2, 1.0), (3, 1.5)]
    await pace.turn()
    assert clock.sleeping == 0


async def test_a_crawl_delay_is_kept(make_crawler: Callable[..., Crawler]) -> None:
    clock = ManualClock()
    with Site(pages=3, robots="User-agent: *\nCrawl-delay: 30") as site:
        crawler = make_crawler(site, clock=clock)
        await work(crawler, site.url + "/page/0")
        second = asyncio.create_task(work(crawler, site.url + "/page/1"))
        await clock.until_sleeping()
        assert site.hits["/page/1"] == 0
        assert clock.slept == [30]
        clock.tick(30)
        assert not (await second).error
        assert site.hits["/page/1"] == 1


async def test_globs_choose_what_is_followed_and_seeds_are_asked_for_anyway(
    site: Site, make_crawler: Callable[..., Crawler]
) -> None:
    crawler = make_crawler(site, include=["/page/1*", "*/page/2"], exclude=["*9"])
    done = await crawl(crawler, site.url + "/page/0")
    numbers = {int(url.rpartition("/")[2]) for url in done}
    assert numbers == {0, 1, 2, *range(10, 19)}
    assert "excluded" in done[site.url + "/page/0"].reason
