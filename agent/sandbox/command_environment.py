"""Build the environment of commands from the variables that `environment.toml` lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from functools import cache
from pathlib import Path

import msgspec

from ..host.toml_tables import read_table

_FILE = Path(__file__).with_name("environment.toml")
_PROVIDER_KEYS = re.compile(
    r".*_API_?(KEY|TOKEN|SECRET)S?(_.+)?|API_?KEY|AWS_(SECRET_ACCESS_KEY|SESSION_TOKEN|ACCESS_KEY_ID|BEARER_TOKEN.*)"
    r"|AZURE_.*(KEY|TOKEN|SECRET)|GOOGLE_APPLICATION_CREDENTIALS|VERTEXAI_.*|(HF|HUGGINGFACE|HUGGING_FACE)_.*TOKEN"
    r"|(ANTHROPIC|CLAUDE|OPENAI|DATABRICKS|WATSONX|REPLICATE)_.*(TOKEN|KEY|SECRET)",
    re.IGNORECASE,
)
_FIXED = {
    "TERM": "dumb",
    "CI": "true",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
}
"""Variables that disable pagers, prompts and editors, because nobody can answer them."""
_USER_IN_URL = re.compile(r"://(?!git@)[^\s/@]+@")
"""Credentials in a URL, except `ssh://git@host`: all users of a host share the account `git`."""
_SHORTEST_KEY = 8
_WILDCARDS = re.compile(r"[*?\[]")
OWN_GIT = ("SSH_AUTH_SOCK", "GNUPGHOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""Further variables that rundry's own git needs to sign a commit. Commands do not get them."""


class _Secret(msgspec.Struct, frozen=True):
    words: list[str]
    parts: list[str]
    values: list[str]


class _Never(msgspec.Struct, frozen=True):
    names: list[str]


class _File(msgspec.Struct, frozen=True):
    passes: dict[str, list[str]] = msgspec.field(name="pass")
    never: _Never
    secret: _Secret


class _Names(msgspec.Struct, frozen=True):
    """Names and patterns of variables. One regular expression for all would take 60 ms to compile."""

    whole: frozenset[str]
    beginnings: tuple[str, ...]
    """Patterns that have one `*`, at their end; stored without it."""
    others: re.Pattern[str]

    def match(self, name: str) -> bool:
        return name in self.whole or name.startswith(self.beginnings) or self.others.fullmatch(name) is not None


class _Table(msgspec.Struct, frozen=True):
    """The content of `environment.toml`, prepared for matching."""

    passes: _Names
    never: _Names
    secret_name: re.Pattern[str]
    secret_value: re.Pattern[str]
    groups: Mapping[str, list[str]]
    listed: frozenset[str]
    """Names that the file lists in full: only their values are checked for secrets."""


def command_env(
    env: Mapping[str, str], *, provider_key_names: Iterable[str] = (), more: Iterable[str] = ()
) -> dict[str, str]:
    """Return the environment of a command.

    `more`: names and patterns that the user adds. A name that is given in full is passed even if it looks like a
    secret. A provider key is never passed, neither under its own name nor as a part of another variable's value.
    """
    passing = _passing(env, set(provider_key_names), tuple(more))
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", **{name: env[name] for name in passing}, **_FIXED}


def omitted_variables(
    env: Mapping[str, str], *, provider_key_names: Iterable[str] = (), more: Iterable[str] = ()
) -> list[str]:
    """Return the names of the variables that commands do not get but that the user can add with `more`, sorted."""
    keys = set(provider_key_names)
    passing = _passing(env, keys, tuple(more))
    table = _table()
    return sorted(
        name
        for name in set(env) - passing - set(_FIXED) - keys
        if not table.never.match(name) and not _PROVIDER_KEYS.fullmatch(name)
    )


def variables_of_tools(env: Mapping[str, str], but: Iterable[str]) -> list[str]:
    """Return the names of the variables that commands receive because a tool reads them. `but`: groups to leave out."""
    listed = _names_but(frozenset(but))
    return [name for name in env if listed.match(name) and not _table().never.match(name)]


def _passing(env: Mapping[str, str], provider_key_names: set[str], more: tuple[str, ...]) -> set[str]:
    table = _table()
    key_names = {name for name in env if name in provider_key_names or _PROVIDER_KEYS.fullmatch(name)}
    keys = {env[name] for name in key_names if len(env[name]) >= _SHORTEST_KEY}
    added = _names(more)
    passing: set[str] = set()
    for name, value in env.items():
        if name in key_names or table.never.match(name) or any(key in value for key in keys):
            continue
        is_listed = table.passes.match(name) or added.match(name)
        if name in more or (is_listed and not _is_secret(name, value, table)):
            passing.add(name)
    return passing


def _is_secret(name: str, value: str, table: _Table) -> bool:
    is_named_so = name not in table.listed and table.secret_name.search(name) is not None
    return is_named_so or _USER_IN_URL.search(value) is not None or table.secret_value.search(value) is not None


@cache
def _names_but(groups: frozenset[str]) -> _Names:
    passes = _table().groups
    return _names(name for group, names in passes.items() if group not in groups for name in names)


@cache
def _table() -> _Table:
    file = read_table(_FILE, _File)
    names = [name for group in file.passes.values() for name in group]
    words, parts = ("|".join(map(re.escape, texts)) for texts in (file.secret.words, file.secret.parts))
    values = "|".join(map(re.escape, file.secret.values))
    return _Table(
        passes=_names(names),
        never=_names(file.never.names),
        secret_name=re.compile(rf"(?:^|_)(?:{words})(?:_|\d|$)|{parts}|PASS(?:WD|PHRASE)?$|[A-Z]PWD$", re.IGNORECASE),
        secret_value=re.compile(rf"(?:^|[\s=:\"'])(?:{values})[A-Za-z0-9_.+/= -]{{10,}}"),
        groups=file.passes,
        listed=frozenset(name for name in names if "*" not in name),
    )


def _names(patterns: Iterable[str]) -> _Names:
    whole: set[str] = set()
    beginnings: list[str] = []
    others: list[str] = []
    for pattern in patterns:
        if not _WILDCARDS.search(pattern):
            whole.add(pattern)
        elif pattern.endswith("*") and not _WILDCARDS.search(pattern[:-1]):
            beginnings.append(pattern[:-1])
        else:
            others.append(translate(pattern))
    return _Names(frozenset(whole), tuple(beginnings), re.compile("|".join(others) or r"(?!)"))
