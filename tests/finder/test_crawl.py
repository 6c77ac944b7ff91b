"""The crawler over a real site: what it asks for, what it reads, what it leaves alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack

import pytest
from fakes.clock import ManualClock
from fakes.web.corners import Reply, html, moved
from fakes.web.site import Site

from rundry.agent.finder.crawl import SKIPPED, Crawler, Scope, links_of
from rundry.agent.finder.crawl.pace import Pace
from rundry.agent.finder.workers import Worked, WorkItem
from rundry.agent.web.addresses import AddressRefused, address, joined, origin
from rundry.agent.web.markup import UnreadablePage


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(pages=30) as site:
        yield site


@pytest.fixture
async def make_crawler() -> AsyncIterator[Callable[..., Crawler]]:
    async with AsyncExitStack() as stack:

        def make(site: Site, **settings: object) -> Crawler:
            crawler = Crawler([site.url + "/page/0"], **settings)
            stack.push_async_callback(crawler.close)
            return crawler

        yield make


async def work(crawler: Crawler, url: str) -> Worked:
    return await crawler.work(WorkItem("url", url, url))


def found(worked: Worked, site: Site) -> list[str]:
    """Paths on the site."""
    return [item.value.removeprefix(site.url) for item in worked.items]


async def crawl(crawler: Crawler, start: str, *, most: int = 10_000) -> dict[str, Worked]:
    """Everything that is reached from there, by value; no key, no retry: those are the frontier's."""
    done: dict[str, Worked] = {}
    waiting = [start]
    while waiting and len(done) < most:
        batch, waiting = waiting[:8], waiting[8:]
        results = await asyncio.gather(*(work(crawler, url) for url in batch))
        done |= zip(batch, results, strict=True)
        surfaced = dict.fromkeys(item.value for one in results for item in one.items)
        waiting += [url for url in surfaced if url not in done and url not in waiting]
    return done


async def test_every_page_is_reached_and_fetched_once(site: Site, make_crawler: Callable[..., Crawler]) -> None:
    done = await crawl(make_crawler(site), site.url + "/page/0")
    assert {url.removeprefix(site.url) for url in done} == {f"/page/{number}" for number in range(30)}
    assert site.hits == {"/robots.txt": 1} | {f"/page/{number}": 1 for number in range(30)}
    assert done[site.url + "/page/0"].reason == "16 links"
    headers = site.asked[-1].headers
    assert headers["user-agent"].startswith("rundry/")
    assert headers["user-agent"].endswith(" (+crawl)")
    assert "cookie" not in headers


async def test_links_of_every_spelling_stay_on_the_host(site: Site, make_crawler: Callable[..., Crawler]) -> None:
    worked = await work(make_crawler(site), site.url + "/links")
    assert found(worked, site) == [
        "/query?b=2&a=1", "/query?a=1&b=2", "/plain", "/spaced", "/relative", "/links?page=2",
    ]  # fmt: skip
    assert worked.reason == "6 links, 5 on other hosts"


@pytest.mark.parametrize(
    ("path", "links"),
    [
        ("/base", ["/below/deeper"]),
        ("/frames", ["/left"]),
        ("/iframe", ["/inside", "/area"]),
        ("/rels", ["/two"]),
        ("/refresh", ["/next"]),
        ("/latin", ["/caf%C3%A9"]),
        ("/latin-meta", ["/caf%C3%A9"]),
        ("/odd-charset", ["/page/0"]),
        ("/untyped", ["/page/0"]),
        ("/calendar/41", ["/calendar/42"]),
        ("/file.bin", []),
        ("/empty", []),
        ("/plain", []),
    ],
)
async def test_where_a_page_leads(
    site: Site, make_crawler: Callable[..., Crawler], path: str, links: list[str]
) -> None:
    worked = await work(make_crawler(site), site.url + path)
    assert worked.error == ""
    assert found(worked, site) == links


async def test_what_is_no_page_is_not_searched_for_links(site: Site, make_crawler: Callable[..., Crawler]) -> None:
    worked = await work(make_crawler(site), site.url + "/file.bin")
    assert worked == Worked(reason="application/octet-stream: not a page")


