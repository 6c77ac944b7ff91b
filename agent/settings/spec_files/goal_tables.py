"""The tables of a spec file of a goal run. Its JSON Schema is generated from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from ...protocol import GateMode, OnAsk, OnStall, Verify
from .toml_values import BudgetTable, Description, ModelTable, ParameterTables, Quota, Table, Text


class GateTable(Table, frozen=True):
    """The table `[gate]`: what needs no approval, and what happens if nobody can be asked."""

    mode: Annotated[GateMode | None, Meta(description="read, ask, effects, edits or auto: what passes.")] = None
    on_ask: Annotated[OnAsk | None, Meta(description="Headless, instead of asking: refuse or handoff.")] = None


class GoalFile(Table, frozen=True):
    """A goal run: `rundry run FILE.toml`."""

    kind: Annotated[Literal["goal"], Meta(description="`goal`: the file describes a goal run.")]
    task: Annotated[Text, Meta(description="What the model shall do.")]
    description: Description = ""
    until: Annotated[list[Text], Meta(description="Command lines: done when they exit with 0.")] = []
    until_file: Annotated[list[Text], Meta(description="Done when these files exist and are not empty.")] = []
    until_py: Annotated[list[Text], Meta(description="`FILE:FUNCTION`: done when these return true.")] = []
    schema: Annotated[str | None, Meta(description="Done when the final answer fits this JSON Schema file.")] = None
    require: Annotated[list[Text], Meta(description="Actions that must have happened, as for `--require`.")] = []
    any: Annotated[bool, Meta(description="One of these conditions is enough.")] = False
    verify: Annotated[Verify | None, Meta(description="Check on every-step, on-change or on-claim.")] = None
    guard: Annotated[list[Text], Meta(description="Globs of files that a person must approve; `none` for none.")] = []
    scope: Annotated[list[Text], Meta(description="Globs of files that may change besides the sources.")] = []
    confirm: Annotated[bool, Meta(description="The check must also pass in a clean checkout.")] = False
    confirm_with: Annotated[Text | None, Meta(description="The same, with this command line.")] = None
    setup: Annotated[Text | None, Meta(description="Prepares a fresh checkout, for the judge of a result.")] = None
    holdout: Annotated[Text | None, Meta(description="A second check, which the model never sees.")] = None
    holdout_files: Annotated[list[Text], Meta(description="Globs of the files that only `holdout` may read.")] = []
    tries: Annotated[
        Annotated[int, Meta(ge=2, le=16)] | None,
        Meta(description="Tries with files of their own; the check selects one."),
    ] = None
    tools: Annotated[
        list[Text], Meta(description="The only tools that the model gets, with `finish`; default: all.")
    ] = []
    on_stall: Annotated[OnStall | None, Meta(description="If the run stalls: handoff or stop.")] = None
    quota: Quota = {}
    model: ModelTable = ModelTable()
    budget: BudgetTable = BudgetTable()
    gate: GateTable = GateTable()
    parameters: ParameterTables = {}


GOAL_TABLES: Mapping[str, type[Table]] = {"": GoalFile, "model": ModelTable, "budget": BudgetTable, "gate": GateTable}
