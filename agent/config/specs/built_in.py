"""What the list of recipes says about the built-in ones, whose parameters are arguments and options."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ...protocol import Recipe


class BuiltIn(msgspec.Struct, frozen=True):
    """A recipe that rundry brings along, as the list of recipes shows it."""

    description: str
    parameters: list[tuple[str, str, str, str, bool]]
    """Name, type, example, help, and whether it is required."""


BUILT_IN: Mapping[Recipe, BuiltIn] = {
    Recipe.CRAWL: BuiltIn(
        "Follow every link of a site, without a model.",
        [
            ("URL", "address", "http://localhost:8000/", "Where the crawl starts.", True),
            ("--max-pages", "integer", "N", "Limit of pages.", False),
            ("--rate", "number", "X", "Requests a second.", False),
            ("--include", "glob", "GLOB", "Follow only these addresses.", False),
            ("--exclude", "glob", "GLOB", "Never follow these.", False),
        ],
    ),
    Recipe.MIGRATE: BuiltIn(
        "Fix every file that fails a check.",
        [
            ("--check", "command", "'ruff check {file}'", "A file is done when this exits with 0.", True),
            ("GLOB", "glob", "'src/**/*.py'", "The files; default: all.", False),
            ("--task", "string", "TEXT", "How to fix them.", False),
            ("--parallel", "integer", "N", "Files at a time in worktrees.", False),
        ],
    ),
    Recipe.RESEARCH: BuiltIn(
        "Answer a question with lenses, verifiers and a critic.",
        [
            ("--task", "string", "TEXT", "The question.", True),
            ("PATH", "path", "src", "Where to search; default: everywhere.", False),
        ],
    ),
}
