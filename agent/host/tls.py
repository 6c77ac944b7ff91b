"""The certificates with which TLS connections are verified."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

_PLACES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@cache
def tls() -> ssl.SSLContext:
    """Return a context with the certificates of this system and of certifi; `SSL_CERT_FILE` replaces both.

    The first call takes 60 ms.
    """
    import ssl

    context = ssl.create_default_context()
    if not os.environ.get("SSL_CERT_FILE"):
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def import_aiohttp() -> None:
    """Import aiohttp without the certificates that it loads twice on import (75 ms of 200 ms).

    Every connection must therefore use `tls()`; one without it has no certificates and fails.
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
