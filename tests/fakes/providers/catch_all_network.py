"""A network in which every address and every name answers, and each request that arrives is kept as it came.

`run_inside` starts a module of `tests/` in a network and mount namespace of its own. There, `Everywhere` answers DNS,
HTTP and HTTPS: all addresses are routes to loopback, and a certificate is made for each name that a client asks for.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import datetime
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

TESTS = Path(__file__).parents[2]
PORTS = {port: port in (443, 9443) for port in (80, 443, 1234, 2024, 7860, 8000, 8080, 9443, 11434, 22088)}
"""The ports that answer, and whether they speak TLS."""
_UNSHARE = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--")
_PREPARE = """
ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo &&
mount --bind "$1" /etc/resolv.conf && shift && exec "$@"
"""
_ADDRESS = socket.inet_aton("203.0.113.80")
_YEAR = datetime.timedelta(days=365)
ANSWER = {
    "id": "a", "object": "chat.completion", "model": "m", "created": 1, "finish_reason": "stop",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
    "data": [{"id": "some-model"}], "models": [{"name": "some-model"}],
    "access_token": "derived-token", "token": "derived-token", "id_token": "derived-token", "token_type": "Bearer",
    "expires_in": 3600, "expires_at": 4102444800, "expiration": 4102444800, "refresh_in": 1500,
    "endpoints": {"api": "https://api.githubcopilot.com"},
}  # fmt: skip
"""What every path answers: a chat completion, a list of models, and the token of a login."""


class Arrived(msgspec.Struct, frozen=True, kw_only=True):
    """One request as it arrived."""

    host: str
    """The name in the TLS handshake, else the header `Host` without its port."""
    port: int
    target: str
    """Path and query."""
    raw: bytes
    """All bytes, with the body."""

    @property
    def readable(self) -> bytes:
        """The request, also percent-decoded, and with the credentials of Basic authorization decoded."""
        basic: list[bytes] = []
        for sent in re.findall(rb"(?im)^authorization: basic (\S+)", self.raw):
            with suppress(binascii.Error):  # a token that is not base64
                basic.append(base64.b64decode(sent + b"=="))
        return b"\n".join([self.raw, unquote_to_bytes(self.raw), *basic])


def why_not() -> str | None:
    """Return why no such network can be made here; None if it can."""
    for program in ("unshare", "ip", "mount"):
        if shutil.which(program) is None:
            return f"{program} is missing"
    tried = subprocess.run([*_UNSHARE, "ip", "link", "set", "lo", "up"], capture_output=True, text=True, check=False)
    return f"no network namespace: {tried.stderr.strip()}" if tried.returncode else None


def run_inside(module: str, given: bytes, *, seconds: float, home: Path) -> bytes:
    """Run `python -m MODULE` in the namespace with `given` on its standard input, and return its standard output."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as resolver:
        resolver.write("nameserver 127.0.0.1\noptions timeout:2 attempts:1\n")
        resolver.flush()
        program = [sys.executable, "-m", module]
        done = subprocess.run(
            [*_UNSHARE, "sh", "-c", _PREPARE, "sh", resolver.name, *program],
            input=given, capture_output=True, cwd=TESTS, timeout=seconds, check=False,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"},
        )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace")[-4000:])
    return done.stdout


class Everywhere:
    """The servers of the namespace, in a thread of their own."""

    def __init__(self, folder: Path) -> None:
        self.arrived: list[Arrived] = []
        self.redirects_to: str | None = None
        """The host to which every other host sends the client, or None if all hosts answer."""
        self._authority = _Authority(folder)
        self.ca_file = self._authority.file
        self._ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self._ready.wait()

    def take(self) -> list[Arrived]:
        """Return what arrived since the last call."""
        found, self.arrived = self.arrived, []
        return found

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(_Resolver, local_addr=("127.0.0.1", 53))
        for port, is_tls in PORTS.items():
            for host in ("0.0.0.0", "::"):
                context = self._authority.serving() if is_tls else None
                await asyncio.start_server(self._answer, host, port, ssl=context)
        self._ready.set()
        await asyncio.Event().wait()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
                if re.search(rb"(?i)^expect: 100-continue", head, re.MULTILINE):
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = await _body(reader, head)
                writer.write(self._response(head, body, writer))
                await writer.drain()
        except (asyncio.IncompleteReadError, TimeoutError, ConnectionError):
            pass
        finally:
            writer.close()

    def _response(self, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> bytes:
        target = head.split(b" ", 2)[1].decode("latin-1")
        named = re.search(rb"(?im)^host: *(\S+)", head)
        handshake = writer.get_extra_info("ssl_object")
        host = getattr(handshake, "asked_for", None) or _host_of(named[1].decode() if named else "")
        port: int = writer.get_extra_info("sockname")[1]
        self.arrived.append(Arrived(host=host, port=port, target=target, raw=head + body))
        data = json.dumps(ANSWER).encode()
        lines = [b"Content-Type: application/json"]
        status = b"200 OK"
        if self.redirects_to is not None and host != self.redirects_to:
            scheme = "http" if handshake is None else "https"
            status, data = b"307 Temporary Redirect", b""
            lines.append(f"Location: {scheme}://{self.redirects_to}{target}".encode())
        lines += [b"Connection: close", b"Content-Length: %d" % len(data)]
        return b"HTTP/1.1 %s\r\n%s\r\n\r\n%s" % (status, b"\r\n".join(lines), data)


async def _body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    if re.search(rb"(?i)^transfer-encoding: *chunked", head, re.MULTILINE):
        body = b""
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
        return body
    length = re.search(rb"(?im)^content-length: *(\d+)", head)
    return await reader.readexactly(int(length[1])) if length else b""


def _host_of(authority: str) -> str:
    return urlsplit(f"//{authority}").hostname or ""


class _Resolver(asyncio.DatagramProtocol):
    """Gives every name one IPv4 address (RFC 1035)."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 5
        asks_v4 = data[end - 4 : end - 2] == b"\0\1"
        answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + _ADDRESS if asks_v4 else b""
        head = data[:2] + b"\x81\x80\0\1" + (b"\0\1" if asks_v4 else b"\0\0") + b"\0\0\0\0"
        self._transport.sendto(head + data[12:end] + answer, addr)  # type: ignore[attr-defined]


class _Authority:
    """Makes a certificate for each name that a client asks for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "everywhere")])
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        self._certificate = self._signed(self._name, self._key, constraints)
        self.file = folder / "authority.pem"
        self.file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))
        self._of = cache(self._of_name)

    def serving(self) -> ssl.SSLContext:
        """Return the context of a server. Each handshake gets the certificate of its name."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

        def named(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            connection.asked_for = name  # type: ignore[attr-defined]
            connection.context = self._of(name or "unnamed.example")

        context.sni_callback = named  # type: ignore[assignment]
        return context

    def _of_name(self, name: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        certificate = self._signed(subject, key, x509.SubjectAlternativeName([x509.DNSName(name)]))
        encoding = serialization.Encoding.PEM
        secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        file = self._folder / f"{name}.pem"
        file.write_bytes(secret + certificate.public_bytes(encoding))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(
            issuer_name=self._name, subject_name=subject, public_key=key.public_key(),
            serial_number=x509.random_serial_number(), not_valid_before=now - _YEAR, not_valid_after=now + _YEAR,
        )  # fmt: skip
        return builder.add_extension(extension, critical=False).sign(self._key, hashes.SHA256())
