"""`rundry approve --serve` over real TLS: one device decides, and everybody else on the network decides nothing."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import signal
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fakes.project import CORE, FIX_ADD, FIX_MEAN, make_project
from fakes.rundry import Home, assert_refused, waiting_proposals
from fakes.server import ScriptedServer
from fakes.turns import call
from fakes.web.certificates import Authority
from fakes.wire import text_of
from web.device import Served, hand_over, phone, serving

HOSTILE_NAME = "my phone\r\nSet-Cookie: a=b"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return make_project(folder)


@pytest.fixture
def own(tmp_path: Path) -> list[str]:
    """The options for a certificate of an own authority."""
    pem = Authority(tmp_path).file_for("127.0.0.1")
    return ["--cert", str(pem), "--key", str(pem)]


@pytest.fixture
def empty(home: Home, project: Path, own: list[str]) -> Iterator[Served]:
    """The command in a folder where nothing waits."""
    with serving(home, project, *own) as served:
        yield served


async def becomes(path: Path, text: str) -> None:
    """Wait until a file has this text."""
    async with asyncio.timeout(60):
        while not path.exists() or path.read_text() != text:
            await asyncio.sleep(0.02)


def raw(link: str, sent: bytes) -> bytes:
    """What the server answers to these bytes inside of TLS."""
    parts = urlsplit(link)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    with client.wrap_socket(socket.create_connection((parts.hostname, parts.port), timeout=30)) as connection:
        answer = b""
        with suppress(ConnectionError, ssl.SSLError):
            connection.sendall(sent)
            while piece := connection.recv(65_536):
                answer += piece
    return answer


async def test_previews_of_the_link_use_nothing_up_and_one_device_is_paired(empty: Served):
    async with phone(empty.link) as bot, phone(empty.link) as first, phone(empty.link) as second:
        for _ in range(3):
            preview = await bot.get(bot.link, {"User-Agent": "preview-bot", "Sec-Fetch-Site": "cross-site"})
            assert preview.status == 200 and "Pair this device" in preview.text
            assert "project" not in preview.text and "Set-Cookie" not in preview.headers
        assert (await bot.get(bot.link, method="HEAD")).status == 405
        await first.pair(HOSTILE_NAME)
        page = await first.get(first.base)
        assert page.status == 200 and "Nothing waits" in page.text
        for other in (second, bot):
            assert (await other.get(other.link)).status == 403
            assert (await other.post(other.link, {"name": "mine"})).status == 403
            assert (await other.get(first.base)).status == 403
        assert (await first.get(first.base)).status == 200
    assert empty.end() == 130
    assert "paired: my phone Set-Cookie: a=b (127.0.0.1). Other devices are refused" in empty.text
    assert "refused 127.0.0.1: it opened the link, which another device had used" in empty.text
    assert "requests refused" in empty.text


async def test_the_cookie_is_strict_secure_and_of_a_random_path(empty: Served):
    async with phone(empty.link) as device:
        answer = await device.post(device.link, {"name": HOSTILE_NAME})
        assert answer.status == 303 and answer.headers["Location"] not in device.link
        kept = answer.headers["Set-Cookie"].split("; ")
        assert {"HttpOnly", "Secure", "SameSite=Strict", f"Path={answer.headers['Location']}"} <= set(kept)
        assert len(answer.headers["Location"]) > 16


async def test_every_answer_forbids_frames_scripts_other_origins_and_caches(empty: Served):
    async with phone(empty.link) as device:
        answers = [await device.get(device.link), await device.get("/nothing"), await device.post(device.link, b"")]
        device.base = answers[-1].headers["Location"]
        answers += [await device.get(device.base), await device.get(device.base, {"Host": "evil.example"})]
        assert [answer.status for answer in answers] == [200, 404, 303, 200, 403]
        for answer in answers:
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
            assert answer.headers["X-Frame-Options"] == "DENY" and answer.headers["Cache-Control"] == "no-store"
            assert answer.headers["Referrer-Policy"] == "same-origin"
            assert not [name for name in answer.headers if name.lower().startswith("access-control")]


async def test_guessed_links_other_hosts_and_other_sites_pair_nothing(empty: Served):
    async with phone(empty.link) as device:
        secret = device.link.rpartition("/")[2]
        port = urlsplit(device.link).port
        for guess in ("x", secret[:-1], secret + "/", "../" + secret, "%2e%2e/", secret.swapcase(), "a" * 3_000):
            assert (await device.post(f"/link/{guess}", {"name": "x"})).status in (403, 404, 405), guess
        for headers in (
            {"Host": "evil.example"},
            {"Host": f"evil.example:{port}"},
            {"Host": f"127.0.0.1.evil.example:{port}"},
            {"Host": "127.0.0.1"},
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": device.origin.replace("https", "http")},
            {"Origin": None},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
        ):
            assert (await device.post(device.link, {"name": "x"}, headers)).status == 403, headers
        asked = f"GET /link/{secret} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n\r\n"
        assert raw(device.link, asked.encode()).startswith((b"HTTP/1.1 403", b"HTTP/1.1 400", b"HTTP/1.0 400"))
        await device.pair()


async def test_other_bodies_than_small_forms_are_refused_and_the_server_continues(empty: Served):
    async with phone(empty.link) as device:
        asked = urlsplit(device.link)
        head = f"POST {asked.path} HTTP/1.1\r\nHost: {asked.netloc}\r\nOrigin: {device.origin}\r\n"
        head += "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n"
        assert raw(device.link, head.format(20_000).encode() + b"name=" + b"x" * 19_995).startswith(b"HTTP/1.1 413")
        endless = raw(device.link, head.format(10**12).encode() + b"x" * 2_000_000)
        assert not endless or endless.startswith(b"HTTP/1.1 413"), "it may close before its answer can be read"
        boundary = "multipart/form-data; boundary=x"
        for kind in ("application/json", "text/plain", boundary, "application/x-www-form-urlencodedx"):
            refused = await device.post(device.link, b'{"name": "x"}', {"Content-Type": kind})
            assert refused.status == 415, kind
        many = b"&".join(b"a%d=1" % number for number in range(1_000))
        assert (await device.post(device.link, many)).status == 400
        assert (await device.post(device.link, b"name=\xff")).status == 400
    for sent in (
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET https://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
    ):
        assert not raw(empty.link, sent).startswith(b"HTTP/1.1 2"), sent[:40]
    async with phone(empty.link) as other:
        assert (await other.get("/")).status == 404
    assert empty.end() == 130
    assert "Traceback" not in empty.text and empty.text.count("\n") < 40


@pytest.mark.long
async def test_only_the_paired_device_decides_once_and_exactly_what_it_was_shown(
    home: Home, project: Path, own: list[str]
):
    core = project / "calc/core.py"
    with ScriptedServer([FIX_ADD, FIX_MEAN]) as server:
        run, digest = hand_over(home, project, server)
        with serving(home, project, *own) as served:
            async with phone(served.link) as device, phone(served.link) as thief:
                await device.pair("Ada's phone")
                (place,) = await device.places()
                assert place == f"{device.base}p/{run}/{digest}"
                token = await device.open(place)
                good = {"token": token, "verdict": "approve", "reason": ""}
                # nothing that anybody else sends decides anything
                for headers in (
                    {"Host": f"evil.example:{urlsplit(served.link).port}"},
                    {"Origin": "https://evil.example"},
                    {"Origin": "null"},
                    {"Origin": None},
                    {"Sec-Fetch-Site": "cross-site"},
                    {"Sec-Fetch-Site": "same-site"},
                ):
                    assert (await device.post(place, good, headers)).status == 403, headers
                assert (await thief.post(place, good)).status == 403
                assert (await thief.get(place)).status == 403
                copied = {"Cookie": device.cookie}
                for wrong in ("", "x", token[:-1], token[::-1]):
                    stolen = await thief.post(place, {**good, "token": wrong}, copied)
                    assert stolen.status == 403 and "used before" in stolen.text
                for field in ({"verdict": "again"}, {"verdict": ""}, {"verdict": "always"}):
                    assert (await device.post(place, {**good, **field})).status == 400
                for other in (f"{device.base}p/{run}/{digest[:-1]}0", f"{device.base}p/{run}x/{digest}"):
                    assert (await device.post(other, good)).status == 403
                    assert (await device.get(other)).status == 409
                escapes = ("../../../etc/passwd", "%2e%2e%2f%2e%2e", f"{run}%0d%0aSet-Cookie:%20a=b", "..")
                for name in escapes:
                    answer = await device.get(f"{device.base}p/{name}/{digest}")
                    assert answer.status in (403, 404, 409) and "Set-Cookie" not in answer.headers, name
                asked = f"?token={token}&verdict=approve"
                assert (await device.get(place + asked)).status == 200, "it only shows"
                for part in ("0", "2", "-1", "x", "9" * 5_000):
                    assert (await device.get(f"{place}?part={part}")).status in (400, 409, 414)
                assert core.read_text() == CORE
                assert [each["digest"] for each in waiting_proposals(home, project)] == [digest]
                # the device itself
                assert (await device.post(place, good)).status == 303
                await becomes(core, CORE.replace("a - b", "a + b"))
                replayed = await device.post(place, good)
                assert replayed.status == 403 and "used before" in replayed.text
                served.wait_for("approved edit_file calc/core.py  by Ada's phone")
                # the run continues, and its next proposal waits for the device
                async with asyncio.timeout(60):
                    while (places := await device.places()) in ([], [place]):
                        await asyncio.sleep(0.05)
                token = await device.open(places[0])
                rejected = {"token": token, "verdict": "reject", "reason": "use fmean"}
                assert (await device.post(places[0], rejected)).status == 303
                last = server.wait_requests(3)[2].messages
                assert "use fmean" in [text_of(message) for message in last if message["role"] == "tool"][-1]
        decided = [
            event
            for event in map(json.loads, home.run("export", run, cwd=project).stdout.splitlines())
            if event.get("type") == "proposal_decided" and event["by"] != "policy"
        ]
    assert [(event["decision"], event["by"], event["channel"]) for event in decided] == [
        ("approve", "person", "device:Ada's phone"),
        ("reject", "person", "device:Ada's phone"),
    ]


@pytest.mark.long
async def test_a_change_that_moved_since_it_was_shown_is_not_applied(home: Home, project: Path, own: list[str]):
    core = project / "calc/core.py"
    with ScriptedServer([FIX_ADD]) as server:
        hand_over(home, project, server)
        with serving(home, project, *own) as served:
            async with phone(served.link) as device:
                await device.pair()
                (place,) = await device.places()
                token = await device.open(place)
                mine = f"{CORE}\n\nMINE = 1\n"
                core.write_text(mine)
                answer = await device.post(place, {"token": token, "verdict": "approve"})
                assert answer.status == 409 and "nothing was decided" in answer.text and "changed" in answer.text
                assert core.read_text() == mine
                (now,) = await device.places()
                assert now != place
                token = await device.open(now)
                assert (await device.post(now, {"token": token, "verdict": "approve"})).status == 303
                await becomes(core, mine.replace("a - b", "a + b"))


@pytest.mark.long
async def test_the_page_says_what_was_decided_in_the_terminal_meanwhile(home: Home, project: Path, own: list[str]):
    with ScriptedServer([FIX_ADD, FIX_MEAN]) as server:
        run, digest = hand_over(home, project, server)
        with serving(home, project, *own) as served:
            async with phone(served.link) as device:
                await device.pair()
                (place,) = await device.places()
                token = await device.open(place)
                home.run("reject", run, "--digest", digest, "--headless", "--on-ask", "handoff", cwd=project)
                answer = await device.post(place, {"token": token, "verdict": "approve"})
                assert answer.status == 409 and "decided meanwhile" in answer.text
                # a run that ended with nothing open
                (place,) = await device.places()
                token = await device.open(place)
                waiting = waiting_proposals(home, project)[0]["digest"]
                home.run("approve", run, "--digest", waiting, "--headless", "--steps", "2", cwd=project)
                answer = await device.post(place, {"token": token, "verdict": "approve"})
                assert answer.status == 409 and "nothing was decided" in answer.text
                assert await device.places() == []
    assert (project / "calc/core.py").read_text() == CORE.replace("(len(values) + 1)", "len(values)")


@pytest.mark.long
async def test_a_guarded_file_is_shown_and_rejected_but_not_approved(home: Home, project: Path, own: list[str]):
    core = project / "calc/core.py"
    with ScriptedServer([FIX_ADD]) as server:
        hand_over(home, project, server, "--guard", "calc/core.py")
        with serving(home, project, *own) as served:
            async with phone(served.link) as device:
                await device.pair()
                (place,) = await device.places()
                page = (await device.get(place)).text
                assert "Not approved here" in page and "guarded or protected" in page
                assert 'value="approve"' not in page and 'value="reject"' in page
                answer = await device.post(place, {"token": await device.open(place), "verdict": "approve"})
                assert answer.status == 403 and "guarded or protected" in answer.text
                assert core.read_text() == CORE
                answer = await device.post(place, {"token": await device.open(place), "verdict": "reject"})
                assert answer.status == 303 and core.read_text() == CORE


@pytest.mark.long
async def test_with_a_self_signed_certificate_the_device_only_looks_and_rejects(home: Home, project: Path):
    core = project / "calc/core.py"
    with ScriptedServer([FIX_ADD, FIX_MEAN]) as server:
        hand_over(home, project, server)
        with serving(home, project) as served:
            shown = re.search(r"SHA-256 ([0-9A-F:]{47}\s+[0-9A-F:]{47})", served.text)
            assert shown is not None and "the device can look and reject" in served.text
            parts = urlsplit(served.link)
            seen = ssl.get_server_certificate((parts.hostname, parts.port))
            assert hashlib.sha256(ssl.PEM_cert_to_DER_cert(seen)).hexdigest().upper() == re.sub(r"[:\s]", "", shown[1])
            async with phone(served.link) as device:
                groups = re.findall(r"<span>([0-9A-F:]+)</span>", (await device.get(device.link)).text)
                assert ":".join(groups) == ":".join(shown[1].split())
                await device.pair()
                assert "Look and reject only" in (await device.get(device.base)).text
                (place,) = await device.places()
                token = await device.open(place)
                assert 'value="approve"' not in (await device.get(place)).text
                answer = await device.post(place, {"token": token, "verdict": "approve"})
                assert answer.status == 403 and "--accept-self-signed was not given" in answer.text
                assert core.read_text() == CORE
        with serving(home, project, "--accept-self-signed") as served:
            async with phone(served.link) as device:
                await device.pair()
                (place,) = await device.places()
                token = await device.open(place)
                assert (await device.post(place, {"token": token, "verdict": "approve"})).status == 303
                await becomes(core, CORE.replace("a - b", "a + b"))


@pytest.mark.long
async def test_a_long_change_is_approved_only_after_all_its_parts_were_opened(
    home: Home, project: Path, own: list[str]
):
    text = "\n".join(f"VALUE_{number} = {number}" for number in range(1_000))
    with ScriptedServer([call("write_file", path="calc/table.py", content=text)]) as server:
        hand_over(home, project, server)
        with serving(home, project, *own) as served:
            async with phone(served.link) as device:
                await device.pair()
                (place,) = await device.places()
                page = (await device.get(place)).text
                assert "not opened yet" in page and 'value="approve"' not in page
                token = re.search(r'name="token" value="([^"]+)"', page)
                assert token is not None
                answer = await device.post(place, {"token": token[1], "verdict": "approve"})
                assert answer.status == 409 and "not every part" in answer.text
                assert not (project / "calc/table.py").exists()
                token = await device.open(place)
                assert (await device.post(place, {"token": token, "verdict": "approve"})).status == 303
                await becomes(project / "calc/table.py", text)


@pytest.mark.long
def test_it_ends_by_itself_when_its_time_is_over_and_says_so(home: Home, project: Path, own: list[str]):
    with serving(home, project, *own, "--for", "1s") as served:
        assert served.end(None) == 0
    assert "ended: its time of 0:01 is over; runs continue" in served.text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_it_says_so(home: Home, project: Path, own: list[str], number: signal.Signals):
    with serving(home, project, *own) as served:
        assert served.end(number) == 128 + number
    assert served.text.splitlines()[-1] == "ended; runs continue"


@pytest.mark.long
def test_mistakes_are_one_line_before_anything_listens(home: Home, project: Path, own: list[str]):
    with serving(home, project, *own) as served:
        port = str(urlsplit(served.link).port)
        taken = home.run("approve", "--serve", "--bind", "127.0.0.1", "--port", port, *own, cwd=project)
    assert_refused(taken, f"127.0.0.1:{port} cannot be used")
    for argv, word in (
        (["--serve", "--bind", "0.0.0.0"], "every network"),
        (["--serve", "--bind", "8.8.8.8"], "cannot be used"),
        (["--serve", *own[:2]], "belong together"),
        (["--serve", "--for", "3d"], "at most 24 hours"),
        (["--serve", "20261130"], "RUN does not go with --serve"),
        (["--serve", "--digest", "abcdef"], "--digest does not go with --serve"),
        (["--serve", "--gate", "auto"], "--gate does not go with --serve"),
        (["--serve", "--headless"], "--headless"),
        (["--serve", "--bind", "127.0.0.2", *own], "is for 127.0.0.1, not for 127.0.0.2"),
        (["--bind", "127.0.0.1"], "--bind works only with --serve"),
        (["--accept-self-signed"], "--accept-self-signed works only with --serve"),
    ):
        assert_refused(home.run("approve", *argv, cwd=project), word)


@pytest.mark.parametrize(
    ("columns", "rows", "has_code"), [(80, 24, True), (120, 40, True), (60, 40, True), (60, 20, False)]
)
def test_all_that_the_command_says_fits_into_the_window(home, project, columns, rows, has_code):
    argv = ["approve", "--serve", "--bind", "127.0.0.1"]
    with home.screen(*argv, cwd=project, rows=rows, columns=columns) as terminal:
        terminal.wait_for("Ctrl+C ends it")
        lines = terminal.screen()
    text = "\n".join(lines)
    assert lines[0].startswith("0 proposals wait in"), text
    assert ("█▀▀▀▀▀█" in text) == has_code, text
    assert ("too small for the QR code" in text) == (not has_code), text
    assert len(re.findall(r"\b[0-9A-F]{2}\b(?=:|\s)", text.partition("SHA-256")[2])) >= 32, text
    assert re.search(r"open https://127\.0\.0\.1:\d+/link/\S{24}", text), text
