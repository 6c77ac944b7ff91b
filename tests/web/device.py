"""`rundry approve --serve` as a test runs it, and a device that talks to it without a browser."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import aiohttp
from fakes.network import Machine
from fakes.project import CHECK
from fakes.rundry import RUNDRY, Home, waiting_proposals
from fakes.server import ScriptedServer


class Served:
    """The running command, and what it printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.text = ""
        self.code: int | None = None

    def wait_for(self, words: str) -> None:
        """Read its lines up to one with these words."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.text += line
            if words in line:
                return
        raise AssertionError(f"no {words!r} before the end:\n{self.text}")

    @property
    def link(self) -> str:
        found = re.search(r"https://\S+", self.text)
        assert found is not None, self.text
        return found[0]

    def end(self, number: signal.Signals | None = signal.SIGINT) -> int:
        """Wait for its end, and return its exit code. `number`: the signal that ends it."""
        if self.code is None:
            if number is not None:
                self._process.send_signal(number)
            rest, _ = self._process.communicate(timeout=60)
            self.text += rest
            self.code = self._process.returncode
        return self.code


@contextmanager
def serving(home: Home, folder: Path, *options: str, words: Sequence[str] = ()) -> Iterator[Served]:
    """The command in a folder. `words`: a program and its options that start it."""
    bound = () if "--bind" in options else ("--bind", "127.0.0.1")
    argv = [*words, str(RUNDRY), "approve", "--serve", *bound, *options]
    process = subprocess.Popen(
        argv, cwd=folder, env=home.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    served = Served(process)
    try:
        served.wait_for("Ctrl+C ends it")
        yield served
        served.end()
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    headers: Mapping[str, str]


class Phone:
    """A device: it keeps cookies, and sends what a browser would."""

    def __init__(self, session: aiohttp.ClientSession, link: str) -> None:
        self._session, self.link = session, link
        parts = urlsplit(link)
        self.origin = f"https://{parts.netloc}"
        self.base = ""

    async def get(self, place: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Answer:
        url = place if place.startswith("https:") else self.origin + place
        async with self._session.request(method, url, headers=headers, allow_redirects=False) as answer:
            return Answer(answer.status, await answer.text(), dict(answer.headers))

    async def post(
        self,
        place: str,
        fields: Mapping[str, str] | bytes,
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """Send a form. A header that is None is left out."""
        url = place if place.startswith("https:") else self.origin + place
        kind = "application/x-www-form-urlencoded"
        every = {"Origin": self.origin, "Content-Type": kind, "Sec-Fetch-Site": "same-origin", **(headers or {})}
        sent = {name: value for name, value in every.items() if value is not None}
        data = fields if isinstance(fields, bytes) else urlencode(fields).encode()
        async with self._session.post(url, data=data, headers=sent, allow_redirects=False) as answer:
            return Answer(answer.status, await answer.text(), dict(answer.headers))

    async def pair(self, name: str = "phone") -> None:
        answer = await self.post(self.link, {"name": name})
        assert answer.status == 303, answer
        self.base = answer.headers["Location"]

    async def places(self) -> list[str]:
        """The pages of the proposals that wait."""
        return re.findall(r'href="([^"]+/p/[^"]+)"', (await self.get(self.base)).text)

    async def open(self, place: str) -> str:
        """Open a proposal, all its parts, and return the token of its form."""
        page = await self.get(place)
        assert page.status == 200, page
        parts = re.search(r"Part 1 of (\d+)", page.text)
        for part in range(2, int(parts[1]) + 1 if parts else 1):
            page = await self.get(f"{place}?part={part}")
        token = re.search(r'name="token" value="([^"]+)"', page.text)
        assert token is not None, page
        return token[1]

    @property
    def cookie(self) -> str:
        (found,) = self._session.cookie_jar
        return f"{found.key}={found.value}"


@asynccontextmanager
async def phone(link: str, machine: Machine | None = None) -> AsyncIterator[Phone]:
    """A device. `machine`: where it is; None means this one. It does not look at the certificate."""
    connector = aiohttp.TCPConnector(ssl=False, socket_factory=None if machine is None else machine.socket)
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=jar) as session:
        yield Phone(session, link)
        await connector.close(abort_ssl=True)  # else TLS says goodbye after the session has closed


def hand_over(home: Home, project: Path, server: ScriptedServer, *more: str) -> tuple[str, str]:
    """Let a run end with a proposal that waits. Returns its id and the digest."""
    argv = ["run", "fix it", "--headless", "--on-ask", "handoff", "--gate", "ask", "--until", CHECK, *more]
    ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)
    assert ran.exit_code == 5, ran
    (waiting,) = waiting_proposals(home, project)
    return home.journals()[-1].stem, waiting["digest"]
