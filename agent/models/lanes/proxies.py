"""Find the proxy that the environment names for a model server (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`)."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

import msgspec

from ...protocol import UserError

_SPOKEN = ("http", "https")


class Proxy(msgspec.Struct, frozen=True):
    """The proxy of a connection."""

    url: str
    """Its address, with user name and password if it has them."""
    variable: str
    """The variable that names it."""

    @property
    def place(self) -> str:
        """Its address without user name and password."""
        return re.sub(r"//[^/@]*@", "//", self.url)


def proxy_for(url: str, *, local: bool) -> Proxy | None:
    """Return the environment's proxy for the address; None for a server on this machine or network.

    Raises UserError for a proxy that rundry cannot use, such as a SOCKS proxy: it is never bypassed silently.
    """
    if local:
        return None
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    found = getproxies()
    kind = parts.scheme if found.get(parts.scheme) else "all"
    address = found.get(kind, "").strip()
    if not address or proxy_bypass(parts.hostname or ""):
        return None
    names = (f"{kind}_proxy", f"{kind}_proxy".upper())
    variable = next((name for name in names if os.environ.get(name)), "the system's proxy settings")
    proxy = Proxy(address if "://" in address else f"http://{address}", variable)
    if urlsplit(proxy.url).scheme.lower() not in _SPOKEN:
        raise UserError(
            f"{variable} names the proxy {proxy.place}, and rundry cannot use proxies of this kind: "
            f"set {parts.scheme.upper()}_PROXY to an HTTP proxy, or add {parts.hostname or 'the host'} to NO_PROXY"
        )
    return proxy


def proxy_url(url: str, *, local: bool) -> str | None:
    """Return the address of that proxy, as aiohttp takes it."""
    proxy = proxy_for(url, local=local)
    return None if proxy is None else proxy.url
