"""Hide keys and tokens before a text is stored or shown (docs/requirements.md 11.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import cast
from urllib.parse import unquote

from .key_patterns import PATTERNS, URL_PASSWORD, encodings_of, in_json

MASK = "*"
SHORTEST = 6
"""Minimum number of characters of a key. Hiding shorter values would make ordinary text unreadable."""

_NAMES_A_SECRET = re.compile(
    r"(?:^|_)(?:API_?KEYS?|ACCESS_KEY_ID|AUTH|TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|PAT)(?:_?\d+)?$",
    re.IGNORECASE,
)
_DUMMIES = frozenset({"lm-studio", "not-needed", "no-key-needed", "sk-no-key-required", "sk-xxxx", "anything"})
"""Placeholder keys that people use with local servers."""
_ROOTS = ("/home/", "/root/", "/Users/", "/etc/", "/usr/", "/var/", "/opt/", "/tmp/", "/run/", "/mnt/", "/srv/", "~/")

_PLACES = frozenset({"path", "command", "url", "query", "cwd", "workspace", "journal", "files_changed", "instructions"})
"""Fields in which only known values are hidden, so that a person sees what they decide on (docs/attacks.md A.20)."""

_CLUES = tuple(clue for pattern in PATTERNS for clue in pattern.clues)


class Redactor:
    """Hides keys in texts; the replacement has the same length.

    Known values are hidden first, also in URL and base64 encoding; then everything that looks like a key.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        """Values shorter than `SHORTEST` are not hidden."""
        given = {secret.strip() for secret in secrets}
        written = {spelling for secret in given if len(secret) >= SHORTEST for spelling in encodings_of(secret)}
        self.values = tuple(sorted((w for w in written if len(w) >= SHORTEST), key=lambda w: (-len(w), w)))
        """All encodings of the known secrets, the longest first."""
        self._hints = (*in_json(self.values), *_CLUES)
        self._joints, self._whole = _quick(self._hints)
        self._any_value = re.compile("|".join(map(re.escape, self.values))) if self.values else None

    @staticmethod
    def from_env(env: Mapping[str, str], names: Iterable[str] = ()) -> Redactor:
        """Create a redactor for variables with a secret's name, the variables in `names`, and passwords in URLs."""
        asked = set(names)
        secrets: set[str] = set()
        for name, value in env.items():
            text = value.strip()
            if name in asked or (_NAMES_A_SECRET.search(name) and _looks_secret(text)):
                secrets.add(text)
            for match in URL_PASSWORD.shape.finditer(text) if "://" in text else ():
                secrets |= {p for p in (match["secret"], unquote(match["secret"])) if _looks_secret(p)}
        return Redactor(secrets)

    def __call__(self, text: str) -> str:
        """Return the text with all keys hidden; the same object if there are none."""
        text = self.known(text)
        for pattern in PATTERNS:
            if any(clue in text for clue in pattern.clues):
                text = pattern.shape.sub(_hide_secret, text)
        return text

    def known(self, text: str) -> str:
        """Return the text with the known values hidden."""
        return text if self._any_value is None else self._any_value.sub(_hide_all, text)

    def may_contain_key(self, encoded: bytes) -> bool:
        """Return False if this JSON has nothing to hide, True if it needs a closer look. Fast for short events."""
        text = encoded.decode("utf-8", "replace")  # `in` on str is five times as fast as on bytes
        if self._joints.search(text) is None and not any(map(text.__contains__, self._whole)):
            return False
        return any(map(text.__contains__, self._hints))

    def event(self, fields: dict[str, object]) -> dict[str, object]:
        """Return the decoded JSON of an event with keys hidden in all strings; field names and type are unchanged."""
        return {k: v if k == "type" else self._redact_value(v, only_known=k in _PLACES) for k, v in fields.items()}

    def _redact_value(self, value: object, *, only_known: bool) -> object:
        if isinstance(value, str):
            return self.known(value) if only_known else self(value)
        if isinstance(value, list):
            return [self._redact_value(v, only_known=only_known) for v in cast("list[object]", value)]
        if isinstance(value, dict):
            pairs = cast("dict[str, object]", value).items()
            return {self(k): self._redact_value(v, only_known=only_known or k in _PLACES) for k, v in pairs}
        return value


def _quick(hints: Iterable[str]) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Return a pattern that matches wherever a hint with `-` or `_` occurs, in half the time, and the other hints."""
    parts = {hint: re.match(r"[^_-]*([^_-]{2}[_-])(.*)", hint, re.DOTALL) for hint in hints}
    split = sorted({(re.escape(found[1]), re.escape(found[2])) for found in parts.values() if found})
    joints = "|".join(dict.fromkeys(joint for joint, _ in split))
    tails = "|".join(f"(?<={joint}){tail}" for joint, tail in split)
    return re.compile(f"[_-](?<={joints})(?:{tails})"), tuple(hint for hint, found in parts.items() if not found)


def _looks_secret(value: str) -> bool:
    """Return False for values whose hiding would make ordinary text unreadable: `true`, `4096`, `postgres`, a path."""
    if len(value) < 8 or value.lower() in _DUMMIES or value.startswith(_ROOTS):
        return False
    return not (value.isdigit() or (value.isalpha() and len(value) < 16))


def _hide_all(match: re.Match[str]) -> str:
    return MASK * len(match[0])


def _hide_secret(match: re.Match[str]) -> str:
    start, end = match.span("secret")
    begin = match.start()
    hidden = "".join(c if c.isspace() else MASK for c in match["secret"])  # line breaks stay
    return match[0][: start - begin] + hidden + match[0][end - begin :]
