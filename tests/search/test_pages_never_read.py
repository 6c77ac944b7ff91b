"""An answer that gave nothing to read is a failure of a crawl with its name, or counted apart, never a page read."""

from __future__ import annotations

import gzip
import zlib

import pytest
from fakes.in_process.headless_run import Played, resume_run
from fakes.web.crawling import crawled
from fakes.web.odd_pages import Reply, html, moved
from fakes.web.site import Site


def failed(run: Played, site: Site) -> dict[str, str]:
    """Path of each item that failed permanently, to the error."""
    return {e["key"].removeprefix(site.url): e["error"] for e in run.of("item_failed") if e["final"]}


def refresh(to: str, text: str = "Please wait.", seconds: int = 0) -> Reply:
    head = f'<meta http-equiv="refresh" content="{seconds};url={to}">'
    return Reply(f"<!doctype html><html><head>{head}</head><body><p>{text}</p></body></html>".encode())


SHELL = Reply(b"<!doctype html><html><body><div id=root></div><script>start()</script></body></html>")
NO_CONTENT = {
    "304": (Reply(status=304), "304 "),
    "300": (Reply(b"<p>choose", status=300), "300 "),
    "204": (Reply(status=204, kind=None), "204 "),
    "205": (Reply(status=205), "205 "),
    "empty page": (Reply(), "the answer is empty"),
    "empty file": (Reply(kind="application/pdf"), "the answer is empty"),
    "page made by scripts": (SHELL, "no text and no links"),
    "itself": (moved("/x"), "redirects to itself"),
    "itself with a fragment": (moved("/x#top"), "redirects to itself"),
    "no target": (Reply(status=302), "without a target"),
    "a program": (moved("mailto:a@b.example"), "without a target"),
    "refresh of itself": (refresh("/x"), "a refresh of itself"),
    "refresh without an address": (Reply(b"<meta http-equiv=refresh content=3>"), "refresh of itself"),
    "login elsewhere": (moved("http://login.elsewhere.invalid/?x=1"), "redirects to a login"),
    "login here": (moved("/login"), "redirects to a login"),
    "the page to return to": (moved("/first?then=%2Fx"), "redirects to a login or a notice"),
    "refresh to a login": (refresh("/account/sign-in"), "redirects to a login"),
    "more than is read": (Reply(html("/ok") + b" " * 11_000_000), "only the first 10 MB"),
    "a part": (Reply(html("/ok"), status=206), "a part (206)"),
    "fewer bytes than promised": (Reply(html("/ok"), cut=True), "the connection failed"),
    "half of a gzip": (
        Reply(gzip.compress(html(*map(str, range(500))))[:300], headers={"Content-Encoding": "gzip"}),
        "ends too early",
    ),
    "half of a deflate": (
        Reply(zlib.compress(html(*map(str, range(500))))[:200], headers={"Content-Encoding": "deflate"}),
        "ends too early",
    ),
    "no gzip": (Reply(html("/ok"), headers={"Content-Encoding": "gzip"}), "not gzip data"),
    "coding nobody knows": (Reply(html("/ok"), headers={"Content-Encoding": "aws-chunked"}), "`aws-chunked` is not"),
    "two codings": (Reply(html("/ok"), headers={"Content-Encoding": "gzip, br"}), "`gzip, br` is not known"),
    "charset nobody knows": (Reply(b"<p>\xe4\xf6", kind="text/html; charset=klingon-8"), "`klingon-8` is not known"),
    "binary": (Reply(b"\x00\x01\x02<html>"), "binary data"),
}


@pytest.mark.parametrize("kind", NO_CONTENT)
async def test_an_answer_without_content_fails_with_its_name_and_the_crawl_is_not_complete(tmp_path, kind):
    reply, error = NO_CONTENT[kind]
    fine = Reply(html())
    routes = {"/start": Reply(html("/x", "/ok")), "/ok": fine, "/x": reply}
    routes |= dict.fromkeys(("/login", "/first?then=%2Fx", "/account/sign-in"), fine)
    with Site(routes=routes) as site:
        run = await crawled(tmp_path, site)
    assert list(failed(run, site)) == ["/x"], run.story()
    assert error in failed(run, site)["/x"]
    assert (run.result.reason, run.result.complete, run.exit_code) == ("dry", False, 6)
    assert run.result.failed_items == [f"{site.url}/x"]