@pytest.mark.parametrize(
    ("path", "links", "reason"),
    [
        ("/moved/3", ["/page/3"], "redirects to"),
        ("/loop/a", ["/loop/b"], "redirects to"),
        ("/loop/self", [], "itself or nowhere"),
        ("/away", [], "off the host, not followed: http://elsewhere.invalid/"),
    ],
)
async def test_a_redirect_is_an_item_and_never_followed(
    site: Site, make_crawler: Callable[..., Crawler], path: str, links: list[str], reason: str
) -> None:
    worked = await work(make_crawler(site, robots=False), site.url + path)
    assert found(worked, site) == links
    assert reason in worked.reason
    assert worked.error == ""
    assert list(site.hits) == [path]


async def test_a_loop_of_redirects_ends_where_it_is_known(site: Site, make_crawler: Callable[..., Crawler]) -> None:
    await crawl(make_crawler(site), site.url + "/loop/a")
    assert site.hits == {"/robots.txt": 1, "/loop/a": 1, "/loop/b": 1}


@pytest.mark.parametrize(
    ("path", "error", "hopeless"),
    [
        ("/missing", "404 Not Found", True),
        ("/gone", "410 ", True),
        ("/forbidden", "403 ", True),
        ("/broken", "500 Internal Server Error", False),
        ("/busy/1", "429 ", False),
        ("/cut", "the connection failed: ", False),
        ("/drop", "the connection failed: ", False),
    ],
)
async def test_a_failure_is_an_error_and_says_whether_another_attempt_can_help(
    site: Site, make_crawler: Callable[..., Crawler], path: str, error: str, hopeless: bool
) -> None:
    worked = await work(make_crawler(site), site.url + path)
    assert worked.error.startswith(error)
    assert "\n" not in worked.error
    assert worked.hopeless is hopeless
    assert worked.items == []


async def test_what_heals_is_read_at_the_next_attempt(site: Site, make_crawler: Callable[..., Crawler]) -> None:
    crawler = make_crawler(site)
    for path in ("/flaky/1", "/busy/1"):
        assert (await work(crawler, site.url + path)).error
        assert found(await work(crawler, site.url + path), site) == ["/page/0"]


async def test_the_time_that_a_server_asks_for_is_passed_on(site: Site, make_crawler: Callable[..., Crawler]) -> None:
    crawler = make_crawler(site)
    assert (await work(crawler, site.url + "/busy/1")).retry_after == 1.0
    assert 80 < ((await work(crawler, site.url + "/busy-until/90")).retry_after or 0) <= 90
    site.routes["/odd"] = Reply(status=503, headers={"Retry-After": "soon"})
    assert (await work(crawler, site.url + "/odd")).retry_after is None


async def test_a_server_that_is_not_there_is_worth_another_attempt(make_crawler: Callable[..., Crawler]) -> None:
    with Site() as site:
        crawler = make_crawler(site, robots=False)
    worked = await work(crawler, site.url + "/page/0")
    assert worked.error.startswith("the connection failed: ")
    assert not worked.hopeless


async def test_a_page_that_takes_too_long_times_out(site: Site, make_crawler: Callable[..., Crawler]) -> None:
    worked = await work(make_crawler(site, seconds=0.3), site.url + "/slow/30")
    assert worked.error == "timed out after 0.3 s"
    assert not worked.hopeless


async def test_cancelling_closes_the_connection_at_once(site: Site, make_crawler: Callable[..., Crawler]) -> None:
    task = asyncio.create_task(work(make_crawler(site), site.url + "/slow/30"))
    await asyncio.to_thread(site.wait_for, lambda: site.hits["/slow/30"] == 1)
    before = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(site.wait_for, lambda: site.left == ["/slow/30"])
    assert time.monotonic() - before < 1.0


@pytest.mark.parametrize("path", ["/huge/11", "/bomb"])
async def test_of_an_oversized_page_the_first_part_is_read_and_that_is_said(
    site: Site, make_crawler: Callable[..., Crawler], path: str
) -> None:
    worked = await work(make_crawler(site), site.url + path)
    assert found(worked, site) == ["/first"]
    assert worked.reason == "1 link, only the first 10 MB were read"


async def test_a_page_that_would_take_hours_to_parse_is_refused(
    site: Site, make_crawler: Callable[..., Crawler]
) -> None:
    site.routes["/deep"] = Reply(b"<div>" * 1_000_000)
    site.routes["/attributes"] = Reply(b"<a " + b" ".join(b"a%d" % i for i in range(200_000)) + b">")
    for path in ("/deep", "/attributes"):
        worked = await work(make_crawler(site), site.url + path)
        assert "not parsed" in worked.error
        assert worked.hopeless


