"""The palette: every action and slash command, found by typing a part of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.app import SystemCommand
from textual.content import Content

from .picker import Picker
from .picker_rows import PickRow

_NAME = 24
"""Cells of the column of names."""


class CommandPicker(Picker[int]):
    """Returns the index of the chosen command. Below the list stands what the marked one does."""

    title_text = "Commands"
    hint = "type to search"
    app_leaves = True

    def __init__(self, commands: Sequence[SystemCommand], details: Mapping[str, str]) -> None:
        """`details`: the title of a command to more about it, as in the help."""
        super().__init__()
        self._commands, self._details = commands, details

    def rows(self, wanted: str) -> Sequence[PickRow[int]]:
        """Return a row for each command whose name, key, slash command or detail contains each word."""
        words = wanted.casefold().split()
        found = [
            PickRow(Content.assemble((f"{each.title:<{_NAME}} ", "$foreground"), (each.help, "$dim")), number)
            for number, each in enumerate(self._commands)
            if all(word in f"{each.title} {each.help} {self._detail(each)}".casefold() for word in words)
        ]
        return found or [PickRow(Content.styled("no command has this text in its name, keys or description", "$dim"))]

    def _detail(self, command: SystemCommand) -> str:
        return self._details.get(command.title, "")

    def about(self, marked: int | None) -> Content:
        """Return what the selected command does."""
        if marked is None or not (detail := self._detail(self._commands[marked])):
            return Content("")
        return Content(f"{self._commands[marked].title}: {detail}")

    def keys(self) -> Sequence[tuple[str, str]]:
        """Return the keys of the footer, each with its label."""
        return [("mark_up mark_down", "select"), ("take", "run it"), ("close_dialog", "close")]

    def pick(self) -> None:
        """Run the selected command; if none fits the text, stay open."""
        if self.list.marked is not None:
            super().pick()
