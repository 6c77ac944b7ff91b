"""Serve the view of one run to browsers on this machine, with textual-serve's page script and process bridge."""

from __future__ import annotations

import asyncio
import html
import shlex
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from aiohttp import web
from aiohttp.typedefs import Handler
from textual_serve.server import Server

from rundry.agent import UserError

from .web_access import HOST, USED, Access, Request
from .web_headers import HEADERS

VIEWS = 8
"""Browser tabs that may be open at the same time. Each has a process of its own."""
GRACE = 3.0
"""Seconds in which the processes of open tabs may end by themselves."""
_FOLDER = Path(__file__).parent
# xterm.js writes its cell sizes into a style element
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src data:; "
    "connect-src 'self' {sockets}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class WebView:
    """The pages of one run: the link, the page with the terminal, its files, and the websocket behind it."""

    def __init__(self, argv: Sequence[str], title: str, access: Access) -> None:
        """`argv`: the only command that a browser can start; it shows the run. `title`: of the page."""
        self._title, self._access = title, access
        self._server = Server(f"exec {shlex.join(argv)}", host=HOST, port=access.port, title=title)
        sockets = " ".join(f"ws://{host}" for host in access.hosts)
        self._policy = _POLICY.format(sockets=sockets)
        self._open = 0

    def app(self) -> web.Application:
        """Return the web application with its guard and routes."""
        base, app = self._access.base, web.Application(middlewares=[self._guard])
        app.on_response_prepare.append(self._harden)
        app.add_routes(
            [
                web.get(base, self._page, allow_head=False),
                web.get(base + "page.{kind:css|js}", self._own_file, allow_head=False),
                web.get(f"{base}ws", self._websocket, allow_head=False),
                web.static(f"{base}static", self._server.statics_path),
            ]
        )
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        asked = Request(
            request.method,
            request.path,
            request.headers,
            token=request.query.get("token"),
            cookie=request.cookies.get(self._access.cookie_name),
        )
        why = self._access.refusal(asked)
        return _refused(why) if why is not None else await handler(request)

    async def _harden(self, _request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(HEADERS)
        response.headers["Content-Security-Policy"] = self._policy

    async def _page(self, request: web.Request) -> web.StreamResponse:
        """The page; a first visit with the token gets the cookie, and an address without the token."""
        if "token" in request.query:
            cookie = self._access.redeem(request.query["token"])
            if cookie is None:
                return _refused(USED)
            base = self._access.base
            response = web.Response(status=303, headers={"Location": base})
            response.set_cookie(self._access.cookie_name, cookie, httponly=True, samesite="Strict", path=base)
            return response
        page = (_FOLDER / "page.html").read_text("utf-8")
        websocket = f"ws://{request.host}{self._access.base}ws"
        text = page.format(title=html.escape(self._title), websocket=html.escape(websocket))
        return web.Response(text=text, content_type="text/html")

    async def _own_file(self, request: web.Request) -> web.StreamResponse:
        kind = request.match_info["kind"]
        text = (_FOLDER / f"page.{kind}").read_text("utf-8")
        return web.Response(text=text, content_type="text/css" if kind == "css" else "text/javascript")

    async def _websocket(self, request: web.Request) -> web.StreamResponse:
        if self._open >= VIEWS:
            return web.Response(status=503, text=f"{VIEWS} views are open: close one first\n")
        self._open += 1
        try:
            return await self._server.handle_websocket(request)
        finally:
            self._open -= 1


def _refused(why: str) -> web.Response:
    return web.Response(status=403, text=f"rundry: {why}\n")


async def serve(port: int, argv: Sequence[str], title: str, show: Callable[[str], None]) -> int:
    """Serve until a signal ends it, and return its number. `show` gets the link. Raises UserError for a bad port."""
    stop: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, _finish, stop, number)
    try:
        listener = await asyncio.get_running_loop().create_server(asyncio.Protocol, HOST, port, start_serving=False)
    except OSError as error:
        raise UserError(f"--port {port} cannot be used: {error.strerror}. Name another port, or none") from None
    socket = listener.sockets[0].dup()
    listener.close()
    access = Access(socket.getsockname()[1])
    runner = web.AppRunner(WebView(argv, title, access).app(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.SockSite(runner, socket).start()
        show(access.link)
        return await stop
    finally:
        await asyncio.to_thread(_end_views)
        with suppress(TimeoutError):  # a tab that sleeps does not answer the close
            async with asyncio.timeout(GRACE):
                await runner.cleanup()


def _finish(stop: asyncio.Future[int], number: int) -> None:
    if not stop.done():
        stop.set_result(number)


def _end_views() -> None:
    """End what was started here: all of this process's children are views."""
    views = psutil.Process().children(recursive=True)
    for view in views:
        _send(view, signal.SIGTERM)
    end = time.monotonic() + GRACE
    while any(map(_is_running, views)) and time.monotonic() < end:
        time.sleep(0.02)
    for view in views:
        _send(view, signal.SIGKILL)


def _is_running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _send(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return  # it has ended
