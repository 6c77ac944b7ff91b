"""Requests to `rundry approve --serve`, decided without a network."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.clock import ManualClock

from rundry.tui.web.device_access import LINK_SECONDS, Asked, Device, DeviceAccess, Refused, device_name, fetch_site

PHONE = Asked(
    method="GET",
    host="10.0.0.1:8443",
    origin=None,
    fetch_site="none",
    address="10.0.0.7",
)
POST = replace(PHONE, method="POST", origin="https://10.0.0.1:8443", fetch_site="same-origin")
RUN = ("20261130-1", "digest")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def access(clock: ManualClock) -> DeviceAccess:
    return DeviceAccess(("10.0.0.1", "desk.lan"), 8443, clock)


def secret_of(access: DeviceAccess) -> str:
    return access.link.rpartition("/")[2]


def paired(access: DeviceAccess) -> Device:
    return access.pair(secret_of(access), "phone", POST)


def kind_of(refused: pytest.ExceptionInfo[Refused]) -> str:
    return refused.value.kind


def test_the_link_has_a_secret_of_at_least_128_bits_and_does_not_tell_the_path_of_the_pages(access: DeviceAccess):
    assert len(secret_of(access)) * 6 >= 128
    assert access.base not in access.link and access.base.strip("/") not in access.link
    assert len({secret_of(DeviceAccess(("a",), 1, ManualClock())) for _ in range(50)}) == 50
    assert len(access.link) < 70


@pytest.mark.parametrize(
    ("host", "passes"),
    [
        ("10.0.0.1:8443", True),
        ("desk.lan:8443", True),
        ("DESK.lan:8443", True),
        ("evil.example:8443", False),
        ("10.0.0.1", False),
        ("10.0.0.1:443", False),
        ("desk.lan.:8443", False),
        ("10.0.0.1:8443@evil.example", False),
        ("", False),
        (None, False),
    ],
)
def test_another_host_is_refused_as_after_dns_rebinding(access: DeviceAccess, host: str | None, passes: bool):
    asked = replace(PHONE, host=host)
    if passes:
        access.check_place(asked)
        return
    with pytest.raises(Refused) as refused:
        access.check_place(asked)
    assert kind_of(refused) == "host"


def test_browsers_leave_out_the_port_of_https():
    access = DeviceAccess(("10.0.0.1",), 443, ManualClock())
    access.check_place(replace(PHONE, host="10.0.0.1"))
    assert access.link.startswith("https://10.0.0.1/link/")


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", "http://10.0.0.1:8443", "https://10.0.0.1"])
def test_a_form_needs_the_own_origin(access: DeviceAccess, origin: str | None):
    with pytest.raises(Refused) as refused:
        access.check_place(replace(POST, origin=origin))
    assert kind_of(refused) == "site"
    access.check_place(POST)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_a_form_that_another_site_sent_is_refused_whatever_its_origin_says(access: DeviceAccess, site: str):
    with pytest.raises(Refused):
        access.check_place(replace(POST, fetch_site=site))
    access.check_place(replace(POST, fetch_site=None))  # older browsers do not send it


@pytest.mark.parametrize("header", ["", "CROSS-SITE", "same-origin ", "x"])
def test_an_unknown_value_of_the_header_counts_as_another_site(header: str):
    assert fetch_site(header) == "cross-site"
    assert fetch_site(None) is None and fetch_site("same-origin") == "same-origin"


def test_opening_the_link_uses_nothing_up_and_pairing_does(access: DeviceAccess):
    secret = secret_of(access)
    for _ in range(20):
        access.check_link(secret)
    device = access.pair(secret, "phone", POST)
    assert access.require_device(replace(PHONE, cookie=device.cookie)) is device
    for ask in (lambda: access.check_link(secret), lambda: access.pair(secret, "other", POST)):
        with pytest.raises(Refused) as refused:
            ask()
        assert kind_of(refused) == "taken"
    assert access.device is device


def test_a_guessed_link_pairs_nothing_and_does_not_tell_whether_a_device_is_paired(access: DeviceAccess):
    secret = secret_of(access)
    guesses = ["", "x", secret[:-1], secret + "A", secret.swapcase(), secret[::-1], "é", "\udc80"]
    for is_paired in (False, True):
        for guess in guesses:
            with pytest.raises(Refused) as refused:
                access.pair(guess, "phone", POST)
            assert kind_of(refused) == "link", guess
        if not is_paired:
            assert access.device is None
            paired(access)


async def test_the_link_ends_after_its_time_and_the_paired_device_stays(access: DeviceAccess, clock: ManualClock):
    await clock.advance(LINK_SECONDS - 1)
    device = paired(access)
    late = DeviceAccess(("10.0.0.1",), 8443, clock)
    await clock.advance(LINK_SECONDS)
    with pytest.raises(Refused) as refused:
        late.pair(secret_of(late), "phone", POST)
    assert kind_of(refused) == "link"
    assert access.require_device(replace(PHONE, cookie=device.cookie)) is device


def test_pages_need_the_cookie_of_the_device_from_its_address(access: DeviceAccess):
    with pytest.raises(Refused):
        access.require_device(replace(PHONE, cookie="x"))
    device = paired(access)
    own = replace(PHONE, cookie=device.cookie)
    for asked, kind in (
        (replace(own, cookie=None), "device"),
        (replace(own, cookie=device.cookie[:-1]), "device"),
        (replace(own, address="10.0.0.8"), "elsewhere"),
        (replace(own, address="fe80::7"), "elsewhere"),
        (replace(own, fetch_site="cross-site"), "site"),
        (replace(own, fetch_site="same-site"), "site"),
    ):
        with pytest.raises(Refused) as refused:
            access.require_device(asked)
        assert kind_of(refused) == kind, asked
    assert access.require_device(own) is device


def test_a_device_may_change_the_second_half_of_its_ipv6_address(access: DeviceAccess):
    device = access.pair(secret_of(access), "phone", replace(POST, address="2001:db8:1:2::7"))
    own = replace(PHONE, cookie=device.cookie)
    assert access.require_device(replace(own, address="2001:db8:1:2:aaaa::9")) is device
    with pytest.raises(Refused):
        access.require_device(replace(own, address="2001:db8:1:3::7"))


def test_a_token_decides_once_and_only_on_its_version():
    device = Device("phone", "10.0.0.7")
    token = device.new_token(RUN)
    assert device.new_token(RUN) == token, "two tabs share it"
    assert not device.use_token(("20261130-1", "other digest"), token)
    assert not device.use_token(("20261130-2", "digest"), token)
    for wrong in ("", token[:-1], token + "A", "x"):
        assert not device.use_token(RUN, wrong)
    assert device.use_token(RUN, token)
    assert not device.use_token(RUN, token), "a replay"
    assert not device.use_token(RUN, ""), "an empty token is none"
    assert device.new_token(RUN) != token


def test_all_parts_of_the_present_version_must_have_been_sent():
    device = Device("phone", "10.0.0.7")
    assert not device.has_seen(RUN)
    device.note_part(RUN, 0, 3)
    device.note_part(RUN, 2, 3)
    assert not device.has_seen(RUN)
    device.note_part(RUN, 1, 3)
    assert device.has_seen(RUN)
    device.note_part(RUN, 0, 4)
    assert not device.has_seen(RUN), "the same result on a file that changed"
    assert not device.has_seen(("20261130-1", "other digest"))


def test_what_is_kept_of_shown_proposals_is_limited():
    device = Device("phone", "10.0.0.7")
    for number in range(2_000):
        device.note_part(("run", str(number)), 0, 1)
    assert len(device.painted) <= 500 and device.has_seen(("run", "1999"))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("my phone", "my phone"),
        ("  two\nlines\r\nSet-Cookie: x", "two lines Set-Cookie: x"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("", "device"),
        ("   ", "device"),
        ("x" * 500, "x" * 30),
    ],
)
def test_the_name_of_a_device_is_one_short_visible_line(given: str, name: str):
    assert device_name(given) == name
