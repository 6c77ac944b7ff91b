"""Store a rule added with `always` in the project's config, so that it also applies to later runs."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import msgspec

from ..protocol import ConfigError, Rule
from ..system.plain_files import read_plain
from .trust import PROJECT_FILE, Trust


def remember_rule(workspace: Path, rule: Rule, env: dict[str, str]) -> None:
    """Append the rule to `.rundry.toml`. The folder stays trusted if it was trusted or had nothing to trust.

    Raises ConfigError if the file is not trusted or the rule cannot be added; then the rule applies only to this run.
    """
    path, trust = workspace / PROJECT_FILE, Trust(env=env)
    if not trust.trusted(workspace):
        raise ConfigError(f"{path} is not trusted, so the rule applies only to this run")
    old = read_plain(path).decode() if path.exists() else ""
    fields = {name: value for name, value in msgspec.structs.asdict(rule).items() if value is not None}
    lines = [f"{name} = {msgspec.json.encode(value).decode()}" for name, value in fields.items()]
    new = "\n".join([*([old.rstrip("\n"), ""] if old.strip() else []), "[[gate.rules]]", *lines, ""])
    try:
        tomllib.loads(new)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} has its rules in a list: add this rule to that list yourself ({error})") from error
    beside = path.with_name(f"{PROJECT_FILE}.{os.getpid()}")
    try:
        beside.write_text(new, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    trust.trust_config(workspace)
