"""Clusters with TLS between real processes, with certificates that the test makes."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.rundry import Home, Ran
from search.finder.remote.dask_cluster import DaskCluster

from rundry.agent.protocol import UserError
from rundry.agent.search.remote.cluster_connection import require_encryption
from rundry.agent.search.remote.loads import WorkerLoad
from rundry.agent.settings.search.executor import read_executor

from .conftest import states_of, write_search

pytest.importorskip("cryptography", reason="rundry[dask] is not installed")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificate:
    """A certificate that is its own authority."""

    file: Path
    key: Path

    @property
    def options(self) -> list[str]:
        """For `dask scheduler` and `dask worker`."""
        return ["--tls-ca-file", str(self.file), "--tls-cert", str(self.file), "--tls-key", str(self.key)]

    @property
    def env(self) -> dict[str, str]:
        """For the runner."""
        prefix = "DASK_DISTRIBUTED__COMM__TLS__"
        client = {f"{prefix}CLIENT__CERT": str(self.file), f"{prefix}CLIENT__KEY": str(self.key)}
        return {f"{prefix}CA_FILE": str(self.file), **client}


def certificate(folder: Path, name: str) -> Certificate:
    """Make a certificate for loopback."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file, secret = folder / f"{name}.pem", folder / f"{name}-key.pem"
    file.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return Certificate(file, secret)


@pytest.fixture
def ours(tmp_path: Path) -> Certificate:
    return certificate(tmp_path, "ours")


def argv_of(executor: str) -> list[str]:
    return ["find", "search.toml", "--trust", "--executor", executor, "--headless"]


def assert_one_line(ran: Ran, home: Home, *words: str) -> None:
    assert ran.exit_code == 2, ran
    assert ran.stdout == ""
    assert len(ran.stderr.strip().splitlines()) == 1, ran
    for word in words:
        assert word in ran.stderr, ran
    assert not home.journals()


def test_a_search_on_a_cluster_with_tls_ends_with_all_keys_and_others_certificates_are_refused_in_one_line(
    home: Home, place: Path, tmp_path: Path, ours: Certificate
):
    write_search(place, size=20)
    theirs = certificate(tmp_path, "theirs")
    with DaskCluster(tmp_path, workers=1, tls=ours.options) as cluster:
        argv = argv_of(cluster.executor)
        assert_one_line(
            home.run(*argv, cwd=place, env=theirs.env),
            home,
            cluster.executor,
            "correct the address or the certificates",
        )
        ran = home.run(*argv, cwd=place, env=ours.env)
    assert ran.exit_code == 0, ran
    assert states_of(home.journals()[0]) == {str(number): "done" for number in range(20)}


@pytest.mark.long
def test_certificates_that_do_not_fit_or_cannot_be_read_are_one_line(
    home: Home, place: Path, tmp_path: Path, ours: Certificate
):
    theirs = certificate(tmp_path, "theirs")
    missing = Certificate(tmp_path / "none.pem", tmp_path / "none-key.pem")
    stranger = {**theirs.env, "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(ours.file)}
    mixed = {**ours.env, "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY": str(theirs.key)}
    unusable = "the certificates of Dask cannot be used"
    with DaskCluster(tmp_path, workers=1, tls=ours.options) as cluster:
        argv = argv_of(cluster.executor)
        assert_one_line(home.run(*argv, cwd=place, env=stranger), home, cluster.executor)
        words = [f"{unusable} (No such file or directory)", str(missing.file)]
        assert_one_line(home.run(*argv, cwd=place, env=missing.env), home, cluster.executor, *words)
        assert_one_line(home.run(*argv, cwd=place, env=mixed), home, cluster.executor, unusable)
        without = argv_of(cluster.executor.replace("tls://", "dask://"))
        assert_one_line(home.run(*without, cwd=place), home, "no Dask scheduler answers")


def test_a_scheduler_without_tls_is_refused_in_one_line_when_tls_is_asked_for(
    home: Home, place: Path, tmp_path: Path, ours: Certificate
):
    with DaskCluster(tmp_path, workers=0) as cluster:
        executor = cluster.executor.replace("dask://", "tls://")
        assert_one_line(
            home.run(*argv_of(executor), cwd=place, env=ours.env),
            home,
            executor,
            "start one with `dask scheduler` and TLS",
        )


@pytest.mark.parametrize(
    ("address", "is_refused"),
    [
        ("tcp://127.0.0.1:4000", False),
        ("tcp://[::1]:4000", False),
        ("tls://10.0.0.5:4000", False),
        ("tcp://10.0.0.5:4000", True),
        ("tcp://[2001:db8::1]:4000", True),
        ("ucx://10.0.0.5:4000", True),
    ],
)
def test_a_worker_on_another_machine_without_tls_is_refused(address: str, is_refused: bool):
    worker = WorkerLoad(address, address, 1, [], 0.0, 0)
    executor = read_executor("dask://127.0.0.1:8786")
    if not is_refused:
        require_encryption(executor, [worker])
        return
    with pytest.raises(UserError, match="without TLS"):
        require_encryption(executor, [worker])
