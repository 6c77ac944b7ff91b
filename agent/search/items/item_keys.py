"""One logical item has one key for all of its spellings (docs/requirements.md 2.4.1)."""

from __future__ import annotations

import os
import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, assert_never
from urllib.parse import quote_from_bytes, unquote_to_bytes

if TYPE_CHECKING:
    from ...protocol import ItemKind

_RAW = "raw:"
_BYTES = "bytes:"
_PATH_MAX = 4096
"""Bytes. The kernel opens no longer path, and to resolve one segment by segment has quadratic cost."""
_CACHED = 2_048
"""Characters of the longest URL that is cached: without a limit the cache would grow by megabytes."""

_IPV4 = r"(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_NAME = r"(?!(?:[a-z0-9-]*\.)*xn--)(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*"
_SEGMENT = r"/(?!\.{1,2}(?:[/?]|\Z))[A-Za-z0-9._~!$&'()*+,:=@-]*"
_PAIR = r"[A-Za-z0-9._~-]+=[A-Za-z0-9._~-]*"
_NORMAL = re.compile(
    rf"https?://(?:{_IPV4}|{_NAME})(?::(?!80/|443/)(?:[1-9]\d{{0,3}}|[1-5]\d{{4}}))?(?:{_SEGMENT})+"
    rf"(?:\?({_PAIR}(?:&{_PAIR})*))?",
    re.ASCII,
)
"""URLs that are their own key once their query is sorted: most links of a site."""
_STRAY_BYTE = re.compile(r"[\udc80-\udcff]")


def item_key(kind: ItemKind, value: str, root: Path, *, of_user: bool = False) -> str:
    """Return the key of an item, the same for each of its spellings. Never raises for a text, whatever it contains.

    A file's key is its real path; a relative path starts from `root`. `~` means the home folder only if a user wrote it
    (`of_user`). A text that cannot name an item of its kind has the key `raw:TEXT`. A path that is not UTF-8 has the
    key `bytes:` with its bytes percent-encoded. Every key can be stored and printed as UTF-8. The key of a key of the
    kinds `url` and `value` is itself.
    """
    match kind:
        case "url":
            return _cached_url_key(value) if len(value) <= _CACHED else url_key(value)
        case "file":
            return _file_key(value, root, of_user=of_user)
        case "value":
            return storable(unicodedata.normalize("NFC", value.strip()))
        case _:
            assert_never(kind)


def file_of(key: str) -> Path:
    """Return the path that a file's key stands for, with its bytes as on disk. Raises ValueError if
    it names no path.
    """
    if key.startswith(_BYTES):
        return Path(os.fsdecode(unquote_to_bytes(key.removeprefix(_BYTES))))
    if not key.startswith("/"):
        raise ValueError(f"{key}: not a path")
    return Path(key)


def storable(text: str) -> str:
    """Return the text if it is UTF-8; else `raw:` and the text with other bytes and backslashes escaped."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _RAW + text.replace("\\", "\\\\").encode("utf-8", "backslashreplace").decode()
    return text


def url_key(text: str) -> str:
    """Return the key of a URL like `item_key`, without its cache."""
    if text.startswith(_RAW):
        return storable(text)
    plain = text.partition("#")[0]  # the first # ends every other part of a URL: WHATWG, 4.4
    found = _NORMAL.fullmatch(plain)
    if found is not None and _is_sorted(found[1]):
        return plain
    return normalised(text)


_cached_url_key = lru_cache(maxsize=8_192)(url_key)


def normalised(text: str) -> str:
    """Return a URL's key with the libraries: the slow, exact way of `url_key`, 10 to 20 µs."""
    import ada_url  # these two cost 50 ms to import
    from w3lib.url import canonicalize_url

    plain = _STRAY_BYTE.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text.partition("#")[0])
    try:
        url = ada_url.URL(plain)
        if (host := url.hostname).endswith(".") and host.strip("."):
            url.hostname = host.rstrip(".")
        if url.protocol in ("http:", "https:", "ws:", "wss:", "ftp:"):
            return canonicalize_url(url.href, keep_blank_values=True, keep_fragments=False)
        return url.href  # the part after another scheme has its own grammar
    except ValueError:  # includes UnicodeEncodeError
        return _raw(text)


def _is_sorted(query: str | None) -> bool:
    if query is None or "&" not in query:
        return True
    pairs = [pair.split("=") for pair in query.split("&")]
    return all(one <= other for one, other in pairwise(pairs))


def _raw(text: str) -> str:
    stored = storable(text)
    return stored if stored != text else _RAW + text


def _file_key(text: str, root: Path, *, of_user: bool) -> str:
    try:
        path = _local(text)
        if of_user:
            path = os.path.expanduser(path)  # noqa: PTH111 - Path.expanduser raises where there is no home
        if not path or "\0" in path or len(os.fsencode(path)) > _PATH_MAX:
            return _raw(text)
        real = os.path.realpath(os.path.join(root, path))  # noqa: PTH118 - Path.resolve raises at a loop of links
    except (OSError, ValueError):  # a lone surrogate that stands for no byte, or a name that cannot exist
        return _raw(text)
    try:
        real.encode()
    except UnicodeEncodeError:
        return _BYTES + quote_from_bytes(os.fsencode(real))
    return real


def _local(text: str) -> str:
    """Return the path of a `file:` URL, or the text itself; empty if the URL names another machine."""
    if text[:7].lower() != "file://":
        return text
    host, slash, path = text[7:].partition("#")[0].partition("?")[0].partition("/")
    if host.lower() not in ("", "localhost") or not slash:
        return ""
    return os.fsdecode(unquote_to_bytes(os.fsencode(slash + path)))
