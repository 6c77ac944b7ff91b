"""Convert the tables of a spec file that set options: as if they were flags of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

import msgspec

from ...protocol import UserError
from ..option_table import read_rate
from ..option_values import parse_duration, parse_money, parse_number, parse_price
from ..request_params import read_params, refuse_account_fields
from .problems import SpecProblem

if TYPE_CHECKING:
    from .toml_values import BudgetTable, ModelTable

_VALUES: Mapping[str, Callable[[str], object]] = {
    "steps": parse_number,
    "tokens": parse_number,
    "usd": parse_money,
    "time": parse_duration,
    "context": parse_number,
    "price": parse_price,
}


def shared_options(model: ModelTable, budget: BudgetTable, quota: Mapping[str, str]) -> dict[str, object]:
    """Return the values of these tables by option name. Raises SpecProblem."""
    options = {**_options("budget", budget), **_options("model", model)}
    if "name" in options:
        options["model"] = options.pop("name")
    if quota:
        options["quota"] = [_rate(tool, rate) for tool, rate in quota.items()]
    return options


def refuse_server(options: Mapping[str, object]) -> None:
    """Raise SpecProblem if a recipe of a project names a server or an account: a key could be sent there."""
    if "api_base" in options:
        raise SpecProblem("[model] api_base is for your own recipes, not a project's: remove it", ("model", "api_base"))
    params = options.get("params")
    if isinstance(params, dict):
        try:
            refuse_account_fields(cast("dict[str, object]", params))
        except UserError as error:
            raise SpecProblem(f"[model] params: {error}", ("model", "params")) from None


def _rate(tool: str, rate: str) -> str:
    try:
        return f"{tool}={read_rate(tool, rate)}"
    except UserError as error:
        raise SpecProblem(f"[quota] {error}", ("quota", tool)) from None


def _options(table: str, given: ModelTable | BudgetTable) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in msgspec.to_builtins(given).items():
        if value is None:
            continue
        text = f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value)
        try:
            found[name] = read_params(value, 0.0) if name == "params" else text
            if name in _VALUES:
                _VALUES[name](text)
        except UserError as error:
            raise SpecProblem(f"[{table}] {name}: {error}", (table, name)) from None
    return found
