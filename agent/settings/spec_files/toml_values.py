"""The tables that spec files of searches and of goal runs share. Their JSON Schema is generated from these types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ...protocol import EffortLevel

Text = Annotated[str, Meta(pattern=r"\S")]
"""A text that is not empty."""
NAME = r"^[a-z][a-z0-9_-]*$"
"""The name of a parameter."""
ParameterType = Literal["string", "integer", "number", "boolean", "path", "choice"]
ParameterValue = str | int | float | bool
"""A value that can be filled in."""


class Table(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Base class of the tables. An unknown field is an error."""


class ModelTable(Table, frozen=True):
    """The model. Options of the command line and the config set what is missing."""

    name: Annotated[str | None, Meta(description="The model.")] = None
    api_base: Annotated[str | None, Meta(description="An OpenAI-compatible server.")] = None
    context: Annotated[int | str | None, Meta(description="Tokens of the model's window.")] = None
    price: Annotated[str | None, Meta(description="`IN/OUT` in USD per million tokens.")] = None
    effort: Annotated[EffortLevel | None, Meta(description="How much the model reasons: none to xhigh.")] = None
    params: Annotated[dict[str, Any] | None, Meta(description="Fields that are added to each request.")] = None


class BudgetTable(Table, frozen=True):
    """Limits of the run; `none` removes one."""

    steps: Annotated[int | str | None, Meta(description="Limit of steps.")] = None
    tokens: Annotated[int | str | None, Meta(description="Limit of billed tokens.")] = None
    usd: Annotated[float | str | None, Meta(description="Limit of USD.")] = None
    time: Annotated[float | str | None, Meta(description="Limit of working time, such as `30m`.")] = None


class ParameterTable(Table, frozen=True):
    """A parameter, which `--set NAME=VALUE` sets and `{set:NAME}` in the texts of the file stands for."""

    type: Annotated[
        ParameterType,
        Meta(description="What its value is. A path names an existing file or folder; a choice is one of `choices`."),
    ]
    default: Annotated[
        ParameterValue | None, Meta(description="Its value without `--set`. Without a default it is required.")
    ] = None
    required: Annotated[
        bool | None, Meta(description="Whether it must be set; the default follows from `default`.")
    ] = None
    help: Annotated[str, Meta(description="What it is for, in one line.")] = ""
    choices: Annotated[list[Text], Meta(description="The possible values of a choice.")] = []


ParameterTables = Annotated[
    dict[Annotated[str, Meta(pattern=NAME)], ParameterTable],
    Meta(description="The parameters of the file, by name: `[parameters.NAME]`."),
]
Description = Annotated[str, Meta(description="What the recipe is for, in one line; `rundry recipes` lists it.")]
Quota = Annotated[dict[str, str], Meta(description="Limits of calls, by tool, as in `[quota]` of a config file.")]
