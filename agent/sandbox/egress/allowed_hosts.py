"""The list of hosts that commands may reach."""

from __future__ import annotations

from collections.abc import Iterable

from ...host.address_hosts import Target, read_host, split_host
from ...host.internet import address_in_entry

_USUAL = frozenset({80, 443})


class HostList:
    """Host names and `*.` suffixes. An entry without a port stands for the ports 80 and 443."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Parse the entries. Raises ValueError for an invalid one."""
        self.entries = [read_host(entry) for entry in entries]
        self._exact: dict[str, set[int]] = {}
        self._below: dict[str, set[int]] = {}
        for entry in self.entries:
            is_suffix, host, port = split_host(entry)
            table = self._below if is_suffix else self._exact
            table.setdefault(host, set()).update(_USUAL if port is None else {port})
        self.addresses = frozenset(a for entry in self.entries if (a := address_in_entry(entry)) is not None)
        """Addresses that are listed themselves, which may be private."""

    def allows(self, target: Target) -> bool:
        """Return whether the list allows this host and port. `*.x.org` matches each name below x.org, but not x.org."""
        if target.port in self._exact.get(target.host, ()):
            return True
        parts = target.host.split(".")
        return any(target.port in self._below.get(".".join(parts[at:]), ()) for at in range(1, len(parts)))
