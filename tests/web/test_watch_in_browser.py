"""`rundry watch --web`, seen in a headless Chromium and asked over plain HTTP."""

from __future__ import annotations

import re
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import aiohttp
import psutil
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from fakes.rundry import Home
from fakes.terminal import Terminal
from sampling import sampled
from web.browser import Browser, Page, needs_chromium


@contextmanager
def served(home: Home, *more: str) -> Iterator[tuple[Terminal, str]]:
    """A view of the newest run, served; and its link."""
    run = next(path.stem for path in reversed(home.journals()))
    with home.screen("watch", run, "--web", *more, cwd=home.root) as terminal:
        terminal.wait_for("Ctrl+C ends")
        link = re.search(r"http://\S+", terminal.text())
        assert link is not None
        yield terminal, link[0]


@pytest.fixture
def ended(home: Home) -> Home:
    """A home with one run that ended."""
    done = home.run("demo", "--headless", "--gate", "auto", cwd=home.root, env={"RUNDRY_DEMO_PACE": "0"})
    assert done.exit_code == 0, done
    return home


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield session


async def status(client: aiohttp.ClientSession, url: str, headers: Mapping[str, str] | None = None) -> int:
    async with client.get(url, headers=headers, allow_redirects=False) as response:
        return response.status


def origin(link: str) -> str:
    return f"http://{urlsplit(link).netloc}"


def views_of(terminal: Terminal) -> list[psutil.Process]:
    return psutil.Process(terminal.pid).children(recursive=True)


@needs_chromium
async def test_a_browser_shows_the_run_and_can_neither_decide_nor_write_nor_start_anything(home: Home, tmp_path: Path):
    with home.screen("demo", cwd=home.root, rows=50) as terminal:
        terminal.wait_for("y approve")
        with served(home) as (_, link):
            async with Browser(tmp_path) as browser:
                page = await browser.page(link)
                await page.shows("till/money.py")
                await page.shows("read-only")
                await page.shows("v unified")
                assert "y approve" not in page.text()
                for sent in ("y", "n", "/stop now\r", "!touch made\r", "/trust\r", "/quit\r"):
                    await typed(page, sent)
                await page.until(lambda: page.is_gone)
                assert "-closed" in await page.evaluate("document.body.className")
                assert not page.problems
                assert all(re.match(r"(http|ws)://127\.0\.0\.1:\d+/|data:", url) for url in page.asked), page.asked
        assert "y approve" in terminal.text()
        assert not list(home.root.rglob("made"))


async def typed(page: Page, text: str) -> None:
    for letter in text:
        await page.press("Enter", "\r", 13) if letter == "\r" else await page.type(letter)
    while text.startswith(("/s", "!", "/t")):  # it is refused, and back in the box soon
        await page.watch(1.0)
        if "› this view only shows the run" in page.text():
            break
        await page.press("u", "\x15", 85, modifiers=2)


async def test_a_link_works_once_and_only_its_browser_sees_the_run(ended: Home, client: aiohttp.ClientSession):
    with served(ended) as (_, link):
        page = link.partition("?")[0]
        async with client.get(link, allow_redirects=False) as response:
            base = urlsplit(page).path
            assert (response.status, response.headers["Location"]) == (303, base)
            assert {"HttpOnly", "SameSite=Strict", f"Path={base}"} <= set(response.headers["Set-Cookie"].split("; "))
        async with client.get(page) as response:
            assert response.status == 200 and "default-src 'none'" in response.headers["Content-Security-Policy"]
            assert "http://" not in (await response.text()).replace("http://127.0.0.1", "")
        assert await status(client, link) == 403
        async with aiohttp.ClientSession() as stranger:
            for path in ("", "ws", "static/js/textual.js", "page.css", "?token=x", link.partition("/?")[2]):
                assert await status(stranger, page + path) == 403, path
                assert await status(stranger, urljoin(page, f"/{path}")) == 403, path


async def test_another_site_cannot_use_the_cookie(ended: Home, client: aiohttp.ClientSession):
    with served(ended) as (terminal, link):
        assert await status(client, link) == 303
        page = link.partition("?")[0]
        own = origin(link)
        for headers in (
            {"Host": "evil.example:80"},
            {"Host": "evil.example:" + own.rpartition(":")[2]},
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site"},
        ):
            assert await status(client, page, headers) == 403, headers
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await client.ws_connect(page + "ws", headers={"Origin": own, **headers})
            assert refused.value.status == 403, headers
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await client.ws_connect(page + "ws")
        assert views_of(terminal) == []
        async with client.post(page) as response:
            assert response.status == 403
        assert await status(client, page + "static/../server.py") == 404
        assert await status(client, page + "static/") in (403, 404)


