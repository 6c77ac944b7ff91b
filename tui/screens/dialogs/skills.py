"""Show the skills and slash commands that are found here, and what instructions, skills and MCP tools cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from rundry.agent import ContextCost, FoundSkill, Journal, SlashCommand, context_costs, short

from ...keyboard.clicks import press_clicked_key
from ...keyboard.closing import ClosesOnce
from ...keyboard.screen_keymap import keymap_of
from ...run.extensions import Extensions
from ...text import one_line

_NAME = 22


class SkillsScreen(ClosesOnce[None], ModalScreen[None]):
    """A dialog with the skills and slash commands. Esc closes it."""

    DEFAULT_CSS = """
    SkillsScreen { align: center middle; background: $background; }
    SkillsScreen VerticalScroll {
        width: 96; max-width: 96%; height: auto; max-height: 90%; padding: 1 2; background: $surface;
    }
    SkillsScreen Static { height: auto; }
    """

    def __init__(self, found: Extensions, journal: Journal | None) -> None:
        super().__init__()
        self._found = found
        self._costs = [] if journal is None else context_costs(journal)

    def compose(self) -> ComposeResult:
        """Yield all rows in one text, which scrolls."""
        with VerticalScroll():
            yield Static(Content("\n").join(self._rows()), markup=False)

    def on_key(self, event: events.Key) -> None:
        """Close the dialog."""
        if keymap_of(self).action_of(event.key, "dialog", "list") in ("close_dialog", "take"):
            event.stop()
            self.dismiss(None)

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key."""
        press_clicked_key(self, event)

    def _rows(self) -> Iterator[Content]:
        yield Content.styled("Skills", "bold $bright")
        yield from _skill_rows(self._found.skills)
        yield Content("")
        yield Content.styled("Slash commands of your own", "bold $bright")
        yield from _command_rows(self._found.commands)
        if self._costs:
            yield Content("")
            yield Content.styled("Part of the context", "bold $bright")
            yield from map(_cost_row, self._costs)
        yield Content("")
        yield keymap_of(self).press("close_dialog", "closes", style="$dim")


def _skill_rows(found: Sequence[FoundSkill]) -> Iterator[Content]:
    if not found:
        yield Content.styled("  none: a folder with SKILL.md in .rundry/skills/ is one", "$dim")
    for one in found:
        yield _row(one.skill.name, one.skill.origin, one.skill.description, one.trusted, one.problem)


def _command_rows(found: Sequence[SlashCommand]) -> Iterator[Content]:
    if not found:
        yield Content.styled("  none: a Markdown file in .rundry/commands/ is one", "$dim")
    for one in found:
        yield _row(f"/{one.name} {one.argument_hint}".strip(), one.origin, one.description, one.trusted, one.problem)


def _row(name: str, origin: str, about: str, trusted: bool, problem: str) -> Content:
    state = f"not used: {problem}" if problem else "" if trusted else "not trusted yet: /trust"
    return Content.assemble(
        (f"  {one_line(name):<{_NAME}} ", "$foreground"),
        (f"{origin:<8} ", "$dim"),
        (f"{one_line(state)}  " if state else "", "$needs-you"),
        (one_line(about), "$dim"),
    )


def _cost_row(cost: ContextCost) -> Content:
    when = "in each prompt" if cost.in_each_prompt else "since it was loaded"
    return Content.assemble(
        (f"  {one_line(cost.what):<{_NAME}} ", "$foreground"), (f"about {short(cost.tokens)} tokens, {when}", "$dim")
    )
