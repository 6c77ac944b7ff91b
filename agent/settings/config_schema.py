"""The JSON Schema of config files, from the table of options and what its readers take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from .option_table import BY_CONFIG_KEY, GROUPS, OPTIONS, TOP_LEVEL_KEYS
from .value_schema import Node, schema_of, table

ConfigKind = Literal["config", "project"]
"""The user's own `config.toml`, or `.rundry.toml` of a project, in which some keys are not possible."""
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_FILES: dict[ConfigKind, str] = {"config": "config.toml", "project": ".rundry.toml"}


def config_schema(kind: ConfigKind, meanings: Mapping[str, str]) -> Node:
    """Return the schema with which an editor checks a config file. `meanings`: a line for each option, by its name."""
    top: dict[str, Node] = {}
    groups: dict[str, dict[str, Node]] = {group: {} for group in GROUPS}
    for place, name in BY_CONFIG_KEY.items():
        if kind == "project" and OPTIONS[name].user_only:
            continue
        group, _, key = place.rpartition(".")
        (groups[group] if group else top)[key] = _option(name, meanings)
    for group, keys in groups.items():
        if keys:
            top[group] = {"description": f"The options of [{group}].", **table(keys)}
    for short, place in TOP_LEVEL_KEYS.items():
        alias = _option(BY_CONFIG_KEY[place], meanings)
        top[short] = {"description": alias["description"], "anyOf": [alias, top[short]]} if short in top else alias
    return {
        "$schema": _DRAFT,
        "$id": f"urn:rundry:{kind}",
        "title": f"rundry {_FILES[kind]}",
        **table({name: top[name] for name in sorted(top)}),
    }


def _option(name: str, meanings: Mapping[str, str]) -> Node:
    default = OPTIONS[name].default
    made = {**schema_of(OPTIONS[name].read), "description": meanings[name]}
    return made | ({"default": default} if isinstance(default, bool | int | float | str) else {})
