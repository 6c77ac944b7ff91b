"""Certificates of a small authority, for servers on loopback."""

from __future__ import annotations

import base64
import datetime
import hashlib
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)


class Authority:
    """Signs certificates. `file` holds its own one, as `SSL_CERT_FILE` takes it."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._own = self._sign(name, self._key, [], NOW - DAY, NOW + DAY, is_authority=True)
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(self._own.public_bytes(serialization.Encoding.PEM))

    def server(
        self,
        *hosts: str,
        starts: datetime.datetime = NOW - DAY,
        ends: datetime.datetime = NOW + DAY,
        is_self_signed: bool = False,
        with_root: bool = False,
    ) -> ssl.SSLContext:
        """The context of a server with a certificate for these hosts. `with_root`: it sends the authority's, too."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(
            self.file_for(*hosts, starts=starts, ends=ends, is_self_signed=is_self_signed, with_root=with_root)
        )
        return context

    def file_for(
        self,
        *hosts: str,
        starts: datetime.datetime = NOW - DAY,
        ends: datetime.datetime = NOW + DAY,
        is_self_signed: bool = False,
        with_root: bool = False,
        passphrase: bytes | None = None,
    ) -> Path:
        """One file with the key and the certificate for these hosts."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = self._sign(hosts[0], key, hosts, starts, ends, signer=key if is_self_signed else None)
        file = self._folder / f"{self._name}-{len(list(self._folder.iterdir()))}.pem"
        hidden = (
            serialization.NoEncryption() if passphrase is None else serialization.BestAvailableEncryption(passphrase)
        )
        secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden)
        chain = signed.public_bytes(serialization.Encoding.PEM)
        file.write_bytes(secret + chain + (self.file.read_bytes() if with_root else b""))
        return file

    def _sign(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        hosts: tuple[str, ...] | list[str],
        starts: datetime.datetime,
        ends: datetime.datetime,
        *,
        is_authority: bool = False,
        signer: ec.EllipticCurvePrivateKey | None = None,
    ) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = subject if signer is not None or is_authority else self._own.subject
        built = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(starts)
            .not_valid_after(ends)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        names = [_name(host) for host in hosts]
        if names:
            built = built.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return built.sign(signer or self._key, hashes.SHA256())


def pin_of(file: Path) -> str:
    """The SHA-256 of the public key in base64, by which Chromium accepts a certificate that nobody signed."""
    public = x509.load_pem_x509_certificate(file.read_bytes()).public_key()
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(der).digest()).decode()


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
