"""One logical item has one key, however it is spelled (docs/requirements.md 2.4.1)."""

from __future__ import annotations

import os
import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

KINDS = ("url", "file", "value")

_RAW = "raw:"
_BYTES = "bytes:"
_PATH_MAX = 4096
"""Bytes. The kernel opens no longer path; to resolve one segment by segment costs the square of its length."""
_CACHED = 2_048
"""Characters of the longest URL that is remembered: a cache of megabytes would be a leak."""

_IPV4 = r"(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_NAME = r"(?!(?:[a-z0-9-]*\.)*xn--)(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*"
_SEGMENT = r"/(?!\.{1,2}(?:[/?]|\Z))[A-Za-z0-9._~!$&'()*+,:=@-]*"
_PAIR = r"[A-Za-z0-9._~-]+=[A-Za-z0-9._~-]*"
_NORMAL = re.compile(
    rf"https?://(?:{_IPV4}|{_NAME})(?::(?!80/|443/)(?:[1-9]\d{{0,3}}|[1-5]\d{{4}}))?(?:{_SEGMENT})+"
    rf"(?:\?({_PAIR}(?:&{_PAIR})*))?",
    re.ASCII,
)
"""URLs that are their own key if their query is sorted: most of those that a site links to."""
_STRAY_BYTE = re.compile(r"[\udc80-\udcff]")


def item_key(kind: str, value: str, root: Path, *, of_user: bool = False) -> str:
    """The key of an item: the same for every spelling of it. Never raises for any text, whatever is in it.

    A file's key is its real path; a relative one starts from `root`. `~` is the home folder only where a person wrote
    it (`of_user`). A text that cannot name such a thing has the key `raw:TEXT`; a path that is no UTF-8 text has the
    key `bytes:` with its bytes percent-encoded. Every key can be stored, and printed, as UTF-8. A key of a kind `url`
    or `value` is its own key. Raises ValueError for a kind that is none of KINDS.
    """
    match kind:
        case "url":
            return _cached_url_key(value) if len(value) <= _CACHED else url_key(value)
        case "file":
            return _file_key(value, root, of_user=of_user)
        case "value":
            return storable(unicodedata.normalize("NFC", value.strip()))
        case _:
            raise ValueError(f"an item of the kind {kind!r}: there are {', '.join(KINDS)}")


def file_of(key: str) -> Path:
    """The path that the key of a file stands for, its bytes as they are on disk. Raises ValueError: it names none."""
    if key.startswith(_BYTES):
        return Path(os.fsdecode(unquote_to_bytes(key.removeprefix(_BYTES))))
    if not key.startswith("/"):
        raise ValueError(f"{key}: this is no path")
    return Path(key)


def storable(text: str) -> str:
    """The text itself where it is UTF-8; else `raw:` and the text with what is not, and backslashes, escaped."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _RAW + text.replace("\\", "\\\\").encode("utf-8", "backslashreplace").decode()
    return text


def url_key(text: str) -> str:
    """As `item_key`, without its memory."""
    if text.startswith(_RAW):
        return storable(text)
    plain = text.partition("#")[0]  # the first # ends every other part of a URL: WHATWG, 4.4
    found = _NORMAL.fullmatch(plain)
    if found is not None and _is_sorted(found[1]):
        return plain
    return normalised(text)


_cached_url_key = lru_cache(maxsize=8_192)(url_key)


def normalised(text: str) -> str:
    """A URL's key by the libraries: the slow and certain way of `url_key`, 10 to 20 µs."""
    import ada_url  # these two cost 50 ms to import
    from w3lib.url import canonicalize_url

    plain = _STRAY_BYTE.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text.partition("#")[0])
    try:
        url = ada_url.URL(plain)
        if (host := url.hostname).endswith(".") and host.strip("."):
            url.hostname = host.rstrip(".")
        if url.protocol in ("http:", "https:", "ws:", "wss:", "ftp:"):
            return canonicalize_url(url.href, keep_blank_values=True, keep_fragments=False)
        return url.href  # what stands after another scheme has a grammar of its own
    except ValueError:  # UnicodeEncodeError is one too
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
    except (OSError, ValueError):  # a lone surrogate that stands for no byte; a link to a name that cannot be
        return _raw(text)
    try:
        real.encode()
    except UnicodeEncodeError:
        return _BYTES + quote_from_bytes(os.fsencode(real))
    return real


def _local(text: str) -> str:
    """The path of a `file:` URL, or the text as it stands; empty: the URL is of another machine."""
    if text[:7].lower() != "file://":
        return text
    host, slash, path = text[7:].partition("#")[0].partition("?")[0].partition("/")
    if host.lower() not in ("", "localhost") or not slash:
        return ""
    return os.fsdecode(unquote_to_bytes(os.fsencode(slash + path)))