@needs_chromium
async def test_another_server_on_the_machine_gets_no_cookie_that_opens_the_run(ended: Home, tmp_path: Path):
    received: list[str] = []

    async def receive(request: web.Request) -> web.Response:
        received.append(request.headers.get("Cookie", ""))
        response = web.Response(text="<title>hostile</title>", content_type="text/html")
        response.set_cookie("rundry_own", "x", path="/")
        return response

    hostile = web.Application()
    hostile.router.add_get("/{path:.*}", receive)
    with served(ended) as (terminal, link):
        page_of_run = link.partition("?")[0]
        async with TestServer(hostile, host="127.0.0.1") as server, Browser(tmp_path) as browser:
            page = await browser.page(link)
            await page.shows("read-only")
            kept = await page.call("Network.getCookies", urls=[page_of_run])
            assert [cookie["httpOnly"] for cookie in kept["cookies"]] == [True]
            secret = kept["cookies"][0]["value"]
            other = f"http://127.0.0.1:{server.port}/"
            for path in ("", "ws", "static/js/textual.js", "page.css", "rundry/"):
                visited = await browser.page(other + path)
                await visited.until(partial(visited.asked.count, other + path))
                assert await visited.evaluate("document.title") is not None
            # A page of the other server also asks for the pages of the run, from the same browser.
            answers = await visited.evaluate(
                f"Promise.all(['', 'ws'].map(path => fetch('{page_of_run}' + path, {{credentials: 'include'}})"
                ".then(answer => answer.status, () => 'refused')))"
            )
            assert answers == ["refused", "refused"]
            assert len(received) >= 5 and not any(secret in cookie for cookie in received), received
            async with aiohttp.ClientSession() as replaying:
                for cookie in {*received, f"rundry_own={secret}"}:
                    for url in (urljoin(link, "/"), urljoin(link, "/ws"), page_of_run, urljoin(link, "ws")):
                        assert await status(replaying, url, {"Cookie": cookie, "Origin": origin(link)}) == 403, url
            assert await visited.evaluate(f"location.assign('{page_of_run}')") is None
            await visited.until(lambda: page_of_run in visited.asked)
            await visited.until(lambda: any("403" in problem for problem in visited.problems))
        assert len(views_of(terminal)) <= 1


@pytest.mark.parametrize("number", sampled([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], 1))
async def test_no_process_is_left_however_the_command_ends(
    ended: Home, client: aiohttp.ClientSession, number: signal.Signals
):
    with served(ended) as (terminal, link):
        assert await status(client, link) == 303
        websocket = urljoin(link, "ws?width=80&height=24")
        async with client.ws_connect(websocket, headers={"Origin": origin(link)}) as socket:
            seen = b""
            while b"rundry" not in seen:
                message = await socket.receive(timeout=60)
                seen += message.data if message.type == aiohttp.WSMsgType.BINARY else b""
            started = views_of(terminal)
            assert started
            if number == signal.SIGINT:
                terminal.press("ctrl+c")
            else:
                psutil.Process(terminal.pid).send_signal(number)
            terminal.wait_for_exit()
        gone, alive = psutil.wait_procs(started, timeout=20)
        assert gone and not alive


async def test_a_closed_tab_leaves_no_process(ended: Home, client: aiohttp.ClientSession):
    with served(ended) as (terminal, link):
        assert await status(client, link) == 303
        websocket = urljoin(link, "ws?width=80&height=24")
        async with client.ws_connect(websocket, headers={"Origin": origin(link)}) as socket:
            await socket.receive(timeout=60)
            started = views_of(terminal)
        assert started and not psutil.wait_procs(started, timeout=20)[1]


def test_what_cannot_be_served_is_one_line_before_anything_starts(ended: Home):
    with served(ended) as (_, link):
        port = str(urlsplit(link).port)
        taken = ended.run("watch", "--web", "--port", port, ended.journals()[0].stem, cwd=ended.root)
    for ran, said in (
        (taken, f"--port {port} cannot be used: "),
        (ended.run("watch", "--port", "8000", cwd=ended.root), "--port 8000 works only with --web"),
        (ended.run("watch", "--web", "--port", "70000", cwd=ended.root), "70000"),
        (ended.run("watch", "--web", "nothing", cwd=ended.root), "nothing"),
    ):
        assert ran.exit_code == 2 and said in ran.stderr, ran
        assert ran.stderr.count("\n") == 1 and not ran.stdout, ran