FINE = {
    "gzip": Reply(gzip.compress(html("/ok")), headers={"Content-Encoding": "gzip"}),
    "two members of gzip": Reply(
        gzip.compress(html("/ok")[:50]) + gzip.compress(html("/ok")[50:]), headers={"Content-Encoding": "x-gzip"}
    ),
    "deflate": Reply(zlib.compress(html("/ok")), headers={"Content-Encoding": "deflate"}),
    "deflate without a header": Reply(zlib.compress(html("/ok"))[2:-4], headers={"Content-Encoding": "deflate"}),
    "identity": Reply(html("/ok"), headers={"Content-Encoding": "identity"}),
    "charset nobody knows, but UTF-8": Reply(html("/ok"), kind="text/html; charset=klingon-8"),
    "a picture": Reply(b"<body><img src=a.png></body>"),
    "a dashboard that reloads": refresh("/x", "All systems work. " * 30, 5),
    "a slide show": refresh("/start", "One slide. " * 50, 5),
    "a slow refresh": refresh("/x", "3 jobs", 60),
    "a page for readers without scripts": Reply(
        b'<noscript><meta http-equiv="refresh" content="0;url=/ok"></noscript><a href="/ok">1</a><a href="/start">2</a>'
    ),
    "not a page": Reply(b"%PDF-1.7", kind="application/pdf"),
    "elsewhere": moved("http://elsewhere.invalid/project"),
    "a folder": moved("/ok"),
}


@pytest.mark.parametrize("kind", FINE)
async def test_an_answer_with_content_does_not_fail(tmp_path, kind):
    routes = {"/start": Reply(html("/x", "/ok")), "/ok": Reply(html()), "/x": FINE[kind]}
    with Site(routes=routes) as site:
        run = await crawled(tmp_path, site)
    assert (run.result.reason, run.result.complete, failed(run, site)) == ("dry", True, {}), run.story()


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("by_page", [False, True])
@pytest.mark.parametrize("length", [2, 3, 7])
async def test_a_loop_of_redirects_fails_as_a_whole_and_each_link_into_it_is_dead(
    tmp_path, length, by_page, concurrency
):
    to = refresh if by_page else moved
    routes = {f"/loop/{n}": to(f"/loop/{(n + 1) % length}") for n in range(length)}
    routes["/start"] = Reply(html("/loop/0", "/loop/1", "/ok"))
    routes["/ok"] = Reply(html())
    with Site(routes=routes) as site:
        run = await crawled(tmp_path, site, concurrency=concurrency)
    assert set(failed(run, site)) == {f"/loop/{n}" for n in range(length)}, run.story()
    assert all("a loop of redirects" in error for error in failed(run, site).values())
    assert {e["key"] for e in run.of("finding_reported")} == {f"dead-link:{site.url}/loop/{n}" for n in range(length)}
    assert (run.result.reason, run.result.complete, len(run.result.failed_items)) == ("dry", False, length)


async def test_a_loop_of_redirects_that_was_fixed_is_read_after_a_resume(tmp_path):
    mended = Reply(html())
    routes = {
        "/start": Reply(html("/a")),
        "/a": moved("/b"),
        "/b": lambda count: moved("/a") if count == 1 else mended,
    }
    with Site(routes=routes) as site:
        assert not (await crawled(tmp_path, site)).result.complete
        run = await resume_run(tmp_path / "run.db")
    assert (run.result.complete, run.result.findings.confirmed) == (True, 0), run.story()


async def test_a_loop_of_redirects_that_stays_is_still_dead_after_a_resume(tmp_path):
    routes = {"/start": Reply(html("/a")), "/a": moved("/b"), "/b": moved("/a")}
    with Site(routes=routes) as site:
        await crawled(tmp_path, site)
        run = await resume_run(tmp_path / "run.db")
    assert (run.result.complete, run.result.findings.confirmed) == (False, 2), run.story()


async def test_a_redirect_to_another_spelling_of_the_same_key_is_followed(tmp_path):
    routes = {
        "/start": Reply(html("/x?b=2&amp;a=1")),
        "/x?b=2&a=1": moved("/x?a=1&b=2"),
        "/x?a=1&b=2": Reply(html("/ok")),
        "/ok": Reply(html()),
    }
    with Site(routes=routes) as site:
        run = await crawled(tmp_path, site)
        assert site.hits["/ok"] == 1
    assert run.result.complete, run.story()


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (moved("http://www.elsewhere.invalid/"), "start the crawl at http://www.elsewhere.invalid/"),
        (Reply(b"{}", kind="application/json"), "not a page, so the crawl cannot begin there"),
    ],
)
async def test_a_crawl_whose_first_address_is_not_a_page_of_the_site_read_nothing(tmp_path, reply, error):
    with Site(routes={"/start": reply}) as site:
        run = await crawled(tmp_path, site)
    assert error in failed(run, site)["/start"], run.story()
    assert not run.result.complete


async def test_what_works_but_is_not_a_page_of_the_site_is_counted_apart(tmp_path):
    routes = {
        "/start": Reply(html("/a.pdf", "/b.png", "/out", "/ok")),
        "/a.pdf": Reply(b"%PDF", kind="application/pdf"),
        "/b.png": Reply(b"png", kind="image/png"),
        "/out": moved("http://elsewhere.invalid/"),
        "/ok": Reply(html()),
    }
    with Site(routes=routes) as site:
        run = await crawled(tmp_path, site)
    assert "5 keys seen, 2 of them not pages, 1 redirected to another host" in run.result.detail, run.story()
    assert run.result.complete
