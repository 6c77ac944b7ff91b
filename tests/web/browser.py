"""A headless Chromium, driven over its debugging websocket. Without one, the tests that need it are skipped."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pyte
import pytest
from fakes.network import Machine

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")
SECONDS = 40.0


class Page:
    """One tab, and what its terminal received."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._number = socket, 0
        self._answers: dict[int, dict[str, Any]] = {}
        self.asked: list[str] = []
        """Addresses of all requests of the page."""
        self.problems: list[str] = []
        """What the browser reported: blocked by the policy, or an exception."""
        self.is_gone = False
        """The websocket was closed."""
        self.screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self.screen)

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        number = self._number
        await self._socket.send_json({"id": number, "method": method, "params": params})
        await self.until(lambda: number in self._answers)
        answer = self._answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    async def open(self, url: str) -> None:
        for domain in ("Page", "Network", "Runtime", "Log"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=url)

    async def evaluate(self, expression: str) -> Any:
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return found["result"].get("value")

    async def press(self, key: str, text: str = "", code: int = 0, modifiers: int = 0) -> None:
        more: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **more)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **more)

    async def type(self, text: str) -> None:
        for letter in text:
            await self.press(letter, letter, ord(letter.upper()))

    async def picture(self) -> bytes:
        return base64.b64decode((await self.call("Page.captureScreenshot", format="png"))["data"])

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    async def shows(self, text: str) -> str:
        await self.until(lambda: text in self.text())
        return self.text()

    async def until(self, fact: Callable[[], object], seconds: float = SECONDS) -> None:
        """Read what the browser sends until the fact holds. Raises AssertionError after `seconds`."""
        end = time.monotonic() + seconds
        while not fact():
            try:
                message = await self._socket.receive_json(timeout=max(0.01, end - time.monotonic()))
            except TimeoutError:
                raise AssertionError(f"not within {seconds} s; {self.problems}; the screen:\n{self.text()}") from None
            self._take(message)

    async def watch(self, seconds: float) -> None:
        """Read what the browser sends for `seconds`."""
        end = time.monotonic() + seconds
        with suppress(TimeoutError):
            while (left := end - time.monotonic()) > 0:
                self._take(await self._socket.receive_json(timeout=left))

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            self._answers[message["id"]] = message
            return
        params = message["params"]
        match message["method"]:
            case "Network.requestWillBeSent":
                self.asked.append(params["request"]["url"])
            case "Network.webSocketCreated":
                self.asked.append(params["url"])
            case "Network.webSocketFrameSent":
                self._resize(params["response"]["payloadData"])
            case "Network.webSocketFrameReceived" if params["response"]["opcode"] == 2:
                self._stream.feed(base64.b64decode(params["response"]["payloadData"]))
            case "Network.webSocketClosed":
                self.is_gone = True
            case "Runtime.exceptionThrown":
                self.problems.append(str(params["exceptionDetails"]))
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.problems.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
            case _:
                pass

    def _resize(self, sent: str) -> None:
        kind, *rest = json.loads(sent)
        if kind == "resize":
            self.screen.resize(rest[0]["height"], rest[0]["width"])


class Browser:
    """A browser with a profile of its own; `async with` ends it."""

    def __init__(self, folder: Path, *options: str, machine: Machine | None = None) -> None:
        """`options`: more of them. `machine`: where it runs; None means here."""
        self._options, self._machine = options, machine
        self._folder = folder / "chromium"
        self._log = folder / "chromium.log"

    async def __aenter__(self) -> Browser:
        assert CHROMIUM is not None
        self._folder.mkdir()
        options = ["--headless=new", "--no-sandbox", "--remote-debugging-port=0", f"--user-data-dir={self._folder}"]
        options += ["--no-first-run", "--disable-background-networking", "--window-size=1100,760", *self._options]
        before = [] if self._machine is None else self._machine.words
        env = {"HOME": str(self._folder), "PATH": os.environ["PATH"]}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*before, CHROMIUM, *options, "about:blank"], env=env, stdout=log, stderr=log
            )
        found = self._folder / "DevToolsActivePort"
        end = time.monotonic() + SECONDS
        while not (found.exists() and found.read_text().count("\n")):
            assert time.monotonic() < end and self._process.poll() is None, self._log.read_text(errors="replace")
            await asyncio.sleep(0.02)
        self._port = found.read_text().split()[0]
        there = None if self._machine is None else self._machine.socket
        self._client = aiohttp.ClientSession(connector=aiohttp.TCPConnector(socket_factory=there))
        return self

    async def page(self, url: str) -> Page:
        """Open a new tab."""
        async with self._client.put(f"http://127.0.0.1:{self._port}/json/new?about:blank") as response:
            target = await response.json()
        page = Page(await self._client.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0))
        await page.open(url)
        return page

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()
        self._process.terminate()
        await asyncio.to_thread(self._process.wait, 20)
