"""Addresses of clouds that look public: no name may lead there unless the user listed the address itself."""

from __future__ import annotations

import pytest

from rundry.agent.host.internet import may_resolve_to

METADATA = (
    "168.63.129.16",
    "::ffff:168.63.129.16",
    "64:ff9b::168.63.129.16",
    "2002:a83f:8110::1",
    "169.254.169.254",
    "169.254.170.2",
    "fe80::a9fe:a9fe",
    "fd00:ec2::254",
    "fd20:ce::254",
    "100.100.100.200",
    "192.0.0.192",
    "192.0.0.8",
    "192.88.99.1",
    "3fff::1",
    "5f00::1",
)


@pytest.mark.parametrize("address", METADATA)
def test_a_name_does_not_lead_to_an_address_of_the_provider_itself(address: str) -> None:
    assert not may_resolve_to("pypi.org", address, frozenset())


def test_an_address_of_the_provider_that_the_user_listed_is_used() -> None:
    assert may_resolve_to("168.63.129.16", "168.63.129.16", frozenset({"168.63.129.16"}))
    assert may_resolve_to("pypi.org", "168.63.129.15", frozenset())
