"""The certificates that connections are verified with."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

_PLACES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@cache
def tls() -> ssl.SSLContext:
    """Load the certificates of this system and of certifi; `SSL_CERT_FILE` replaces both. Takes 60 ms once."""
    import ssl

    context = ssl.create_default_context()
    if not os.environ.get("SSL_CERT_FILE"):
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def import_aiohttp() -> None:
    """Import aiohttp without the certificates that it loads twice on import (75 ms of 200).

    Every connection of ours passes `tls()`. One that does not has no certificates, so it fails.
    """
    before = {name: os.environ.get(name) for name in _PLACES}
    os.environ.update(dict.fromkeys(_PLACES, os.devnull))
    try:
        import aiohttp  # noqa: F401  # pyright: ignore[reportUnusedImport]
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
