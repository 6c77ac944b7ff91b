"""The core's public names: all that a screen may import of it. Each is loaded when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import (
        Settings as Settings,
    )
    from .config import (
        Trust as Trust,
    )
    from .config import (
        load_settings as load_settings,
    )
    from .config import (
        parse_duration as parse_duration,
    )
    from .config import (
        parse_money as parse_money,
    )
    from .config import (
        parse_number as parse_number,
    )
    from .config import (
        to_spec as to_spec,
    )
    from .journal import (
        Journal as Journal,
    )
    from .journal import (
        RunLine as RunLine,
    )
    from .journal import (
        find_run as find_run,
    )
    from .journal import (
        list_runs as list_runs,
    )
    from .journal import (
        new_run_id as new_run_id,
    )
    from .journal import (
        runs_dir as runs_dir,
    )
    from .model import ModelLine as ModelLine
    from .model import Survey as Survey
    from .model import discover as discover
    from .model.demo import lay_out as lay_out
    from .protocol import *  # noqa: F403
    from .run.here import run_here as run_here
    from .run.orders import ResumeChanges as ResumeChanges
    from .run.session import Session as Session
    from .workspace import Ignore as Ignore
    from .workspace import Sandbox as Sandbox

_HOMES: dict[str, str] = {
    "Ignore": "workspace",
    "Journal": "journal",
    "ModelLine": "model",
    "ResumeChanges": "run.orders",
    "RunLine": "journal",
    "Sandbox": "workspace",
    "Session": "run.session",
    "Settings": "config",
    "Survey": "model",
    "Trust": "config",
    "check_usable": "run.usable",
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


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute, of any kind
    if name.startswith("__"):
        raise AttributeError(name)
    value = getattr(import_module(f".{_HOMES.get(name, 'protocol')}", __name__), name)
    globals()[name] = value
    return value
