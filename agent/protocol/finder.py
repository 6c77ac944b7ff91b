"""What a finder is told to do (docs/requirements.md 2.4, 13.2)."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Recipe(StrEnum):
    CRAWL = "crawl"
    MIGRATE = "migrate"
    RESEARCH = "research"


class Lens(msgspec.Struct, frozen=True, kw_only=True):
    """One way to look."""

    name: str
    prompt: str
    model: str | None = None
    """None: the run's."""


class Seed(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    """`url`, `file` or `value`."""
    value: str


class WorkerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What works an item, instead of lenses. One of `command` and `python`, or neither: the recipe, or the model."""

    command: list[str] = []
    """Gets the item as JSON on standard input, gives its result as JSON on standard output."""
    python: str | None = None
    """`module:function`, called in a child process."""
    timeout: float = 30.0
    """Seconds for one item."""


class LeadsSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the items that lenses report."""

    work: bool = False
    """Each is worked by the model, as an item. Else the lenses of the next pass are told of it."""
    steps: int = 100
    """The budget of all leads that are worked: no further one begins when its steps would not fit."""

    def allowance(self, item_steps: int) -> int:
        """Steps that one lead may take; `item_steps`: what an item may take at most."""
        return min(item_steps, self.steps)


class FinderSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Lenses search, or a worker works items, until nothing new is left."""

    recipe: Recipe | None = None
    """None: the spec file says it all."""
    source: str = ""
    """Path of the spec file, where there was one."""
    lenses: list[Lens] = []
    seeds: list[Seed] = []
    leads: LeadsSpec = LeadsSpec()
    """Of a search by lenses."""
    worker: WorkerSpec | None = None
    concurrency: int = 8
    retries: int = 3
    """How often a failed item is worked again before it is set aside."""
    dry_passes: int = 2
    sceptics: int = 3
    """For each new finding; 0: findings are confirmed unjudged, and say so."""
    critic: bool = True
    """A model may propose a lens before an empty streak is trusted."""
    paths: list[str] = []
    """research: the folders that are searched, relative to the workspace."""
    check: str | None = None
    """migrate: a command with `{file}` in it; exit code 0 means that the file needs nothing."""
    globs: list[str] = []
    """migrate: which files."""
    checks: int = 8
    """migrate: how many checks run at once while all files are looked at."""
    rate: float | None = None
    """crawl: requests a second; None: no limit."""
    include: list[str] = []
    exclude: list[str] = []
    """crawl: globs over URLs that are followed, and that are not."""
    robots: bool = True
    """crawl: robots.txt is obeyed."""
    hosts: list[str] = []
    """Hosts that `fetch_url` may ask; empty: the tool is off."""

    @property
    def digest_words(self) -> tuple[object, ...]:
        """What makes two runs of the same spec: `find ... --resume` looks for the same words."""
        return (self.recipe, self.lenses, self.seeds, self.worker, self.paths, self.check, self.globs)
