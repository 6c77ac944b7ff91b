"""Patterns of unknown keys (docs/attacks.md, "Secrets"), and the encodings of known values."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

import msgspec


@dataclass(frozen=True, slots=True)
class Pattern:
    """The pattern of one kind of key."""

    clues: tuple[str, ...]
    """Every match contains one of these texts; searching for them first is fast."""
    shape: re.Pattern[str]
    """The group `secret` is hidden."""


def _token(clues: str, rest: str) -> Pattern:
    """Return the pattern of a key that begins with one of the clues and is a separate word."""
    heads = tuple(clues.split())
    begin = "|".join(map(re.escape, heads))
    return Pattern(heads, re.compile(rf"(?<![A-Za-z0-9_-])(?P<secret>(?:{begin}){rest})"))


TOKENS: tuple[Pattern, ...] = (
    # OpenAI, Anthropic, OpenRouter and others; `sk-circle-fade-dot` of a style sheet is none
    _token("sk-", r"(?=[a-z_-]*(?:[A-Z0-9]|[a-z]{16}))[A-Za-z0-9_-]{16,}+"),
    _token("sk_live_ sk_test_ rk_live_ rk_test_", r"[A-Za-z0-9]{16,}+"),
    _token("AIza", r"[A-Za-z0-9_-]{30,}+"),
    _token("ya29.", r"[A-Za-z0-9_-]{20,}+"),
    _token("ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{20,}+"),
    _token("github_pat_", r"[A-Za-z0-9_]{20,}+"),
    _token("glpat-", r"[A-Za-z0-9_-]{16,}+"),
    _token("AKIA ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _token("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9-]{10,}+"),
    _token("hf_", r"[A-Za-z0-9]{24,}+"),
    _token("gsk_ xai- r8_ pplx- nvapi-", r"[A-Za-z0-9_-]{24,}+"),
    _token("npm_", r"[A-Za-z0-9]{30,}+"),
    _token("pypi-", r"[A-Za-z0-9_-]{40,}+"),
    _token("eyJ", r"[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*"),  # JWT, RFC 7519: two JSON objects
)
# No group is repeated possessively: Python before 3.11.5 then loses what an alternative matched (cpython gh-106052).
PEM = Pattern(
    ("PRIVATE KEY",),
    re.compile(
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----(?P<secret>"
        r"(?:[^-]++|-(?!----)){0,65536}(?=-----END )"
        r"|(?:\s|-(?!----)|\\[nr]|[A-Za-z0-9+/=]{20,}+){0,65536})"  # no end: as far as it looks like a key
    ),
)
URL_PASSWORD = Pattern(("@",), re.compile(r"://[^\s/:@]{0,256}:(?P<secret>[^\s/@]{1,512})@"))

PATTERNS = (PEM, URL_PASSWORD, *TOKENS)
"""In this order, because the dashes of a PEM block would otherwise be matched as part of the preceding word."""
HEADS = tuple(clue for pattern in TOKENS for clue in pattern.clues)
LONGEST_HEAD = max(map(len, HEADS))


def encodings_of(secret: str) -> set[str]:
    """Return the value as it is, URL-encoded, and in base64 at each of the three alignments."""
    raw = secret.encode("utf-8", "surrogateescape")
    found = {raw.decode("utf-8", "replace"), quote(raw, safe=""), quote(raw), quote_plus(raw)}
    for shift in range(3):
        packed = base64.b64encode(b"\0" * shift + raw).decode().rstrip("=")
        first = (0, 2, 3)[shift]  # letters before this one contain bits of the preceding text
        last = len(packed) - (1 if (shift + len(raw)) % 3 else 0)  # the last one may contain bits of the following text
        inner = packed[first:last]
        found |= {inner, inner.replace("+", "-").replace("/", "_")}
    return found


def in_json(texts: Iterable[str]) -> tuple[str, ...]:
    """Return these texts as they appear in encoded JSON."""
    return tuple({msgspec.json.encode(text)[1:-1].decode() for text in texts})
