"""Remember what earlier calls showed about the length of prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...protocol import ToolSpec


class PromptLimits:
    """Prompts that a provider refused as too long, shortenings that were reported already, and the newest tools."""

    def __init__(self) -> None:
        self._refused: dict[str, int] = {}
        self._shortenings: set[tuple[object, ...]] = set()
        self._measured: set[str] = set()
        self._seconds: dict[tuple[str, str, int], float] = {}
        self._quickly_read: dict[str, int] = {}
        self._images = 0
        self.offered: Sequence[ToolSpec] = ()
        """The tools of the newest step in the run's own conversation."""

    def refused(self, model: str) -> int | None:
        """Return the tokens of the shortest prompt that the model's provider refused, or None."""
        return self._refused.get(model)

    def note_refused(self, model: str, tokens: int) -> None:
        """Note that the model's provider refused a prompt as too long."""
        self._refused[model] = min(tokens, self._refused.get(model, tokens))

    def is_new_shortening(self, how: tuple[object, ...]) -> bool:
        """Return whether this way to shorten the prompt is reported for the first time, and note it."""
        is_new = how not in self._shortenings
        self._shortenings.add(how)
        return is_new

    def is_first_measurement(self, model: str) -> bool:
        """Return whether the reading speed of the model was not measured yet in this run, and note that it is now."""
        is_first = model not in self._measured
        self._measured.add(model)
        return is_first

    def seconds_to_read(self, model: str, system: str, tools: int, estimate: Callable[[], float]) -> float:
        """Return the seconds for the first prompt with this beginning. Later ones do not change them, and so not how
        the beginning is shortened: the server has it in its cache.

        `estimate`: returns the seconds for this prompt; it is called once for a beginning.
        """
        key = (model, system, tools)
        if key not in self._seconds:
            self._seconds[key] = estimate()
        return self._seconds[key]

    def quickly_read(self, model: str, speed: float | None, seconds: float) -> int | None:
        """Return the tokens that the server reads in this time, at its first known speed, so that later tries are shown
        the same part of a file.
        """
        if speed is not None:
            self._quickly_read.setdefault(model, int(speed * seconds))
        return self._quickly_read.get(model)

    def more_images(self, images: int) -> int:
        """Return how many more images are replaced by text than in the last call."""
        more, self._images = images - self._images, images
        return more
