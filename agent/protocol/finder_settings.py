"""Settings of a finder run (docs/requirements.md 2.4, 13.2)."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Literal, get_args

import msgspec

from .budget import Budget
from .reviewed_diff import ReviewSpec

ItemKind = Literal["url", "file", "value"]
ITEM_KINDS: tuple[ItemKind, ...] = get_args(ItemKind)


class Recipe(StrEnum):
    """A predefined search, by its word for `--recipe`."""

    CRAWL = "crawl"
    MIGRATE = "migrate"
    RESEARCH = "research"
    REVIEW = "review"


class RecipeTraits(msgspec.Struct, frozen=True, kw_only=True):
    """How the searches of a recipe differ from a search by lenses."""

    options: tuple[str, ...] = ()
    """Command-line options that only this recipe has, without the dashes."""
    changes_files: bool = False
    fetches_pages: bool = False
    """The items are pages. They are fetched without a model, and a step is a page."""
    has_findings: bool = True
    """It reports findings, which verifiers judge."""


@cache
def recipe_traits(recipe: Recipe | None) -> RecipeTraits:
    """Return the traits of a recipe, or of a search that a spec file defines."""
    match recipe:
        case Recipe.CRAWL:
            options = ("max-pages", "rate", "include", "exclude")
            return RecipeTraits(options=options, fetches_pages=True, has_findings=False)
        case Recipe.MIGRATE:
            return RecipeTraits(options=("check", "parallel"), changes_files=True, has_findings=False)
        case Recipe.RESEARCH | Recipe.REVIEW | None:
            return RecipeTraits()


class Lens(msgspec.Struct, frozen=True, kw_only=True):
    """One lens: instructions for one way to search."""

    name: str
    prompt: str
    model: str | None = None
    """Model of this lens. None means the run's model."""


class Seed(msgspec.Struct, frozen=True, kw_only=True):
    kind: ItemKind
    value: str


class WorkerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What processes an item, instead of lenses: `command`, or `python`, or neither (then the recipe or the model)."""

    command: list[str] = []
    """Command that receives the item as JSON on standard input and writes its result as JSON to standard output."""
    python: str | None = None
    """`module:function`, called in a child process."""
    timeout: float = 30.0
    """Time limit for one item, in seconds."""


class LeadsSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to the items that lenses report."""

    work: bool = False
    """Whether the model works each lead as an item. False means that the lenses of the next pass receive the leads."""
    steps: int = 100
    """Step budget for all leads together: a lead starts only if its steps still fit."""

    def allowance(self, item_steps: int) -> int:
        """Return the steps that one lead may take; `item_steps` is the maximum for an item."""
        return min(item_steps, self.steps)


class FinderSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a search by lenses, or by a worker on items, that continues until it finds nothing new."""

    recipe: Recipe | None = None
    """Predefined recipe. None means that the spec file defines everything."""
    source: str = ""
    """Path of the spec file, if there is one."""
    lenses: list[Lens] = []
    seeds: list[Seed] = []
    leads: LeadsSpec = LeadsSpec()
    """Settings for leads, in a search by lenses."""
    worker: WorkerSpec | None = None
    concurrency: int = 8
    retries: int = 3
    """How often a failed item is tried again before it has failed permanently."""
    dry_passes: int = 2
    sceptics: int = 3
    """Number of verifiers for each new finding. With 0, findings are confirmed and reported as such, without a
    verdict."""
    critic: bool = True
    """A model may propose another lens before the run accepts that passes find nothing new."""
    paths: list[str] = []
    """research: the folders to search, relative to the workspace."""
    review: ReviewSpec | None = None
    """review: the diff that is searched."""
    check: str | None = None
    """migrate: a command that contains `{file}`; exit code 0 means that the file needs no change."""
    globs: list[str] = []
    """migrate: globs of the files to migrate."""
    checks: int = 8
    """migrate: number of checks that run at the same time during a scan of all files."""
    parallel: int = 1
    """migrate: number of worktrees that each work a file; 1: the files are worked one by one in the run's tree."""
    rate: float | None = None
    """crawl: requests per second. None means no limit."""
    include: list[str] = []
    exclude: list[str] = []
    """crawl: globs of URLs. `include` names the URLs to follow, `exclude` the ones to ignore."""
    robots: bool = True
    """crawl: whether to obey robots.txt."""
    executor: str | None = None
    """Dask cluster whose workers work the items, as `--executor` names it. None means that they are worked on this
    machine."""
    hosts: list[str] = []
    """Hosts that `fetch_url` may contact. Empty means that the tool is not available."""

    @property
    def traits(self) -> RecipeTraits:
        """Return how the search works."""
        return recipe_traits(self.recipe)

    @property
    def digest_words(self) -> tuple[object, ...]:
        """Return what identifies a spec: `find ... --resume` looks for a run with the same values."""
        return (self.recipe, self.lenses, self.seeds, self.worker, self.paths, self.check, self.globs)


class ReviewLoopSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a review run: a search, a repair of each finding that counts, a search, until one leaves nothing."""

    task: str
    """The task of each search."""
    finder: FinderSpec
    """The search, with the diff as it was when the run began."""
    base: str
    """The commit since which the working tree is reviewed. Empty if there was none."""
    until: list[str]
    """The checks of each repair, with the fields of a finding (`{file}`)."""


class RepeatSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a repeat run: a search at fixed times, each time as a child run."""

    every: float
    """Seconds from the start of a search to the start of the next."""
    task: str
    """The task of each search."""
    finder: FinderSpec
    budget: Budget = Budget()
    """Limits of one search; it never gets more than what is left of the whole run's budget."""
