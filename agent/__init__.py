"""The core's public names: all that a screen may import of it. Each is loaded when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import (
        Settings,
        Trust,
        load_settings,
        parse_duration,
        parse_money,
        parse_number,
        to_spec,
    )
    from .journal import Journal, RunLine, find_run, list_runs, new_run_id, runs_dir
    from .model import Survey, discover
    from .model.demo import lay_out
    from .protocol import *  # noqa: F403
    from .run.here import run_here
    from .run.orders import ResumeChanges
    from .run.session import Session
    from .workspace import Sandbox

_HOMES: dict[str, str] = {
    "Journal": "journal",
    "ResumeChanges": "run.orders",
    "RunLine": "journal",
    "Sandbox": "workspace",
    "Session": "run.session",
    "Settings": "config",
    "Survey": "model",
    "Trust": "config",
    "discover": "model",
    "find_run": "journal",
    "lay_out": "model.demo",
    "list_runs": "journal",
    "load_settings": "config",
    "new_run_id": "journal",
    "parse_duration": "config",
    "parse_money": "config",
    "parse_number": "config",
    "run_here": "run.here",
    "runs_dir": "journal",
    "to_spec": "config",
}
"""Name to module, for what is not a word of the protocol."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    value = getattr(import_module(f".{_HOMES.get(name, 'protocol')}", __name__), name)
    globals()[name] = value
    return value
