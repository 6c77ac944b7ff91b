"""Build the searches of the recipes of `rundry find`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...protocol import FinderSpec, Lens, Recipe, Seed, UserError, part_with
from ...shell.value_places import require_data_line
from ..spec_files.toml_values import ParameterValue

if TYPE_CHECKING:
    from ..settings import Settings

SEARCH_LIMITS = ("concurrency", "retries", "dry_passes", "refuters")
MOST_PAGES = "10000"
"""Default limit of the pages of a crawl."""
EVERY_FILE = "**/*"
"""Default glob of the recipe `migrate`."""

RESEARCH_LENSES = (
    Lens(
        name="survey",
        prompt="Go through the files one by one, from the entry points on, and read what they do rather than what they "
        "are called.",
    ),
    Lens(
        name="words",
        prompt="Search for the words that belong to the question, their synonyms, abbreviations and other spellings, "
        "and read around each hit.",
    ),
    Lens(
        name="threads",
        prompt="Follow references: from a definition to its uses, from a claim to its source, from a setting to what "
        "reads it.",
    ),
    Lens(
        name="edges",
        prompt="Look where nobody looks: tests, examples, configuration, error paths, old and odd files, comments that "
        "say something is temporary.",
    ),
)


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A requested search, with the options that a flag can still override."""

    task: str
    finder: FinderSpec
    options: dict[str, object] = {}
    limits: list[str] = []
    """Limits that the spec file sets; a config file does not override these."""
    values: dict[str, ParameterValue] = {}
    """The values of the file's parameters, which are filled in already."""
    is_own: bool = True
    """The user made the search: by options, or by a file in their config folder."""
    choices: list[str] = []
    """Keys of the file that choose what runs or where data goes."""
    requires_verifiers: bool = False
    """The user requested verifiers: without a model, the search is refused instead of skipping the verdicts."""


def search_request(
    recipe: Recipe, words: Sequence[str], *, task: str | None, check: str | None, workspace: Path
) -> SearchRequest:
    """Return the search for a recipe. `words`: addresses, paths or globs, depending on the recipe. Raises UserError."""
    match recipe:
        case Recipe.CRAWL:
            return crawl_request(words)
        case Recipe.RESEARCH:
            return research_request(task, words, workspace)
        case Recipe.MIGRATE:
            return migrate_request(task, check, words)
        case Recipe.REVIEW:
            raise UserError("review has a command of its own: use rundry review, or rundry review --diff main...HEAD")


def crawl_request(urls: Sequence[str]) -> SearchRequest:
    """Return a crawl from these addresses within their hosts. Raises UserError for an invalid address."""
    if not urls:
        raise UserError("a crawl needs a start address: rundry find --recipe crawl URL")
    for url in urls:
        require_address(url)
    seeds = [Seed(kind="url", value=url) for url in urls]
    finder = FinderSpec(recipe=Recipe.CRAWL, seeds=seeds, sceptics=0)
    return SearchRequest(task=f"crawl {', '.join(urls)}", finder=finder, options={"model": "none", "steps": MOST_PAGES})


def research_request(task: str | None, paths: Sequence[str], root: Path) -> SearchRequest:
    """Return a search with lenses, verifiers and a critic in folders of documents or code. Raises UserError."""
    if not task:
        raise UserError('research needs a question: rundry find --recipe research --task "..." [PATH...]')
    for path in paths:
        if not (root / path).exists():
            raise UserError(f"{path}: there is no such file or folder in {root}")
    return SearchRequest(
        task=task,
        finder=FinderSpec(recipe=Recipe.RESEARCH, lenses=list(RESEARCH_LENSES), paths=list(paths)),
    )


def migrate_request(task: str | None, check: str | None, globs: Sequence[str]) -> SearchRequest:
    """Return a migration of the files that fail a check. Raises UserError."""
    if not (check and check.strip()):
        raise UserError("migrate needs a check: rundry find --recipe migrate --check 'CMD {file}' [GLOB...]")
    require_safe_check(check, "--check")
    wanted = list(globs) or [EVERY_FILE]
    finder = FinderSpec(recipe=Recipe.MIGRATE, check=check, globs=wanted, concurrency=1, sceptics=0)
    return SearchRequest(task=task or f"make every file pass `{check}`", finder=finder)


def require_safe_check(check: str, place: str) -> None:
    """Raise UserError if a check could run the name of a file. `place`: where the check is written."""
    before = check.rpartition("{file}")[0]
    if found := next((sign for sign in ("<<", "`") if sign in before), None):
        raise UserError(f"{place} {check!r}: {{file}} is behind {found}, where it could be executed: move it in front")
    try:
        require_data_line(check if "{file}" in check else f"{check} {{file}}", "{file}")
    except UserError as error:
        raise UserError(f"{place} {check!r}: {{file}}: {error}") from None


def migration_concurrency(trees: int) -> int:
    """Return how many files a migration works at the same time. `trees`: its number of worktrees.

    While a worktree works on one file, another file is checked in the run's tree.
    """
    return 1 if trees == 1 else 2 * trees


def with_search_limits(wanted: SearchRequest, settings: Settings) -> FinderSpec:
    """Apply the limits of flags and config files to the search. Raises UserError for an invalid limit."""
    finder = wanted.finder
    asked = {name for name in SEARCH_LIMITS if settings[name].source == "flag"}
    is_judged = finder.traits.has_findings
    if "refuters" in asked and not is_judged:
        raise UserError(f"--refuters: a {finder.recipe} has no findings to judge, so leave it out")
    names = asked | {name for name in SEARCH_LIMITS if settings.is_set(name) and name not in wanted.limits}
    if not is_judged:
        names.discard("refuters")
    return part_with(finder, "finder", {name: settings.need(name, int) for name in names})


def require_address(url: str) -> None:
    """Raise UserError if this is not an HTTP address."""
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in ("http", "https") or not rest.strip("/"):
        raise UserError(f"{url}: a crawl starts at an address, such as http://localhost:8000/")
