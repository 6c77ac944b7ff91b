"""The crawler over a real site: what it asks for, what it reads, what it leaves alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
from fakes.web.odd_pages import Reply, html
from fakes.web.site import Site
from search.finder.crawling import crawl, work

from rundry.agent.search.crawl.crawl_scope import CrawlScope
from rundry.agent.search.crawl.crawler import Crawler
from rundry.agent.search.crawl.links import read_page
from rundry.agent.search.workers.worker import ItemResult
from rundry.agent.tools.web.page_markup import UnreadablePage
from rundry.agent.tools.web.urls import UrlRefused, join_url, normalized_url, origin


def found(worked: ItemResult, site: Site) -> list[str]:
    """Paths on the site."""
    return [item.value.removeprefix(site.url) for item in worked.items]


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
        ("/plain", []),
    ],
)
async def test_the_links_of_a_page_are_found_in_each_form_of_markup(
    site: Site, make_crawler: Callable[..., Crawler], path: str, links: list[str]
) -> None:
    worked = await work(make_crawler(site), site.url + path)
    assert worked.error == ""
    assert found(worked, site) == links


async def test_what_is_not_a_page_is_not_searched_for_links(site: Site, make_crawler: Callable[..., Crawler]) -> None:
    worked = await work(make_crawler(site), site.url + "/file.bin")
    assert worked == ItemResult(reason="application/octet-stream: not a page", unread="no_page")


@pytest.mark.parametrize(
    ("path", "links", "reason"),
    [
        ("/moved/3", ["/page/3"], "redirects to"),
        ("/loop/a", ["/loop/b"], "redirects to"),
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
    await crawl(make_crawler(site), site.url + "/loop/a")  # the frontier finds the loop
    assert site.hits == {"/robots.txt": 1, "/loop/a": 1, "/loop/b": 1}


@pytest.mark.parametrize(
    ("path", "error", "hopeless"),
    [
        ("/missing", "404 Not Found", True),
        ("/gone", "410 ", True),
        ("/empty", "204 ", True),
        ("/loop/self", "302: redirects to itself or without a target", True),
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


async def test_cancelling_closes_the_connection_immediately(site: Site, make_crawler: Callable[..., Crawler]) -> None:
    task = asyncio.create_task(work(make_crawler(site), site.url + "/slow/30"))
    await asyncio.to_thread(site.wait_for, lambda: site.hits["/slow/30"] == 1)
    before = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(site.wait_for, lambda: site.left == ["/slow/30"])
    assert time.monotonic() - before < 1.0


@pytest.mark.parametrize("path", ["/huge/11", "/bomb"])
async def test_of_an_oversized_page_the_first_part_is_read_and_it_failed(
    site: Site, make_crawler: Callable[..., Crawler], path: str
) -> None:
    worked = await work(make_crawler(site), site.url + path)
    assert found(worked, site) == ["/first"]
    assert worked.error == "only the first 10 MB of the page could be read"
    assert worked.hopeless


async def test_a_page_that_would_take_hours_to_parse_is_refused(
    site: Site, make_crawler: Callable[..., Crawler]
) -> None:
    site.routes["/deep"] = Reply(b"<div>" * 1_000_000)
    site.routes["/attributes"] = Reply(b"<a " + b" ".join(b"a%d" % i for i in range(200_000)) + b">")
    for path in ("/deep", "/attributes"):
        worked = await work(make_crawler(site), site.url + path)
        assert "not parsed" in worked.error
        assert worked.hopeless


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


async def test_a_site_without_an_end_continues_until_someone_ends_it(
    site: Site, make_crawler: Callable[..., Crawler]
) -> None:
    done = await crawl(make_crawler(site), site.url + "/calendar/0", most=25)
    assert len(done) == 25
    assert not any(one.error for one in done.values())


def test_hosts_are_compared_whole() -> None:
    scope = CrawlScope(["http://docs.python.org/3/"])
    assert scope.origins == {"http://docs.python.org", "https://docs.python.org"}
    inside = ["http://docs.python.org/", "https://docs.python.org/x"]
    outside = [
        "http://docs.python.org.evil.com/", "http://docs.python.org:81/", "http://evil.com/docs.python.org/",
        "http://docs.python.org@evil.com/", "http://user@docs.python.org/", "https://xdocs.python.org/",
    ]  # fmt: skip
    sorted_ = scope.sort([*inside, *outside])
    assert (sorted_.inside, sorted_.elsewhere) == (inside, len(outside))


def test_the_default_port_and_capitals_are_the_same_host() -> None:
    scope = CrawlScope(["HTTP://Docs.Python.ORG:80"])
    assert scope.require("http://docs.python.org/a#b") == "http://docs.python.org/a"
    assert CrawlScope(["https://a.example"]).origins == {"https://a.example"}
    assert CrawlScope(["http://a.example:8080"]).origins == {"http://a.example:8080"}


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
    assert join_url("http://h.example/dir/page", reference) == target


def test_a_base_that_is_not_a_web_address_does_not_count() -> None:
    page = html("/x", "y", head='<base href="data:text/html,hello">')
    assert read_page(page, "http://h.example/dir/").links == ["http://h.example/x", "http://h.example/dir/y"]


def test_a_page_that_only_looks_large_is_parsed() -> None:
    row = b'<tr><td class="a"><a href="/x%d">x<br>y</a><li>z<img src="data:image/png;base64,' + b"A/B+" * 50 + b'">'
    page = b"<div><table>" + b"".join(row % number for number in range(2_000))
    assert len(read_page(page, "http://h.example/").links) == 2_000
    with pytest.raises(UnreadablePage):
        read_page(b"<x></y>" * 100_000, "http://h.example/")


def test_an_origin_with_a_user_is_nobodys() -> None:
    assert origin("http://me@h.example/") == "http://me@h.example"
    with pytest.raises(UrlRefused):
        normalized_url("http://me@h.example/")
