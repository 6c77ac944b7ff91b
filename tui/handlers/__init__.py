"""Handlers of all actions, by the action's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from . import control, pages, run, search, view

if TYPE_CHECKING:
    from ..screens.main import MainScreen

__all__ = ["DOINGS"]

DOINGS: Mapping[str, Callable[[MainScreen, str], None]] = {
    **run.DOINGS,
    **view.DOINGS,
    **search.DOINGS,
    **pages.DOINGS,
    **control.DOINGS,
}
