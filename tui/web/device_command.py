"""Carry out `rundry approve --serve`: check everything first, then serve until Ctrl+C or the end of its time."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path

from aiohttp import web

from rundry.agent import SystemClock, UserError, clock, parse_duration, plural

from ..control.own_runs import OwnRuns
from ..start.run_folders import folder_of, workspace_of
from ..text.show_text import path_line
from ..text.wrap_lines import terminal_width, wrapped
from .certificate import Certificate, load, make
from .device_access import LINK_SECONDS, DeviceAccess
from .device_pages import Frame
from .device_server import DeviceServer, say
from .limited_listener import LimitedListener
from .waiting_proposals import WaitingProposals

LONGEST = 86_400.0
"""Most seconds that it may serve: a certificate that is made for it is valid for longer."""
BACKLOG = 64
_PROBES = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses of nobody (RFC 5737, RFC 3849). Connecting UDP sends nothing, but chooses the source address."""
_QUIET = 2
"""Light modules around a QR code. Its standard asks for 4, scanners for less, and a terminal has few lines."""
_GAP = "  "
_LEAST_BESIDE = 38
"""Least number of columns of a text on the right of the code."""
_STACKED = 80
"""Columns of the text above the code."""
_COLOURS, _RESET = "\x1b[38;5;16;48;5;231m", "\x1b[0m"
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `rundry approve --serve`."""

    bind: str | None = None
    port: int = 0
    cert: str | None = None
    key: str | None = None
    accept_self_signed: bool = False
    seconds: float = 7200.0


def read_seconds(text: str) -> float:
    """Return the value of `--for`. Raises UserError."""
    found = parse_duration(text)
    if found is None or not 0 < found <= LONGEST:
        raise UserError(f"--for {text}: write a time of at most {LONGEST / 3600:.0f} hours, for example 2h")
    return found


def serve_device(flags: Mapping[str, object], options: Options) -> int:
    """Serve what waits in the folder to one device. Return the exit code. Raises RundryError."""
    if (options.cert is None) != (options.key is None):
        raise UserError("--cert and --key belong together: name both files, or none")
    workspace, journals = workspace_of(flags), folder_of(flags)
    address, name = bind_address(options.bind)
    if options.cert is not None and options.key is not None:
        certificate = load(Path(options.cert), Path(options.key))
    else:
        certificate = make(name)
    name = name_of_link(certificate, name)
    waiting = WaitingProposals(journals, workspace)
    count = sum(len(run.proposals) for run in waiting.runs())  # an unreadable folder is reported here, not on the phone
    listening = _listen(address, options.port)
    port = int(listening.getsockname()[1])
    until = time.strftime("%H:%M", time.localtime(time.time() + options.seconds))
    access = DeviceAccess(tuple(dict.fromkeys((_bracketed(name), _bracketed(address)))), port, SystemClock())
    frame = Frame(
        place=workspace.name or "/",
        device="",
        base=access.base,
        until=until,
        fingerprint=certificate.fingerprint,
        self_signed=certificate.is_self_signed,
        restricted=certificate.is_self_signed and not options.accept_self_signed,
    )
    server = DeviceServer(access, waiting, OwnRuns(journals), frame)

    def introduce() -> None:
        waits = f"{plural(count, 'proposal')} {'waits' if count == 1 else 'wait'}"
        head = list(wrapped(path_line(f"{waits} in {workspace}"), terminal_width()))
        print(*head, *_introduction(access, certificate, frame, address, len(head)), sep="\n", flush=True)

    return asyncio.run(_serve(listening, certificate, server, options.seconds, introduce))


def _introduction(
    access: DeviceAccess, certificate: Certificate, frame: Frame, address: str, above: int
) -> Iterator[str]:
    """Yield what the person has to know, with the QR code of the link if the window has room for it.

    `above`: number of lines above.
    """
    size = shutil.get_terminal_size()

    def told(columns: int) -> list[str]:
        texts = _texts(access, certificate, frame, address)
        return [line for text in texts for line in wrapped(text, columns)] + _fingerprint(certificate, columns)

    stacked, ends = told(min(size.columns, _STACKED)), [f"open {access.link}", "Ctrl+C ends it; runs continue"]
    if not sys.stdout.isatty() or find_spec("segno") is None:
        yield from (*stacked, *ends)
        return
    code, width = list(qr_lines(access.link)), len(_qr_rows(access.link)[0])
    columns = size.columns - width - len(_GAP)
    beside = told(columns) if columns >= _LEAST_BESIDE else []
    rest = above + len(ends) + 1  # with the line of the cursor
    if beside and max(len(code), len(beside)) + rest <= size.lines:
        blank = " " * width
        yield from (f"{left or blank}{_GAP}{right}" for left, right in zip_longest(code, beside, fillvalue=""))
    elif width <= size.columns and len(code) + len(stacked) + rest <= size.lines:
        yield from (*stacked, *code)
    else:
        yield from stacked
        needed = f"{len(code) + rest} lines of {width + len(_GAP) + _LEAST_BESIDE} columns"
        yield from wrapped(f"the window is too small for the QR code: it needs {needed}", size.columns)
    yield from ends


def _texts(access: DeviceAccess, certificate: Certificate, frame: Frame, address: str) -> Iterator[str]:
    """Yield a paragraph about the address, the link, and a certificate that is self-signed."""
    yield f"listens on {_bracketed(address)}:{access.port}, until {frame.until}"
    if ipaddress.ip_address(address).is_global:
        yield "this address is public: everybody on the internet can connect to it"
    yield f"the link pairs one device within {LINK_SECONDS / 60:.0f} minutes; opening it decides nothing"
    if certificate.is_self_signed and frame.restricted:
        yield (
            "the certificate is self-signed: the device can look and reject; to approve, use --cert and --key, "
            "or compare the fingerprint and add --accept-self-signed"
        )
    elif certificate.is_self_signed:
        yield "the certificate is self-signed: compare the fingerprint in the browser first"


def _fingerprint(certificate: Certificate, columns: int) -> list[str]:
    """Return the lines with the fingerprint of a self-signed certificate: 16 bytes in each, or 8."""
    if not certificate.is_self_signed:
        return []
    head, pairs = "SHA-256 ", certificate.fingerprint.split(":")
    each = 16 if columns >= len(head) + 3 * 16 - 1 else 8
    rows = [":".join(pairs[at : at + each]) for at in range(0, len(pairs), each)]
    return [f"{head if at == 0 else ' ' * len(head)}{row}" for at, row in enumerate(rows)]


def qr_lines(text: str) -> Iterator[str]:
    """Yield a QR code in half blocks, two rows of modules in a line, dark on light on every theme."""
    rows = _qr_rows(text)
    rows += [tuple(False for _ in rows[0])] * (len(rows) % 2)
    for above, below in zip(rows[::2], rows[1::2], strict=True):
        yield _COLOURS + "".join(_HALVES[pair] for pair in zip(above, below, strict=True)) + _RESET


def _qr_rows(text: str) -> list[tuple[bool, ...]]:
    import segno

    return [tuple(map(bool, row)) for row in segno.make_qr(text, error="l").matrix_iter(border=_QUIET)]


def bind_address(asked: str | None) -> tuple[str, str]:
    """Return the address to listen on, and the name for the link. Raises UserError.

    Without `--bind`: the address with which this machine reaches its network, if that is a private one.
    """
    if asked is None:
        address = _own_address()
        return address, address
    try:
        found = socket.getaddrinfo(asked, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UserError(f"--bind {asked}: no such address or name. This machine has {_addresses_words()}") from None
    address = str(found[0][4][0])
    parsed = ipaddress.ip_address(address)
    if parsed.is_unspecified:
        raise UserError(f"--bind {asked} means every network: name one address, {_addresses_words()}")
    if parsed.is_multicast or "%" in address:
        raise UserError(f"--bind {asked}: browsers cannot open this address. This machine has {_addresses_words()}")
    return address, asked.lower() if _is_name(asked) else address


def _own_address() -> str:
    for family, nobody in _PROBES:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((nobody, 9))
            except OSError:  # no such network
                continue
            found = str(probe.getsockname()[0])
        parsed = ipaddress.ip_address(found)
        if parsed.is_private and not (parsed.is_loopback or parsed.is_unspecified):
            return found
    raise UserError(f"the address of the local network is not known: name it with --bind, {_addresses_words()}")


def _addresses_words() -> str:
    """Return the addresses of this machine in words, without those that browsers cannot open."""
    import psutil

    families = (socket.AF_INET, socket.AF_INET6)
    every = [one.address for each in psutil.net_if_addrs().values() for one in each if one.family in families]
    return ", ".join(sorted(address for address in every if "%" not in address)) or "no address"


def _is_name(asked: str) -> bool:
    try:
        ipaddress.ip_address(asked)
    except ValueError:
        return True
    return False


def name_of_link(certificate: Certificate, name: str) -> str:
    """Return the name for the link: one that the certificate is valid for. Raises UserError if there is none."""
    if certificate.covers(name):
        return name
    known = next((known for known in certificate.names if not known.startswith("*") and _is_name(known)), None)
    if known is None:
        named = ", ".join(certificate.names) or "no name"
        raise UserError(f"the certificate is for {named}, not for {name}: give a name of it with --bind NAME")
    return known


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise UserError(
            f"{_bracketed(address)}:{port} cannot be used: {error.strerror}. Name another --bind or --port"
        ) from None


async def _serve(
    listening: socket.socket,
    certificate: Certificate,
    server: DeviceServer,
    seconds: float,
    introduce: Callable[[], None],
) -> int:
    """Serve until a signal or the end of the time, and return the exit code."""
    runner = web.AppRunner(
        server.app(),
        access_log=None,
        logger=_logger(),
        lingering_time=0.0,
        auto_decompress=False,
        shutdown_timeout=1.0,
    )
    await runner.setup()
    assert runner.server is not None
    listener = LimitedListener(listening, certificate.context, runner.server)
    stop: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, _finish, stop, number)
    accepting = asyncio.ensure_future(listener.serve())
    try:
        introduce()
        await asyncio.wait({stop, accepting}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if accepting.done():
            accepting.result()  # it only ends with an error
    finally:
        accepting.cancel()
        await server.close()
        await listener.close()
        await runner.cleanup()
    refused = server.refused.total() + listener.turned_away
    more = f"; {plural(refused, 'request')} refused" if refused else ""
    say(f"ended{'' if stop.done() else f': its time of {clock(seconds)} is over'}; runs continue{more}")
    return 128 + stop.result() if stop.done() else 0


def _finish(stop: asyncio.Future[int], number: int) -> None:
    if not stop.done():
        stop.set_result(number)


def _logger() -> logging.Logger:
    """Return the logger for faults of the server: a line each, because a stranger can cause some of them."""

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            fault = record.exc_info[1] if record.exc_info else None
            say(f"fault: {record.getMessage()[:200]}{f': {fault!r}'[:200] if fault is not None else ''}")

    logger = logging.getLogger("rundry.approve")
    logger.propagate = False
    logger.handlers = [Lines(logging.WARNING)]
    return logger