async def test_what_robots_forbids_is_neither_fetched_nor_a_failure(make_crawler: Callable[..., Crawler]) -> None:
    rules = "User-agent: *\nDisallow: /\n\nUser-agent: rundry\nDisallow: /page/2\nAllow: /page/20\n"
    with Site(pages=30, robots=rules) as site:
        crawler = make_crawler(site)
        done = await crawl(crawler, site.url + "/page/0")
    skipped = {url.removeprefix(site.url) for url, one in done.items() if one == Worked(reason=SKIPPED)}
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


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://127.0.0.1.evil.example/", "not on the crawl's host"),
        ("http://127.0.0.1@evil.example/", "user name"),
        ("http://evil\x00.example/", "control character"),
        ("http://evil\n.example/", "control character"),
        ("http://evil%00.example/", "not a valid URL"),
        ("ftp://127.0.0.1/", "is not an http or https URL"),
        ("/page/0", "not a valid URL"),
        ("", "not a valid URL"),
        ("http://127.0.0.1/" + "x" * 10_000, "characters, which is too long for a URL"),
    ],
)
async def test_a_url_that_is_not_the_crawls_is_never_asked_for(
    site: Site, make_crawler: Callable[..., Crawler], url: str, error: str
) -> None:
    worked = await work(make_crawler(site), url)
    assert error in worked.error
    assert worked.hopeless
    assert not site.asked


async def test_a_site_without_an_end_goes_on_until_someone_ends_it(
    site: Site, make_crawler: Callable[..., Crawler]
) -> None:
    done = await crawl(make_crawler(site), site.url + "/calendar/0", most=25)
    assert len(done) == 25
    assert not any(one.error for one in done.values())


def test_hosts_are_compared_whole() -> None:
    scope = Scope(["http://docs.python.org/3/"])
    assert scope.origins == {"http://docs.python.org", "https://docs.python.org"}
    inside = ["http://docs.python.org/", "https://docs.python.org/x"]
    outside = [
        "http://docs.python.org.evil.com/", "http://docs.python.org:81/", "http://evil.com/docs.python.org/",
        "http://docs.python.org@evil.com/", "http://user@docs.python.org/", "https://xdocs.python.org/",
    ]  # fmt: skip
    sorted_ = scope.sort([*inside, *outside])
    assert (sorted_.inside, sorted_.elsewhere) == (inside, len(outside))


def test_the_default_port_and_capitals_are_the_same_host() -> None:
    scope = Scope(["HTTP://Docs.Python.ORG:80"])
    assert scope.require("http://docs.python.org/a#b") == "http://docs.python.org/a"
    assert Scope(["https://a.example"]).origins == {"https://a.example"}
    assert Scope(["http://a.example:8080"]).origins == {"http://a.example:8080"}


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("/a/./b/../c?x=%41&y#z", "http://h.example/a/c?x=%41&y"),
        ("b", "http://h.example/dir/b"),
        ("?q", "http://h.example/dir/page?q"),
        ("//other.example/x", "http://other.example/x"),
        ("/\\other.example", "http://other.example/"),
        ("/%2e%2e/x", "http://h.example/x"),
        ("/.well-known/x", "http://h.example/.well-known/x"),
        (" /a\nb ", "http://h.example/ab"),
        ("ht\ntp://h.example/", None),
        ("\\\\h.exa\tmple/", None),
        ("http://a b.example/", None),
        ("/é?ü", "http://h.example/%C3%A9?%C3%BC"),
        ("x" * 10_000, None),
    ],
)
def test_a_reference_is_joined_as_the_standard_says(reference: str, target: str | None) -> None:
    assert joined("http://h.example/dir/page", reference) == target


def test_a_base_that_is_no_web_address_does_not_count() -> None:
    page = html("/x", "y", head='<base href="data:text/html,hello">')
    assert links_of(page, "http://h.example/dir/") == ["http://h.example/x", "http://h.example/dir/y"]


def test_a_page_that_only_looks_large_is_parsed() -> None:
    row = b'<tr><td class="a"><a href="/x%d">x<br>y</a><li>z<img src="data:image/png;base64,' + b"A/B+" * 50 + b'">'
    page = b"<div><table>" + b"".join(row % number for number in range(2_000))
    assert len(links_of(page, "http://h.example/")) == 2_000
    with pytest.raises(UnreadablePage):
        links_of(b"<x></y>" * 100_000, "http://h.example/")


def test_an_origin_with_a_user_is_nobodys() -> None:
    assert origin("http://me@h.example/") == "http://me@h.example"
    with pytest.raises(AddressRefused):
        address("http://me@h.example/")
