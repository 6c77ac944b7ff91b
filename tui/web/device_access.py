"""Decide what a request to `rundry approve --serve` may do: the link, one paired device, one-time tokens.

Imports no aiohttp. The clock is a parameter, so that tests need not wait.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ..text.show_text import one_line

if TYPE_CHECKING:
    from rundry.agent import Clock

LINK_SECONDS = 600.0
"""Seconds for which the link pairs a device."""
NAME_LENGTH = 30
"""Most characters of a device's name."""
_TOKENS = 500
"""Most tokens that are kept; the oldest one is dropped."""
_V6_BITS = 64

WRONG_HOST = "this server does not have that name"
OTHER_SITE = "another site asked for this"
NOT_PAIRED = "this device is not paired: open the link that the command printed"
WRONG_LINK = "this link is wrong or no longer valid: start the command again for a new one"
TAKEN = "another device was paired with this link: if that was not you, end the command in the terminal"
ELSEWHERE = "the paired device has another address now: start the command again and pair it"
USED = "this form was used before, or it is too old: open the proposal again"
UNSEEN = "not every part of this change was opened on this device: open all of them first"

FetchSite = Literal["none", "same-origin", "same-site", "cross-site"]
"""The values of the header `Sec-Fetch-Site`; an unknown one counts as `cross-site`."""
Refusal = Literal["host", "site", "link", "taken", "device", "elsewhere"]
_WORDS: Mapping[Refusal, str] = {
    "host": WRONG_HOST,
    "site": OTHER_SITE,
    "link": WRONG_LINK,
    "taken": TAKEN,
    "device": NOT_PAIRED,
    "elsewhere": ELSEWHERE,
}


class Refused(Exception):
    """The request is refused."""

    def __init__(self, kind: Refusal) -> None:
        super().__init__(_WORDS[kind])
        self.kind: Refusal = kind


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of a request that access depends on."""

    method: str
    host: str | None
    origin: str | None
    fetch_site: FetchSite | None
    """The origin of the request as the browser reports it. None means that it does not."""
    address: str
    """Of the other end of the connection."""
    cookie: str | None = None


@dataclass(slots=True)
class Painted:
    """One version of a proposal as it was sent to the device: the parts, and the token of its form."""

    parts: set[int] = field(default_factory=set[int])
    """Indexes of the parts that were sent."""
    count: int = 0
    """Number of parts that there are."""
    token: str = ""
    """Allows one decision. Empty means that it was used, or no form was sent yet."""


Version = tuple[str, str]
"""A run and the digest of a proposal in it."""


@dataclass(slots=True)
class Device:
    """A device that was paired."""

    name: str
    address: str
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    painted: dict[Version, Painted] = field(default_factory=dict[Version, Painted])

    def note_part(self, version: Version, part: int, count: int) -> Painted:
        """Note that one of `count` parts of a proposal is sent, and return what was sent of this version so far."""
        painted = self.painted.setdefault(version, Painted())
        if painted.count != count:  # the same result on another file
            painted.count, painted.parts = count, set[int]()
        painted.parts.add(part)
        while len(self.painted) > _TOKENS:
            self.painted.pop(next(iter(self.painted)))
        return painted

    def new_token(self, version: Version) -> str:
        """Return the token for the form of this version. Forms in two tabs share it until it is used."""
        painted = self.painted.setdefault(version, Painted())
        painted.token = painted.token or secrets.token_urlsafe(24)
        return painted.token

    def has_seen(self, version: Version) -> bool:
        """Return whether each part of this version was sent."""
        painted = self.painted.get(version)
        return painted is not None and len(painted.parts) == painted.count > 0

    def use_token(self, version: Version, token: str) -> bool:
        """Return whether this token allows a decision on this version, and use it up."""
        painted = self.painted.get(version)
        if painted is None or not painted.token or not _is_equal(painted.token, token):
            return False
        painted.token = ""
        return True


def fetch_site(header: str | None) -> FetchSite | None:
    """Return the value of the header `Sec-Fetch-Site`."""
    match header:
        case None | "none" | "same-origin" | "same-site":
            return header
        case _:
            return "cross-site"


@dataclass(slots=True)
class DeviceAccess:
    """Decide about the requests to the server at one port."""

    names: tuple[str, ...]
    """The names and addresses under which it is served, as browsers write them: the one of the link first."""
    port: int
    clock: Clock
    device: Device | None = None
    base: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(12)}/")
    """The random path of all pages behind the cookie, and of the cookie. The link does not contain it."""
    cookie_name: str = field(default_factory=lambda: f"rundry_{secrets.token_urlsafe(8)}")
    _secret: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    """144 bits."""
    _until: float = 0.0

    def __post_init__(self) -> None:
        """Let the link become valid."""
        self._until = self.clock.monotonic() + LINK_SECONDS

    @property
    def hosts(self) -> list[str]:
        """What a browser may send as `Host`; it leaves out the port of HTTPS."""
        return [name if self.port == 443 else f"{name}:{self.port}" for name in self.names]

    @property
    def link(self) -> str:
        """The address to open on the device."""
        return f"https://{self.hosts[0]}/link/{self._secret}"

    def check_place(self, asked: Asked) -> None:
        """Raise Refused for another name of this server (DNS rebinding), or a form of another site."""
        if asked.host is None or asked.host.lower() not in self.hosts:
            raise Refused("host")
        if asked.method == "POST" and asked.origin != f"https://{asked.host.lower()}":
            raise Refused("site")
        if asked.method == "POST" and asked.fetch_site not in (None, "same-origin"):
            raise Refused("site")

    def check_link(self, secret: str) -> None:
        """Raise Refused unless the link with this secret can pair a device now. Uses nothing up."""
        is_right = _is_equal(secret, self._secret)
        if is_right and self.device is not None:
            raise Refused("taken")
        if not is_right or self.clock.monotonic() >= self._until:
            raise Refused("link")

    def pair(self, secret: str, name: str, asked: Asked) -> Device:
        """Pair the device that sent the form of the link. Raises Refused."""
        self.check_link(secret)
        self.device = Device(device_name(name), asked.address)
        return self.device

    def require_device(self, asked: Asked) -> Device:
        """Return the paired device if the request comes from it. Raises Refused."""
        if asked.fetch_site in ("cross-site", "same-site"):
            raise Refused("site")
        device = self.device
        if device is None or asked.cookie is None or not _is_equal(asked.cookie, device.cookie):
            raise Refused("device")
        if not _is_same_place(asked.address, device.address):
            raise Refused("elsewhere")
        return device


def device_name(name: str) -> str:
    """Return the name of a device for the journal and the terminal: one line, without anything invisible."""
    return one_line(" ".join(name.split()))[:NAME_LENGTH].strip() or "device"


def _is_equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _is_same_place(one: str, other: str) -> bool:
    """Return whether two addresses are the same. Of IPv6, half of it: devices change the other half by themselves."""
    try:
        first, second = ipaddress.ip_address(one), ipaddress.ip_address(other)
    except ValueError:
        return one == other
    if isinstance(first, ipaddress.IPv6Address) and isinstance(second, ipaddress.IPv6Address):
        return int(first) >> _V6_BITS == int(second) >> _V6_BITS
    return first == second
