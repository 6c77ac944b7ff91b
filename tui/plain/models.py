"""Offer the available models as a numbered list if none is chosen yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rundry.agent import ModelSpec, RundryError, candidates

from ..text import one_line

if TYPE_CHECKING:
    from ..run_controller import RunController


class ModelChoice:
    """Lists models once, then takes a number."""

    def __init__(self, controller: RunController, say: Callable[[str], None]) -> None:
        self._controller, self._say = controller, say
        self._offered: Sequence[ModelSpec] = ()

    async def offer(self) -> None:
        """Look for models and list them, if the run has none."""
        start = self._controller.start
        if start is None or self._controller.begun or start.model is not None:
            return
        self._say("No model is chosen. Looking for keys and local servers.")
        self._offered = [each.model for each in candidates(await start.survey())]
        for number, model in enumerate(self._offered, 1):
            self._say(f"{number}: {one_line(model.name)}")
        if self._offered:
            self._say("Type the number of a model.")
        else:
            self._say(
                "No model was found: set a key such as ANTHROPIC_API_KEY, or start a local server. "
                "`rundry demo` needs neither."
            )

    def took(self, text: str) -> bool:
        """Choose the model of this number, and return whether the text was one. Raises RundryError."""
        start = self._controller.start
        if start is None or start.model is not None or not self._offered or not text.isdecimal():
            return False
        if not 1 <= int(text) <= len(self._offered):
            raise RundryError(f"type a number from 1 to {len(self._offered)}")
        model = self._offered[int(text) - 1]
        self._controller.switch_model(model)
        start.remember(model)
        self._say(f"{one_line(model.name)} is used from now on. Type a task.")
        return True
