"""Name why a connection to a model server cannot be made, and how to fix it."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

if TYPE_CHECKING:
    from ...protocol import FaultKind
    from ..lanes.proxies import Proxy

_TRUST = "Set SSL_CERT_FILE to a file with the certificate that signed it"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no connection."""

    what: str
    """What is wrong, without the server's address."""
    fix: str
    """How to fix it, as a sentence without a full stop."""
    kind: FaultKind = "server"
    retryable: bool = True

    def text(self, place: str) -> str:
        """Return two sentences about the server at this address."""
        return f"cannot connect to {place}: {self.what}. {self.fix}"


def problem_of(error: Exception, url: str, proxy: Proxy | None) -> Problem | None:
    """Return the problem behind an error of aiohttp; None for an error of another kind. `url`: the server's address."""
    import aiohttp

    host = urlsplit(url).hostname or url
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return _certificate(error.certificate_error, host)
        case aiohttp.ClientHttpProxyError():
            return proxy_refusal(error.status, error.message, proxy)
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientConnectorDNSError() if proxy is not None:
            return _dead_proxy(error.os_error, proxy)
        case aiohttp.ClientConnectorDNSError():
            return Problem(what=f"the host {host} is unknown", fix="Check its spelling and this machine's network")
        case aiohttp.ClientConnectorSSLError() | aiohttp.ClientSSLError():
            return _no_tls(error, host)
        case aiohttp.ConnectionTimeoutError():
            fix = "Check the address and whether a firewall is in between"
            return Problem(what=f"{host} does not answer", fix=fix)
        case aiohttp.ClientConnectorError() if isinstance(error.os_error, ConnectionRefusedError):
            return Problem(what="connection refused", fix="Is the server running? Start it, or check the port")
        case aiohttp.ClientConnectorError():
            words = error.os_error.strerror or str(error.os_error)
            return Problem(what=words.lower(), fix="Is the server running? Check this machine's network")
        case _:
            return None


def proxy_refusal(status: int, reason: str, proxy: Proxy | None) -> Problem:
    """Return the problem that a proxy answered with this status instead of connecting."""
    place, variable = (proxy.place, proxy.variable) if proxy else ("the proxy", "the proxy's address")
    if status == 407:
        what = f"the proxy {place} needs a user name and a password"
        fix = f"Write them into {variable} (http://USER:PASSWORD@HOST:PORT)"
        return Problem(what=what, fix=fix, kind="auth", retryable=False)
    what = f"the proxy {place} refused the connection ({status} {reason})".replace(" )", ")")
    retryable = status in (408, 429, 502, 503, 504)
    return Problem(
        what=what,
        fix=f"Check {variable}, or add the host to NO_PROXY",
        kind="server" if retryable else "bad-request",
        retryable=retryable,
    )


def _dead_proxy(error: OSError, proxy: Proxy | None) -> Problem:
    place, variable = (proxy.place, proxy.variable) if proxy else ("of the environment", "HTTPS_PROXY")
    why = "connection refused" if isinstance(error, ConnectionRefusedError) else str(error.strerror or error).lower()
    what = f"the proxy {place} cannot be reached ({why})"
    return Problem(what=what, fix=f"Check {variable}, or add the host to NO_PROXY")


def _certificate(error: Exception, host: str) -> Problem:
    code = error.verify_code if isinstance(error, ssl.SSLCertVerificationError) else 0
    match code:  # numbers of OpenSSL (x509_vfy.h)
        case 10:
            what, fix = f"the certificate of {host} has expired", "Renew it, and check the clock of this machine"
        case 9:
            what, fix = f"the certificate of {host} is not valid yet", "Check the clock of this machine"
        case 62 | 64:
            what, fix = f"the certificate is for another host than {host}", "Check the address of the server"
        case 18:
            what, fix = f"the certificate of {host} is self-signed", "Set SSL_CERT_FILE to a file that contains it"
        case 19:
            what, fix = f"the certificate of {host} is signed by a root that this machine does not trust", _TRUST
        case _:
            words = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else str(error)
            what, fix = f"the certificate of {host} is not trusted ({words})", _TRUST
    return Problem(what=what, fix=fix, retryable=False)


def _no_tls(error: Exception, host: str) -> Problem:
    words = str(error)
    if "WRONG_VERSION_NUMBER" in words or "wrong version number" in words or "record layer" in words.lower():
        return Problem(
            what=f"{host} does not speak TLS on this port", fix="Write http:// or another port", retryable=False
        )
    return Problem(what=f"no TLS connection ({' '.join(words.split())})", fix="Check the address", retryable=False)
