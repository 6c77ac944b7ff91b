"""Remember the model that the user chose on the screen, for later runs without `--model`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ..protocol import ConfigError, ModelSpec
from ..protocol.text.broken_json import BROKEN_JSON
from ..system.plain_files import read_plain
from .folders import user_folder


class LastModel(msgspec.Struct, frozen=True, omit_defaults=True):
    """The stored choice. It never contains a key."""

    name: str
    api_base: str | None = None
    key_from: str | None = None
    """The variable with the key; empty: no key is sent to this server."""


def remember_model(model: ModelSpec, env: Mapping[str, str]) -> None:
    """Store a model, its address and the variable with its key. Raises ConfigError if the file cannot be written."""
    path = _path(env)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside.write_bytes(msgspec.json.encode(LastModel(model.name, model.api_base, model.key_from)))
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def remembered_model(env: Mapping[str, str]) -> LastModel | None:
    """Return the stored choice, or None if the file is missing or damaged."""
    try:
        return msgspec.json.decode(read_plain(_path(env)), type=LastModel)
    except (OSError, *BROKEN_JSON):
        return None


def _path(env: Mapping[str, str]) -> Path:
    return user_folder("data", env) / "last-model.json"
