"""Certificates for `rundry approve --serve`: the user's own, and those that are made for one call."""

from __future__ import annotations

import datetime
import hashlib
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from fakes.web.certificates import DAY, NOW, Authority

from rundry.agent import UserError
from rundry.tui.web.certificate import load, make
from rundry.tui.web.device_command import bind_address, name_of_link, read_seconds


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def fingerprint_of(pem: Path) -> str:
    der = x509.load_pem_x509_certificate(pem.read_bytes()).public_bytes(serialization.Encoding.DER)
    return hashlib.sha256(der).hexdigest().upper()


def test_a_certificate_of_an_own_authority_is_read_with_its_names(authority: Authority):
    pem = authority.file_for("desk.lan", "10.0.0.1", "2001:db8::5", with_root=True)
    found = load(pem, pem)
    assert not found.is_self_signed
    assert found.names == ("desk.lan", "10.0.0.1", "2001:db8::5")
    assert found.fingerprint.replace(":", "") == fingerprint_of(pem)
    assert found.covers("desk.lan") and found.covers("DESK.lan") and found.covers("10.0.0.1")
    assert not found.covers("phone.lan") and not found.covers("10.0.0.2")


def test_a_self_signed_one_is_recognised_also_if_the_user_made_it(authority: Authority):
    pem = authority.file_for("desk.lan", is_self_signed=True)
    assert load(pem, pem).is_self_signed


def test_one_that_is_made_is_self_signed_for_this_address_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = make("10.0.0.1")
    assert made.is_self_signed and made.names == ("10.0.0.1",) and made.covers("10.0.0.1")
    assert made.fingerprint != make("10.0.0.1").fingerprint
    assert made.context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ((NOW - 3 * DAY, NOW - 2 * DAY), "expired"),
        ((NOW + 2 * DAY, NOW + 3 * DAY), "not yet valid"),
    ],
    ids=["expired", "future"],
)
def test_one_that_is_not_valid_now_is_refused_before_anything_listens(
    authority: Authority, times: tuple[datetime.datetime, datetime.datetime], said: str
):
    pem = authority.file_for("desk.lan", starts=times[0], ends=times[1])
    with pytest.raises(UserError, match=said):
        load(pem, pem)


def test_files_that_do_not_fit_are_named(authority: Authority, tmp_path: Path):
    one, other = authority.file_for("desk.lan"), authority.file_for("desk.lan")
    hidden = authority.file_for("desk.lan", passphrase=b"secret")
    text = tmp_path / "text.pem"
    text.write_text("hello")
    for cert, key in ((one, other), (hidden, hidden), (text, text)):
        with pytest.raises(UserError, match="both must be PEM, the key without a passphrase"):
            load(cert, key)
    with pytest.raises(UserError, match=r"--key .*none\.pem: no such file"):
        load(one, tmp_path / "none.pem")


def test_the_link_has_a_name_that_the_certificate_is_for(authority: Authority):
    both, wild = authority.file_for("*.lan", "desk.lan"), authority.file_for("*.lan")
    assert name_of_link(load(both, both), "10.0.0.1") == "desk.lan"
    assert name_of_link(load(both, both), "other.lan") == "other.lan"
    with pytest.raises(UserError, match=r"for \*\.lan, not for 10\.0\.0\.1: give a name of it with --bind"):
        name_of_link(load(wild, wild), "10.0.0.1")


@pytest.mark.parametrize("asked", ["0.0.0.0", "::", "0"])
def test_no_name_for_all_addresses_is_accepted(asked: str):
    with pytest.raises(UserError, match="every network"):
        bind_address(asked)


@pytest.mark.parametrize("asked", ["", "no.such.name.invalid", "224.0.0.1", "300.1.1.1"])
def test_an_address_that_cannot_be_opened_is_refused_with_those_that_there_are(asked: str):
    with pytest.raises(UserError, match=r"127\.0\.0\.1"):
        bind_address(asked)


def test_a_named_address_is_used_as_it_is():
    assert bind_address("127.0.0.1") == ("127.0.0.1", "127.0.0.1")
    assert bind_address("LOCALHOST")[1] == "localhost"


@pytest.mark.parametrize("text", ["0", "none", "25h", "2 days", "-1"])
def test_the_time_is_between_nothing_and_a_day(text: str):
    with pytest.raises(UserError):
        read_seconds(text)
    assert read_seconds("2h") == 7200
