"""What rundry has learned about one model on one server, kept for later runs in the user's data folder.

The file is read only when a model is opened, so no stored run depends on it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from ..host.plain_files import read_plain
from ..protocol.text.broken_json import BROKEN_JSON
from ..settings.user_folders import user_folder

MOST = 300
"""Maximum number of stored models; the one that was changed longest ago is dropped first."""


class Learned(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known about one model on one server. It never contains a key or a text of the user."""

    refused: dict[str, str] = {}
    """Request parameters that the server refuses, and what is sent instead: empty, it is left out."""
    edit_format: str | None = None
    """The edit format that worked with this model, or None if not known."""
    read_speed: float | None = None
    """Tokens of a prompt that the server reads per second, or None if not measured."""
    write_speed: float | None = None
    """Tokens of an answer that the server writes per second, or None if not measured."""


def learned(server: str, model: str, env: Mapping[str, str]) -> Learned:
    """Return what is known about the model; empty if the file is missing, damaged or unreadable.

    `server`: the server's address, or the provider's name for its own address. `model`: the name on the wire.
    """
    return _load(_path(env)).get(_key(server, model), Learned())


def learn(
    server: str,
    model: str,
    env: Mapping[str, str],
    *,
    refused: Mapping[str, str] | None = None,
    **changes: str | float | None,
) -> None:
    """Change fields of what is known about the model, and keep the others. `refused` is added to what is there.

    Runs can write at the same time. If the file cannot be written, nothing is stored.
    """
    path = _path(env)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(path.with_suffix(".lock"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = _load(path)
            before = known.pop(_key(server, model), Learned())
            refusals = {**before.refused, **(refused or {})}
            known[_key(server, model)] = msgspec.structs.replace(before, refused=refusals, **changes)
            _save(path, dict(list(known.items())[-MOST:]))
        finally:
            os.close(lock)
    except OSError:
        return


def _key(server: str, model: str) -> str:
    """Return the key of one model: the address in one spelling, without user and password, and the name."""
    parts = urlsplit(server.strip())
    usual_port = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(usual_port)
    path = parts.path.rstrip("/").removesuffix("/v1")
    return f"{parts.scheme}://{host}{path} {model}" if host else f"{path} {model}"


def _load(path: Path) -> dict[str, Learned]:
    try:
        return msgspec.json.decode(read_plain(path), type=dict[str, Learned])
    except (OSError, *BROKEN_JSON):
        return {}


def _save(path: Path, known: dict[str, Learned]) -> None:
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(known))
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def _path(env: Mapping[str, str]) -> Path:
    return user_folder("data", env) / "learned.json"
