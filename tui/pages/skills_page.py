"""Show the skills and slash commands that are found here, and what instructions, skills and MCP tools cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from rundry.agent import ContextCost, FoundSkill, Journal, SlashCommand, context_costs, short

from ..text.show_text import one_line
from .text_page import PageDialog

if TYPE_CHECKING:
    from ..start.run_extensions import Extensions

_NAME = 22


class SkillsScreen(PageDialog):
    """A dialog with the skills and slash commands. Esc closes it."""

    def __init__(self, found: Extensions, journal: Journal | None) -> None:
        super().__init__()
        self._found = found
        self._costs = [] if journal is None else context_costs(journal)

    def rows(self) -> Iterator[Content]:
        """Yield the rows of the page."""
        yield Content.styled("Skills", "bold $bright")
        yield from _skill_rows(self._found.skills)
        yield Content("")
        yield Content.styled("Slash commands of your own", "bold $bright")
        yield from _command_rows(self._found.commands)
        if self._costs:
            yield Content("")
            yield Content.styled("Part of the context", "bold $bright")
            yield from map(_cost_row, self._costs)


def _skill_rows(found: Sequence[FoundSkill]) -> Iterator[Content]:
    if not found:
        yield Content.styled("  none: a folder with SKILL.md in .rundry/skills/ is one", "$dim")
    for one in found:
        yield from _rows(one.skill.name, one.skill.origin, one.skill.description, one.trusted, one.problem)


def _command_rows(found: Sequence[SlashCommand]) -> Iterator[Content]:
    if not found:
        yield Content.styled("  none: a Markdown file in .rundry/commands/ is one", "$dim")
    for one in found:
        yield from _rows(
            f"/{one.name} {one.argument_hint}".strip(), one.origin, one.description, one.trusted, one.problem
        )


def _rows(name: str, origin: str, about: str, trusted: bool, problem: str) -> Iterator[Content]:
    """Yield the name with its origin, why it is not used, and what it is for."""
    state = f"not used: {problem}" if problem else "" if trusted else "not trusted yet: /trust"
    yield Content.assemble((f"  {one_line(name):<{_NAME}} ", "$foreground"), (origin, "$dim"))
    if state:
        yield Content.styled(f"    {one_line(state)}", "$needs-you")
    if about:
        yield Content.styled(f"    {one_line(about)}", "$dim")


def _cost_row(cost: ContextCost) -> Content:
    when = "in each prompt" if cost.in_each_prompt else "since it was loaded"
    return Content.assemble(
        (f"  {one_line(cost.what):<{_NAME}} ", "$foreground"), (f"about {short(cost.tokens)} tokens, {when}", "$dim")
    )
