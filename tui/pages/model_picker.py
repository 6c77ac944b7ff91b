"""The picker of models: those that can be reached now, a name that is typed, or a server's address."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from textual.content import Content

from rundry.agent import Candidate, ModelSpec, Survey, candidates, discover, short

from ..keys.screen_keymap import keymap_of
from ..text.show_text import one_line
from .first_choices import CONTEXT, PRICES, price_words
from .picker import Picker
from .picker_rows import PickRow

SOURCE, WINDOW, PRICE = 28, 8, 15
NARROW = 60
"""Cells of the list below which only name and window are shown."""


class ModelPicker(Picker[ModelSpec]):
    """Returns the model that was picked."""

    title_text = "Model"
    hint = "type to filter; or a model's full name, or a server's address (http://...)"

    def __init__(self, survey: Survey | None, current: str) -> None:
        """`survey`: models found before, or None to look for them. `current`: the name of the run's model."""
        super().__init__()
        self._survey, self._current = survey, current
        self._found: Sequence[Candidate] = () if survey is None else candidates(survey)
        self._asked = ""

    def on_mount(self) -> None:
        """Look for models if nobody did."""
        super().on_mount()
        self.draw(next((each.model for each in self._found if each.model.name == self._current), None))
        if self._survey is None:
            self.run_worker(self._look(), exit_on_error=False)

    async def _look(self) -> None:
        self._survey = await discover(os.environ)
        self._found = candidates(self._survey)
        self.draw()

    def rows(self, wanted: str) -> Sequence[PickRow[ModelSpec]]:
        """Return the models that contain all typed words, then what to do with the text itself."""
        words = wanted.lower().split()
        fitting = [each for each in self._found if all(word in _searched(each) for word in words)]
        rows: list[PickRow[ModelSpec]] = [PickRow(self._heading())] if fitting else []
        rows += [PickRow(self._line(each), each.model) for each in fitting]
        if _is_address(wanted) and not fitting:
            key = keymap_of(self).shown("take")
            rows.append(PickRow(Content.styled(f"{key} asks {one_line(wanted)} for its models", "$dim")))
        elif wanted and not fitting:
            rows.append(PickRow(Content.assemble("use ", (one_line(wanted), "bold")), ModelSpec(name=wanted)))
        if self._survey is None:
            rows.append(PickRow(Content.styled("looking for keys and local servers …", "$dim")))
        return [*rows, *self._missing(words)]

    def _heading(self) -> Content:
        where = self._source_width
        names = " " * (self._name_width + where) + CONTEXT.rjust(WINDOW)
        return Content.styled(names + (PRICES.rjust(PRICE) if where else ""), "$dim")

    def _line(self, candidate: Candidate) -> Content:
        style = "bold $bright" if candidate.model.name == self._current else "$foreground"
        parts: list[Content | tuple[str, str]] = [
            Content.styled(one_line(candidate.model.name), style).truncate(self._name_width, ellipsis=True, pad=True)
        ]
        if width := self._source_width:
            where = Content.styled("  " + one_line(_where(candidate)), "$dim")
            parts.append(where.truncate(width, ellipsis=True, pad=True))
        parts.append(((short(candidate.context) if candidate.context else "").rjust(WINDOW), "$dim"))
        if width:
            parts.append((price_words(candidate.price).rjust(PRICE), "$dim"))
        return Content.assemble(*parts)

    @property
    def _width(self) -> int:
        return (self.list.size.width or 80) - 2

    @property
    def _source_width(self) -> int:
        """Return the width of the provider or server; 0 if there is no room for it."""
        if self._width < NARROW:
            return 0
        longest = max((len(each.model.name) for each in self._found), default=0)
        room = self._width - longest - WINDOW - PRICE
        return min(max(SOURCE, room), max((len(_where(each)) + 2 for each in self._found), default=0))

    @property
    def _name_width(self) -> int:
        price = PRICE if self._source_width else 0
        return max(8, self._width - self._source_width - WINDOW - price)

    def _missing(self, words: Sequence[str]) -> Iterator[PickRow[ModelSpec]]:
        rows = [] if self._survey is None else self._survey.missing
        fitting = [row for row in rows if all(word in row.provider for word in words)]
        if fitting:
            yield PickRow(Content(""))
            yield PickRow(Content.styled("needs a key", "$dim"))
        for row in fitting:
            needs = " and ".join(" or ".join(group) for group in row.needs)
            yield PickRow(Content.styled(f"{row.provider:<24}  {needs}", "$dim"))

    def keys(self) -> Sequence[tuple[str, str]]:
        """Return the keys of the footer, each with its label."""
        return (("take", "use"), ("mark_up mark_down", "mark"), ("close_dialog", "back"))

    def pick(self) -> None:
        """Take the selected model, or ask the server whose address was typed."""
        wanted = self.filter.value.strip()
        if _is_address(wanted) and wanted != self._asked:
            self._asked = wanted
            self.run_worker(self._ask(wanted), exit_on_error=False)
        elif self.list.marked is not None:
            self.dismiss(self.list.marked)
        else:
            self.say(keymap_of(self).named("type a model's name; {close_dialog} goes back"))

    async def _ask(self, address: str) -> None:
        self.say(f"asking {address} …")
        found = candidates(await discover({}, addresses=[address]))
        if self.filter.value.strip() != address:
            return
        if not found:
            self.say(f"no model server answers at {address}: check the address, and that the server runs")
            return
        self._found = [*found, *(each for each in self._found if each.address != found[0].address)]
        self.filter.value = self._asked = found[0].address
        self.draw()


def _where(candidate: Candidate) -> str:
    server = candidate.address.removeprefix("http://").removesuffix("/").removesuffix("/v1")
    return f"{candidate.source}  {server}".rstrip()


def _searched(candidate: Candidate) -> str:
    return f"{candidate.model.name} {candidate.source} {candidate.address}".lower()


def _is_address(text: str) -> bool:
    return text.startswith(("http://", "https://"))
