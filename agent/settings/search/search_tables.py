"""The tables of a spec file of a search. Its JSON Schema is generated from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from ...protocol import ItemKind
from ..option_table import MOST_WORKERS
from ..spec_files.toml_values import BudgetTable, Description, ModelTable, ParameterTables, Quota, Table, Text

_AtLeastOne = Annotated[int, Meta(ge=1)]
_AtLeastNone = Annotated[int, Meta(ge=0)]
_Workers = Annotated[int, Meta(ge=1, le=MOST_WORKERS)]
_Verifiers = Annotated[int, Meta(ge=0, le=MOST_WORKERS)]


class DryTable(Table, frozen=True):
    """When the search has no new results."""

    passes: Annotated[
        _AtLeastOne | None, Meta(description="Passes in a row without a new result that end the search.")
    ] = None


class RefuteTable(Table, frozen=True):
    """The verifiers of findings."""

    sceptics: Annotated[
        _Verifiers | None,
        Meta(description="Verifiers of each finding; 0: findings are kept without a verdict."),
    ] = None


class LeadsTable(Table, frozen=True):
    """What happens to the items that lenses report."""

    work: Annotated[
        bool, Meta(description="Work the leads that lenses report, instead of only showing them to the lenses.")
    ] = False
    steps: Annotated[_AtLeastOne | None, Meta(description="Limit of steps for leads.")] = None


class LensTable(Table, frozen=True):
    """A lens: one way to search."""

    name: Annotated[Text, Meta(description="Name of the lens; each has its own.")]
    prompt: Annotated[Text, Meta(description="What the lens searches for.")]
    model: Annotated[str | None, Meta(description="A model for this lens.")] = None


class SeedTable(Table, frozen=True):
    """An item with which the search begins."""

    kind: Annotated[ItemKind, Meta(description="`url`, `file` or `value`.")]
    value: Annotated[Text, Meta(description="The first item, or one of several.")]


class WorkerTable(Table, frozen=True):
    """What works the items, instead of lenses. Exactly one of the first three is given."""

    command: Annotated[
        list[str], Meta(description="A program that works one item: JSON on standard input and output.")
    ] = []
    python: Annotated[str | None, Meta(description="`module:function` that works one item.")] = None
    recipe: Annotated[Literal["crawl"] | None, Meta(description="`crawl`: the built-in worker for pages.")] = None
    timeout: Annotated[float | str, Meta(description="Time limit of one item.")] = 30.0
    network: Annotated[bool, Meta(description="The command or function may use the network, also this machine's.")] = (
        False
    )
    hosts: Annotated[
        list[Text], Meta(description="Hosts that it reaches without `network`: `*.x.org`, `x.org:8443`.")
    ] = []


class MigrateTable(Table, frozen=True):
    """A migration, instead of lenses: the model fixes each file that fails a check."""

    check: Annotated[
        Text, Meta(description="Command line: a file is done when it exits with 0; `{file}` names the file.")
    ]
    globs: Annotated[list[Text], Meta(description="The files to migrate; default: all.")] = []
    parallel: Annotated[
        Annotated[int, Meta(ge=1, le=16)] | None, Meta(description="Files at a time, each in a worktree (1).")
    ] = None


class SpecFile(Table, frozen=True):
    """A search: `rundry find FILE.toml`."""

    task: Annotated[Text, Meta(description="What to search for.")]
    kind: Annotated[Literal["find"], Meta(description="`find`, which is the default: the file describes a search.")] = (
        "find"
    )
    description: Description = ""
    concurrency: Annotated[_Workers | None, Meta(description="Number of parallel workers.")] = None
    retries: Annotated[_AtLeastNone | None, Meta(description="Retries of a failed item.")] = None
    item_steps: Annotated[_AtLeastOne | None, Meta(description="Steps that one item or lens may take.")] = None
    quota: Quota = {}
    critic: Annotated[bool, Meta(description="Ask a model what was not searched before the search ends as dry.")] = True
    hosts: Annotated[list[str], Meta(description="Hosts whose pages lenses may read.")] = []
    model: ModelTable = ModelTable()
    budget: BudgetTable = BudgetTable()
    dry: DryTable = DryTable()
    refute: RefuteTable = RefuteTable()
    leads: LeadsTable = LeadsTable()
    lens: list[LensTable] = []
    seed: list[SeedTable] = []
    worker: WorkerTable | None = None
    migrate: MigrateTable | None = None
    parameters: ParameterTables = {}


TABLES: Mapping[str, type[Table]] = {
    "": SpecFile,
    "model": ModelTable,
    "budget": BudgetTable,
    "dry": DryTable,
    "refute": RefuteTable,
    "leads": LeadsTable,
    "lens": LensTable,
    "seed": SeedTable,
    "worker": WorkerTable,
    "migrate": MigrateTable,
}
