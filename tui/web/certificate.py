"""The certificate of a server on the local network: the user's own one, or one made for this call.

Everything that is read of a certificate comes from a handshake in memory, so that `cryptography` is needed only to
make one.
"""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from rundry.agent import UserError, missing_extra

_DAYS = 2
"""Days for which a certificate of this program is valid: longer than the server may run."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a server presents."""

    context: ssl.SSLContext
    fingerprint: str
    """SHA-256 of the certificate, as browsers show it: `3A:07:…`."""
    is_self_signed: bool
    names: tuple[str, ...]
    """The names and addresses for which it is valid."""

    def covers(self, host: str) -> bool:
        """Return whether the certificate is valid for a name or an address."""
        parent = host.partition(".")[2]
        wild = f"*.{parent}" if parent and not _is_address(host) else None
        return host.lower() in self.names or wild in self.names


def load(cert: Path, key: Path) -> Certificate:
    """Load the user's own certificate with its chain. Raises UserError."""
    for option, path in (("--cert", cert), ("--key", key)):
        if not path.is_file():
            raise UserError(f"{option} {path}: no such file")
    context = _server_context()
    try:
        context.load_cert_chain(cert, key, password="")  # otherwise OpenSSL would ask on the terminal
    except ssl.SSLError as error:
        what = error.reason or str(error)
        raise UserError(
            f"--cert {cert} and --key {key} cannot be used ({what}): both must be PEM, the key without a passphrase"
        ) from None
    except OSError as error:
        raise UserError(f"--cert {cert} and --key {key} cannot be read: {error.strerror}") from None
    return _read(context, cert, f"--cert {cert}")


def make(host: str) -> Certificate:
    """Make a self-signed certificate for a name or an address. Nothing of it is kept on the disk. Raises UserError."""
    if missing := missing_extra("device", "cryptography"):
        raise UserError(f"a certificate cannot be made here: name yours with --cert and --key, or {missing}")
    with TemporaryDirectory(prefix="rundry-cert-") as folder:  # only the user can read it
        cert, key = Path(folder, "cert.pem"), Path(folder, "key.pem")
        _write_self_signed(host, cert, key)
        context = _server_context()
        context.load_cert_chain(cert, key)
        return _read(context, cert, "the certificate")


def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _read(server: ssl.SSLContext, cert: Path, named: str) -> Certificate:
    """Return what a client sees of a certificate. Raises UserError if it is not valid now, or not for servers."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # who signed it is not asked here
    client.load_verify_locations(cafile=cert)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server)
    answering = server.wrap_bio(to_server, to_client, server_side=True)
    try:
        while not all([_goes_on(asking), _goes_on(answering)]):
            pass
    except ssl.SSLCertVerificationError as error:
        raise UserError(f"{named} cannot be used: {error.verify_message}") from None
    except ssl.SSLError as error:
        raise UserError(f"{named} cannot be used: {error.reason or error}") from None
    facts = cast("dict[str, Any]", asking.getpeercert() or {})
    return Certificate(
        context=server,
        fingerprint=_fingerprint(asking.getpeercert(binary_form=True) or b""),
        is_self_signed=facts.get("subject") == facts.get("issuer"),
        names=tuple(_normal(value) for kind, value in facts.get("subjectAltName", ()) if kind in ("DNS", "IP Address")),
    )


def _goes_on(side: ssl.SSLObject) -> bool:
    """Continue the handshake of one side, and return whether it is done."""
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _fingerprint(der: bytes) -> str:
    digits = hashlib.sha256(der).hexdigest().upper()
    return ":".join(digits[at : at + 2] for at in range(0, len(digits), 2))


def _normal(name: str) -> str:
    """Return a name in small letters, and an address in its short form: OpenSSL writes all groups of IPv6."""
    try:
        return str(ipaddress.ip_address(name.strip()))
    except ValueError:
        return name.lower()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _write_self_signed(host: str, cert: Path, key: Path) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rundry approve")])
    address = x509.IPAddress(ipaddress.ip_address(host)) if _is_address(host) else x509.DNSName(host)
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(private, hashes.SHA256())
    )
    cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key.touch(mode=0o600)
    plain = serialization.NoEncryption()
    key.write_bytes(private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
