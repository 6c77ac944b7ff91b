"""Serve what waits for approval to one paired device: routes, forms, and decisions. GET shows, POST decides."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import msgspec
from aiohttp import web

from rundry.agent import DEVICE, PERSON, Decide, Journal, RundryError, UserError

from ..control.asked_proposal import what_of
from ..control.remote_decisions import resume_with_decision, send_command
from ..text.show_text import one_line
from ..text.wrap_lines import terminal_width, wrapped
from .change_html import Change, change_of
from .device_access import UNSEEN, USED, Asked, Device, DeviceAccess, Refused, Version, fetch_site
from .device_pages import Decided, Frame, link_page, list_page, message_page, policy, proposal_page
from .web_headers import HEADERS

if TYPE_CHECKING:
    from ..control.own_runs import OwnRuns
    from .waiting_proposals import Waiting, WaitingProposals

BODY_BYTES = 16_384
"""Most bytes of a form."""
ANSWER_SECONDS = 12.0
"""Seconds that the answer to a form waits for the decision to be recorded; after that, the list shows it."""
SHOWN_DECISIONS = 12
_FIELDS = 8
_REASON = 1_000
_KEPT = 4
"""Changes that are kept as HTML for their next part."""
_SAID_REFUSALS = 20
"""Most lines about refused requests; the end names their number."""

_TAKEN = "it opened the link, which another device had used"
"""What the terminal says instead of the words for that device."""
IN_CONFLICT = "the proposal is in conflict with its file: it is merged at the screen"
ASKS_ALWAYS = (
    "it is about something guarded or protected, or asks for more than the sandbox allows. This is approved at the "
    "computer, where rundry asks in every mode"
)
TOO_LONG = "the change is too long to be shown here as a whole"
UNTRUSTED = "the certificate is self-signed, and --accept-self-signed was not given"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a form."""

    status: HTTPStatus
    text: str = ""
    """Why nothing was decided. Empty means that it was decided."""


