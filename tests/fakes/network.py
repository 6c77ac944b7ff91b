"""A small local network of network namespaces: `desk`, `phone` and `stranger` on one bridge, without the internet."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NET = 0x40000000
"""CLONE_NEWNET."""
ADDRESSES = {"desk": "10.77.0.1", "phone": "10.77.0.2", "stranger": "10.77.0.3"}


class Machine:
    """One namespace, with its address."""

    def __init__(self, space: str, address: str) -> None:
        self._space, self.address = space, address

    @property
    def words(self) -> list[str]:
        """The words before a command that runs there."""
        return ["ip", "netns", "exec", self._space]

    def socket(self, info: tuple[int, int, int, str, object]) -> socket.socket:
        """A socket of that machine, as aiohttp asks for one. Only this thread is there, and only for this call."""
        family, kind, protocol = info[:3]
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        there = os.open(f"/run/netns/{self._space}", os.O_RDONLY | os.O_CLOEXEC)
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            assert libc.setns(there, _NET) == 0, os.strerror(ctypes.get_errno())
            return socket.socket(family, kind, protocol)
        finally:
            assert libc.setns(own, _NET) == 0, os.strerror(ctypes.get_errno())
            os.close(own)
            os.close(there)

    def connect(self, address: str, port: int) -> socket.socket:
        """A connection from that machine."""
        found = self.socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", None))
        found.settimeout(20)
        try:
            found.connect((address, port))
        except BaseException:
            found.close()
            raise
        return found


def why_no_network() -> str:
    """Why such a network cannot be made here, or an empty text."""
    if shutil.which("ip") is None:
        return "there is no ip: apt-get install iproute2"
    name = f"rundry-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode == 0:
        linked = _ip("-n", name, "link", "add", "name", "probe", "type", "bridge", check=False)
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
        return "" if linked.returncode == 0 else f"no bridge can be made: {linked.stderr.strip()}"
    return f"no network namespace can be made: {made.stderr.strip()}"


@contextmanager
def network() -> Iterator[dict[str, Machine]]:
    """The machines of the network; they are gone afterwards."""
    tag = f"rundry-{os.getpid()}-{os.urandom(2).hex()}"
    machines = {name: Machine(f"{tag}-{name}", address) for name, address in ADDRESSES.items()}
    try:
        for name in machines:
            _ip("netns", "add", f"{tag}-{name}")
            _ip("-n", f"{tag}-{name}", "link", "set", "lo", "up")
        desk = f"{tag}-desk"
        _ip("-n", desk, "link", "add", "name", "br0", "type", "bridge")
        _ip("-n", desk, "link", "set", "br0", "up")
        _ip("-n", desk, "addr", "add", f"{ADDRESSES['desk']}/24", "dev", "br0")
        for name in ("phone", "stranger"):
            peer = ["peer", "name", "eth0", "netns", f"{tag}-{name}"]
            _ip("-n", desk, "link", "add", "name", f"to-{name}", "type", "veth", *peer)
            _ip("-n", desk, "link", "set", f"to-{name}", "master", "br0", "up")
            _ip("-n", f"{tag}-{name}", "addr", "add", f"{ADDRESSES[name]}/24", "dev", "eth0")
            _ip("-n", f"{tag}-{name}", "link", "set", "eth0", "up")
        yield machines
    finally:
        for name in machines:
            if Path(f"/run/netns/{tag}-{name}").exists():
                _ip("netns", "del", f"{tag}-{name}")


def _ip(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert not check or done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"
    return done
