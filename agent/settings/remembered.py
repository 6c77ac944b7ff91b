"""Remember for later runs: rules added with `always`, the chosen model, and the changed defaults that were shown."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import msgspec

from ..host.plain_files import read_plain
from ..protocol import ConfigError, ModelSpec, Rule
from ..protocol.text.broken_json import BROKEN_JSON
from .trust import PROJECT_FILE, Trust
from .user_folders import Store, locked, user_folder

GATE_IS_EFFECTS = "gate.mode: effects"
"""The screen's gate begins in `effects` where commands run in layers, and not in `ask`."""


class LastModel(msgspec.Struct, frozen=True, omit_defaults=True):
    """The stored choice. It never contains a key."""

    name: str
    api_base: str | None = None
    key_from: str | None = None
    """The variable with the key, or empty if no key is sent to this server."""


@dataclass(frozen=True, slots=True)
class RememberedRules:
    """The rules in the `.rundry.toml` of a workspace."""

    workspace: Path
    env: Mapping[str, str]

    def add(self, rule: Rule) -> None:
        """Append the rule, if the file does not have it. The folder stays trusted if it was or had nothing to trust.

        Raises ConfigError if the file is not trusted or the rule cannot be added; then it applies only to this run.
        Raises OSError. Several sessions may add rules.
        """
        with locked(user_folder("data", self.env) / "rules.lock"):
            self._add(rule)

    def _add(self, rule: Rule) -> None:
        path, trust = self.workspace / PROJECT_FILE, Trust(env=dict(self.env))
        if not trust.trusted(self.workspace):
            raise ConfigError(f"{path} is not trusted, so the rule applies only to this run")
        old = read_plain(path).decode() if path.exists() else ""
        fields = {name: value for name, value in msgspec.structs.asdict(rule).items() if value is not None}
        if fields in _rules_in(old):
            return
        lines = [f"{name} = {msgspec.json.encode(value).decode()}" for name, value in fields.items()]
        new = "\n".join([*([old.rstrip("\n"), ""] if old.strip() else []), "[[gate.rules]]", *lines, ""])
        try:
            tomllib.loads(new)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(
                f"{path} has its rules in a list: add this rule to that list yourself ({error})"
            ) from error
        _write(path, new.encode())
        trust.trust_config(self.workspace)


def _rules_in(text: str) -> list[object]:
    """Return the rules of a config file, or none if it cannot be parsed."""
    try:
        found: object = tomllib.loads(text).get("gate", {}).get("rules", [])
    except (tomllib.TOMLDecodeError, AttributeError):
        return []
    return cast("list[object]", found) if isinstance(found, list) else []


def remember_model(model: ModelSpec, env: Mapping[str, str]) -> None:
    """Store a model, its address and the variable with its key. Raises ConfigError if the file cannot be written."""
    _write(_last_model_file(env), msgspec.json.encode(LastModel(model.name, model.api_base, model.key_from)))


def remembered_model(env: Mapping[str, str]) -> LastModel | None:
    """Return the stored choice, or None if the file is missing or damaged."""
    try:
        return msgspec.json.decode(read_plain(_last_model_file(env)), type=LastModel)
    except (OSError, *BROKEN_JSON):
        return None


def _last_model_file(env: Mapping[str, str]) -> Path:
    return user_folder("data", env) / "last-model.json"


def is_new_to_user(change: str, runs: Path, env: Mapping[str, str]) -> bool:
    """Return whether the user worked with the old default and was not told about the change; note that they are now.

    `runs`: the folder of the journals. Raises ConfigError if this cannot be stored.
    """
    store = Store(user_folder("data", env) / "changed-defaults.json", bool, again="start rundry again")
    if change in store.load():
        return False
    store.add({change: True})
    return any(runs.glob("*.db"))


def _write(path: Path, content: bytes) -> None:
    """Write the file as a whole. Raises ConfigError."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