class DeviceServer:
    """The web application for one folder and one device."""

    def __init__(self, access: DeviceAccess, waiting: WaitingProposals, own: OwnRuns, frame: Frame) -> None:
        """`frame`: what pages show, without the device."""
        self._access, self._waiting, self._own, self._frame = access, waiting, own, frame
        self._decided: list[Decided] = []
        self._changes: OrderedDict[Version, tuple[str | None, Change]] = OrderedDict()
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._deciding = set[asyncio.Task[Result]]()
        self.refused = Counter[tuple[str, str]]()
        """How many requests were refused, by the kind of the refusal and the address."""

    def app(self) -> web.Application:
        """Return the web application with its guard and routes."""
        app = web.Application(middlewares=[self._guard], client_max_size=BODY_BYTES)
        app.on_response_prepare.append(self._harden)
        base = self._access.base
        app.add_routes(
            [
                web.get("/link/{secret}", self._link, allow_head=False),
                web.post("/link/{secret}", self._pair),
                web.get(base, self._list, allow_head=False),
                web.get(base + "p/{run}/{digest}", self._proposal, allow_head=False),
                web.post(base + "p/{run}/{digest}", self._decide),
            ]
        )
        return app

    async def close(self) -> None:
        """Wait for the decisions that are being recorded, and leave the runs, which continue."""
        if self._deciding:
            await asyncio.wait(self._deciding, timeout=ANSWER_SECONDS)
        await self._own.close(PERSON)

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        asked = self._asked(request)
        try:
            self._access.check_place(asked)
            return await handler(request)
        except Refused as refused:
            self._note(refused, asked.address)
            return _message(HTTPStatus.FORBIDDEN, str(refused))
        except web.HTTPException as error:
            return _message(HTTPStatus(error.status), error.reason.lower())
        except RundryError as error:
            return _message(HTTPStatus.CONFLICT, str(error), self._access.base)  # only a paired device comes so far

    async def _harden(self, _request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(HEADERS)
        response.headers["Referrer-Policy"] = "same-origin"  # without a referrer, a form has the origin `null`
        response.headers["Content-Security-Policy"] = policy()
        response.headers["Server"] = "rundry"
        response.headers["Connection"] = "close"  # one request for each connection, whose life is limited
        response.force_close()

    def _asked(self, request: web.Request) -> Asked:
        headers, named = request.headers, request.headers.getall("Host", [])
        return Asked(
            method=request.method,
            host=named[0] if len(named) == 1 else None,
            origin=headers.get("Origin"),
            fetch_site=fetch_site(headers.get("Sec-Fetch-Site")),
            address=request.remote or "",
            cookie=request.cookies.get(self._access.cookie_name),
        )

    def _note(self, refused: Refused, address: str) -> None:
        """Count a refusal, and print the first one of each kind and address."""
        self.refused[refused.kind, address] += 1
        if self.refused[refused.kind, address] == 1 and len(self.refused) <= _SAID_REFUSALS:
            say(f"refused {address}: {_TAKEN if refused.kind == 'taken' else refused}")

    async def _link(self, request: web.Request) -> web.StreamResponse:
        """Show the form that pairs. A program that makes a preview of the link gets the same, and uses up nothing."""
        self._access.check_link(request.match_info["secret"])
        return _html(link_page(self._frame.fingerprint, self_signed=self._frame.self_signed))

    async def _pair(self, request: web.Request) -> web.StreamResponse:
        secret, asked = request.match_info["secret"], self._asked(request)
        self._access.check_link(secret)
        form = await _form(request)
        device = self._access.pair(secret, form.get("name", ""), asked)
        say(f"paired: {device.name} ({device.address}). Other devices are refused")
        response = web.Response(status=303, headers={"Location": self._access.base})
        response.set_cookie(
            self._access.cookie_name,
            device.cookie,
            httponly=True,
            secure=True,
            samesite="Strict",
            path=self._access.base,
        )
        return response

    def _frame_of(self, device: Device) -> Frame:
        return replace(self._frame, device=device.name, base=self._access.base)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        device = self._access.require_device(self._asked(request))
        runs = await asyncio.to_thread(self._waiting.runs)
        return _html(list_page(self._frame_of(device), runs, self._decided[:SHOWN_DECISIONS]))

    async def _proposal(self, request: web.Request) -> web.StreamResponse:
        device = self._access.require_device(self._asked(request))
        version = request.match_info["run"], request.match_info["digest"]
        waiting, change = await asyncio.to_thread(self._read, version)
        number = request.query.get("part", "1")
        part = int(number) - 1 if number.isdecimal() and len(number) < 5 else -1
        if not 0 <= part < len(change.parts):
            raise UserError(f"this change has {len(change.parts)} parts")
        painted = device.note_part(version, part, len(change.parts))
        page = proposal_page(
            self._frame_of(device),
            waiting,
            change,
            part,
            painted.parts,
            token=device.new_token(version),
            why_not=self._why_not(waiting, change),
        )
        return _html(page)

    def _read(self, version: Version) -> tuple[Waiting, Change]:
        """Return a proposal and what it would do. Raises RundryError."""
        journal, waiting = self._waiting.open(*version)
        try:
            return waiting, self._change(version, waiting, journal)
        finally:
            journal.close()

    def _change(self, version: Version, waiting: Waiting, journal: Journal) -> Change:
        before, known = waiting.opened.before, self._changes.get(version)
        if known is not None and known[0] == before:
            return known[1]
        change = change_of(waiting.opened, _contents_of(journal))
        self._changes[version] = before, change
        while len(self._changes) > _KEPT:
            self._changes.popitem(last=False)
        return change

    def _why_not(self, waiting: Waiting, change: Change) -> str:
        """Return why this cannot be approved on a device, or an empty text. The gate checks guarded files itself."""
        if waiting.conflict:
            return IN_CONFLICT
        if waiting.opened.danger:
            return ASKS_ALWAYS
        if change.is_cut:
            return TOO_LONG
        return UNTRUSTED if self._frame.restricted else ""

    async def _decide(self, request: web.Request) -> web.StreamResponse:
        device = self._access.require_device(self._asked(request))
        version = request.match_info["run"], request.match_info["digest"]
        form = await _form(request)
        verdict = form.get("verdict")
        if verdict not in ("approve", "reject"):
            return _message(HTTPStatus.BAD_REQUEST, "the form names no decision", self._access.base)
        if not device.use_token(version, form.get("token", "")):
            return _message(HTTPStatus.FORBIDDEN, USED, self._access.base)
        if verdict == "approve" and not device.has_seen(version):
            return _message(HTTPStatus.CONFLICT, UNSEEN, self._access.base)
        command = Decide(
            proposal_id="",
            digest=version[1],
            verdict=verdict,
            reason=form.get("reason", "").strip()[:_REASON] or None,
            channel=f"{DEVICE}{device.name}",
        )
        task = asyncio.ensure_future(self._carry_out(version, command, device.name))
        self._deciding.add(task)
        task.add_done_callback(self._deciding.discard)
        done, _ = await asyncio.wait({task}, timeout=ANSWER_SECONDS)
        if done and (result := task.result()).text:
            return _message(result.status, f"nothing was decided: {result.text}", self._access.base)
        return web.Response(status=303, headers={"Location": self._access.base})

    async def _carry_out(self, version: Version, command: Decide, device: str) -> Result:
        """Send the decision to the run, or resume the run with it. Decisions about one run wait for each other."""
        async with self._locks[version[0]]:
            try:
                journal, waiting = await asyncio.to_thread(self._waiting.open, *version, refreshed=True)
            except RundryError as error:
                return Result(HTTPStatus.CONFLICT, str(error))
            try:
                if command.verdict == "approve":
                    change = await asyncio.to_thread(self._change, version, waiting, journal)
                    if why := self._why_not(waiting, change):
                        return Result(HTTPStatus.FORBIDDEN, why)
                verb = "approved" if command.verdict == "approve" else "rejected"
                what = f"{verb} {what_of(waiting.opened)}"
                noted = Decided(time.strftime("%H:%M"), what)
                self._decided.insert(0, noted)
                return await self._send(journal, waiting, command, noted, f"{waiting.run}  {what}  by {device}")
            finally:
                journal.close()

    async def _send(self, journal: Journal, waiting: Waiting, command: Decide, noted: Decided, line: str) -> Result:
        named = msgspec.structs.replace(command, proposal_id=waiting.opened.proposal_id)
        try:
            if waiting.is_live:
                await send_command(journal, named)
            else:
                await resume_with_decision(self._own, journal, named)
        except RundryError as error:
            noted.result, noted.is_good = f"not recorded: {error}", False
            say(f"{line}: not recorded: {error}")
            return Result(HTTPStatus.CONFLICT, str(error))
        noted.result, noted.is_good = "recorded", True
        say(line)
        return Result(HTTPStatus.OK)


def _contents_of(journal: Journal) -> Callable[[str | None], bytes | None]:
    def content(blob: str | None) -> bytes | None:
        if blob is None:
            return None
        try:
            return journal.blobs.load(blob)
        except KeyError:
            raise RundryError(f"the journal does not have the content {blob[:12]}") from None

    return content


async def _form(request: web.Request) -> Mapping[str, str]:
    """Return the fields of a form. Raises HTTPException for anything else, and for one that is too long."""
    if request.content_type != "application/x-www-form-urlencoded":
        raise web.HTTPUnsupportedMediaType
    body = await request.read()
    try:
        found = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError:
        raise web.HTTPBadRequest from None
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _html(text: str, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    return web.Response(text=text, status=status, content_type="text/html")


def _message(status: HTTPStatus, text: str, back: str | None = None) -> web.Response:
    return _html(message_page(one_line(text), back), status)


def say(line: str) -> None:
    """Print a line for the person at the terminal."""
    for row in wrapped(one_line(line), terminal_width(), hang=2):
        print(row, flush=True)
