"""Show what the person allowed for this session, and revoke it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from rundry.agent import RemoveRule, Rule, RundryError

from ..keys.screen_keymap import keymap_of
from ..text.show_text import one_line, path_line
from .picker import Picker
from .picker_rows import PickRow

if TYPE_CHECKING:
    from ..control.run_controller import RunController


def rule_words(rule: Rule) -> str:
    """Return what a rule allows: `edits of src/calc.py`, or the first words of a command."""
    if rule.path is not None:
        return f"edits of {path_line(rule.path)}"
    if rule.host is not None:
        return f"requests to {one_line(rule.host)}{f' by {rule.tool}' if rule.tool else ''}"
    return one_line(rule.command or rule.tool or "everything")


class AllowedPicker(Picker[Rule]):
    """The rules that apply until the run is over. Enter revokes the marked one."""

    title_text = "Allowed for this session"
    hint = "filter"

    def __init__(self, controller: RunController) -> None:
        super().__init__()
        self._controller, self._rules = controller, list(controller.state.allowed)

    def rows(self, wanted: str) -> Sequence[PickRow[Rule]]:
        """Return a row for each rule."""
        if not self._rules:
            text = "Nothing is allowed yet: {session} at the gate does that."
            nothing = keymap_of(self).named(text)
            return [PickRow(Content.styled(nothing, "$dim"))]
        found = [rule for rule in self._rules if wanted.lower() in rule_words(rule).lower()]
        return [PickRow(Content(rule_words(rule)), rule) for rule in found]

    def keys(self) -> Sequence[tuple[str, str]]:
        """Return the keys of the footer, each with its label."""
        return [("take", "revoke"), ("close_dialog", "close")] if self._rules else [("close_dialog", "close")]

    def pick(self) -> None:
        """Revoke the selected rule."""
        rule = self.list.marked
        if rule is None:
            return
        try:
            self._controller.put(RemoveRule(rule=rule))
        except RundryError as error:
            self.say(str(error))
            return
        self._rules.remove(rule)
        self.draw()
        self.say(f"revoked: {rule_words(rule)} needs approval again")
