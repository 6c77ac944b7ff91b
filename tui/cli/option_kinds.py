"""Help texts that list the members of a closed set of the core. The core is imported only when the help is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

import click


class KindsOption(click.Option):
    """An option in whose help `{kinds}` is replaced by the possible values."""

    def __init__(self, names: Sequence[str], *, kinds: Callable[[], Sequence[str]], **about: Any) -> None:  # noqa: ANN401 - click's own keywords
        """`kinds`: return the values, in the order of the help."""
        self._kinds = kinds
        self._help: str | None = None
        super().__init__(names, **about)

    @property
    def help(self) -> str | None:
        """The help text with the values."""
        return self._help and self._help.replace("{kinds}", listed(self._kinds()))

    @help.setter
    def help(self, text: str | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride] - an attribute
        self._help = text


def listed(words: Sequence[str]) -> str:
    """Return the words as `a, b or c`."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


if TYPE_CHECKING:
    Choice = click.Choice[str]
else:
    Choice = click.Choice  # not generic before click 8.2


class Words(Choice):
    """One of several words."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word. Raises BadParameter that names all of them."""
        if value not in self.choices:
            self.fail(f"{value!r} is not possible: write {listed(self.choices)}", param, ctx)
        return value


class WholeNumber(click.IntRange):
    """A whole number in a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - click's own
        """Return the number. Raises BadParameter that names the range."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{str(value)!r} is not possible: write a whole number {_range(self.min, self.max)}", param, ctx)


class RealNumber(click.FloatRange):
    """A finite number in a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - click's own
        """Return the number. Raises BadParameter that names the range."""
        try:
            number = super().convert(value, param, ctx)
        except click.BadParameter:
            number = nan
        if not isfinite(number):
            bounds = _range(self.min, self.max, is_open=self.min_open)
            self.fail(f"{str(value)!r} is not possible: write a number {bounds}", param, ctx)
        return number


def _range(least: float | None, most: float | None, *, is_open: bool = False) -> str:
    if most is not None:
        return f"from {least:g} to {most:.0f}"
    return f"{'above' if is_open else 'of at least'} {least:g}"


def loops() -> list[str]:
    """Return the values of `--loop`, without those that only `rundry find` and `rundry fix` use."""
    from rundry.agent import LoopKind

    return [kind.value for kind in LoopKind if kind.traits.is_chosen]


def recipes() -> list[str]:
    """Return the values of `--recipe`."""
    from rundry.agent import Recipe

    return [recipe.value for recipe in Recipe]
