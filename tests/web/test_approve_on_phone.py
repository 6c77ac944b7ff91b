"""A run is approved in a browser in another network namespace, with a stranger on the same network."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fakes.network import Machine, network, why_no_network
from fakes.rundry import Home
from fakes.web.certificates import Authority, pin_of
from web.browser import Browser, Page, needs_chromium
from web.device import phone, serving

pytestmark = [pytest.mark.long, needs_chromium]
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
ATTACK = """<title>hostile</title><iframe name="inner" src="{place}"></iframe>
<form id="decide" method="post" action="{place}" target="_self"><input name="verdict" value="approve">
<input name="token" value="x"></form>"""


@pytest.fixture
def machines() -> Iterator[dict[str, Machine]]:
    if why := why_no_network():
        pytest.skip(why)
    with network() as machines:
        yield machines


async def shows(page: Page, *words: str) -> str:
    """Wait until the page has these words."""
    text = ""
    async with asyncio.timeout(40):
        while not all(word in text for word in words):
            await asyncio.sleep(0.05)
            text = str(await page.evaluate("document.body ? document.body.innerText : ''"))
    return text


async def tap(page: Page, selector: str) -> None:
    """Press at the middle of the first element, after scrolling to it."""
    place = await page.evaluate(
        f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one.scrollIntoView();"
        " const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        await page.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)


async def walk_to_the_proposal(page: Page) -> str:
    """Pair the phone and open the only proposal. Returns its address."""
    await page.call("Emulation.setDeviceMetricsOverride", **PHONE)
    assert "Pair this device" in await shows(page, "Name of this device")
    await page.evaluate("document.querySelector('#name').value = 'Ada'")
    await tap(page, "button.yes")
    text = await shows(page, "Loads again every")
    assert "till/money.py" in text and "waits at the gate" in text
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    await tap(page, "li a")
    text = await shows(page, "Reason, for the model")
    assert "+" in text and "digest" in text
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    return str(await page.evaluate("location.href"))


async def attack_from_the_network(page: Page, place: str, stranger: Machine, link: str) -> None:
    """The stranger has the link, then a copy of the cookie, then the whole form."""
    kept = (await page.call("Network.getCookies", urls=[place]))["cookies"]
    assert [(one["httpOnly"], one["secure"], one["sameSite"]) for one in kept] == [(True, True, "Strict")]
    token = await page.evaluate("document.querySelector('[name=token]').value")
    stolen = {"Cookie": f"{kept[0]['name']}={kept[0]['value']}"}
    form = {"token": str(token), "verdict": "approve"}
    async with phone(link, stranger) as other:
        assert (await other.post(link, {"name": "x"})).status == 403
        assert (await other.get(place)).status == 403
        for answer in (await other.get(place, stolen), await other.post(place, form, stolen)):
            assert answer.status == 403 and "another address" in answer.text
    served = urlsplit(link)
    with stranger.connect(str(served.hostname), served.port or 443) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        with suppress(ConnectionError):
            assert b"HTTP" not in plain.recv(4_096)


async def attack_in_the_browser(browser: Browser, place: str, stranger: Machine, folder: Path) -> None:
    """A page of the stranger in the browser of the phone, then a name of the stranger that leads to the desk."""
    folder.mkdir()
    (folder / "index.html").write_text(ATTACK.format(place=place))
    argv = [*stranger.words, sys.executable, "-m", "http.server", "8000", "--directory", str(folder)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as site:
        try:
            await until_it_listens(stranger, 8000)
            hostile = await browser.page(f"http://{stranger.address}:8000/")
            await hostile.until(lambda: any("frame-ancestors" in one for one in hostile.problems))
            await hostile.evaluate("document.querySelector('#decide').submit()")
            await shows(hostile, "another site asked for this")
        finally:
            site.kill()
    rebound = await browser.page(place.replace(str(urlsplit(place).hostname), "evil.example"))
    await shows(rebound, "this server does not have that name")


async def until_it_listens(machine: Machine, port: int) -> None:
    async with asyncio.timeout(40):
        while True:
            with suppress(ConnectionError):
                machine.connect(machine.address, port).close()
                return
            await asyncio.sleep(0.05)


async def test_a_phone_approves_and_a_stranger_on_the_network_decides_nothing(
    home: Home, tmp_path: Path, machines: dict[str, Machine]
):
    desk, stranger = machines["desk"], machines["stranger"]
    pem = Authority(tmp_path).file_for("desk.lan", desk.address)
    options = ["--cert", str(pem), "--key", str(pem), "--bind", desk.address]
    with home.screen("demo", cwd=home.root, rows=50) as terminal:
        terminal.wait_for("▌ y approve")
        (run,) = json.loads(home.run("runs", "--json", cwd=home.root).stdout)
        workspace = Path(run["workspace"])
        file = workspace / "till/money.py"
        before = file.read_bytes()
        with serving(home, workspace, *options, words=desk.words) as served:
            resolver = f"--host-resolver-rules=MAP evil.example {desk.address}"
            accepted = f"--ignore-certificate-errors-spki-list={pin_of(pem)}"
            async with Browser(tmp_path, accepted, resolver, machine=machines["phone"]) as browser:
                async with phone(served.link, stranger) as bot:
                    assert (await bot.get(bot.link)).status == 200, "a preview of the link before the person"
                page = await browser.page(served.link)
                place = await walk_to_the_proposal(page)
                served.wait_for(f"paired: Ada ({machines['phone'].address})")
                await attack_from_the_network(page, place, stranger, served.link)
                await attack_in_the_browser(browser, place, stranger, tmp_path / "site")
                assert file.read_bytes() == before and "y approve" in terminal.text()
                await tap(page, "button.yes")
                await shows(page, "Decided here", "till/money.py recorded")
                served.wait_for("by Ada")
                async with asyncio.timeout(40):
                    while file.read_bytes() == before:
                        await asyncio.sleep(0.02)
                await page.call("Page.navigate", url=place)
                await shows(page, "decided meanwhile")
                assert not [one for one in page.problems if "409" not in one], page.problems
                foreign = [url for url in page.asked if not url.startswith(f"https://{urlsplit(served.link).netloc}/")]
                assert set(foreign) <= {"data:,"}, foreign
        exported = home.run("export", run["run_id"], cwd=home.root).stdout
        decided = [event for event in map(json.loads, exported.splitlines()) if event.get("by") == "person"]
    assert [(event["decision"], event["channel"]) for event in decided if event["type"] == "proposal_decided"] == [
        ("approve", "device:Ada")
    ]
