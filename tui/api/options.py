"""The options of a run that a Python program starts, and how they become flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from rundry.agent import LoopKind, UserError

if TYPE_CHECKING:
    from rundry.agent import EditFormat, GateMode, OnAsk, OnStall, Verify

Amount = int | float | str
"""A number, or a text as on the command line: `200k`, `10m`, `$5`, `none`."""
Texts = str | Sequence[str]

SCREEN_ONLY = frozenset({"theme", "keys"})
"""Options that only a screen has."""


class Options(TypedDict, total=False):
    """Options of a run. Those that are not given come from the user's config, as on the command line.

    docs/reference/config.md explains the values. `None` and an empty list are refused: leave the option out, or write
    `"none"` where no limit is possible.
    """

    folder: str | Path
    """The workspace; default: the current folder."""
    runs_dir: str | Path
    """Where the journal of the run is stored."""
    recipes: str | Path
    trust: bool
    """Use the config of the folder, and journals from elsewhere, for this call."""

    model: str
    api_base: str
    key_from: str
    context: Amount
    price: str | tuple[float, float]
    effort: str
    max_output: Amount
    headers: Mapping[str, str]
    params: Mapping[str, object]
    escalate: Any
    tiers: Sequence[Mapping[str, object]]

    loop: LoopKind | str
    steps: Amount
    tokens: Amount
    usd: Amount
    time: Amount
    deadline: str | datetime
    quota: Texts | Mapping[str, str]
    window: int
    tool_error_rate: float | str
    tool_error_calls: int
    restarts: Amount
    park: Amount
    cache_ttl: Amount
    on_stall: OnStall

    until: Texts
    until_file: Texts
    until_py: Texts
    schema: str
    require: Texts
    any: bool
    verify: Verify | str
    check_timeout: Amount
    confirm: bool
    confirm_with: str
    guard: Texts
    scope: Texts
    setup: str
    holdout: str
    holdout_files: Texts

    gate: GateMode | Literal["read", "ask", "effects", "edits", "auto", "stage"]
    on_ask: OnAsk
    rules: Sequence[Mapping[str, str]]
    stage_patch: str | Path
    network: bool
    sandbox_env: Texts
    sandbox_hide: Texts
    sandbox_show: Texts
    sandbox_host: Texts
    layers_live: Texts
    command_timeout: Amount

    hooks: Any
    mcp: Any
    notify: str
    otel_endpoint: str
    otel_content: bool
    search_provider: str
    search_api_base: str
    search_key_from: str

    edit_format: EditFormat
    diagnostics: Literal["on", "off"]
    worktree: bool
    commit: bool
    commit_hooks: bool
    protected: Texts

    every: Amount
    pass_steps: int
    score: str
    goal: Literal["min", "max"]
    patience: int
    min_delta: float
    repeat: int
    tries: int
    pass_loop: Literal["goal"]

    item_steps: int
    dry_passes: int
    refuters: int
    retries: int
    concurrency: int


class SearchOptions(Options, total=False):
    """Options of a search: also those of `rundry find`."""

    recipe: str
    task: str
    values: Mapping[str, str]
    """Values of the parameters of a spec file or a recipe."""
    check: str
    parallel: int
    max_pages: int
    rate: float
    include: Texts
    exclude: Texts
    executor: str
    host: Texts


_FLAGS = {"folder": "cwd", "values": "set_"}
"""Names that differ from those of the flags."""


def flags_of(options: Mapping[str, object], *, searches: bool = False) -> dict[str, object]:
    """Return the options as flags. Raises UserError for a value that would count as not set.

    Raises TypeError for an unknown name. `searches`: the options are those of `SearchOptions`.
    """
    flags: dict[str, object] = {}
    known = SearchOptions.__annotations__ if searches else Options.__annotations__
    for name, value in options.items():
        if name not in known:
            raise TypeError(_unknown(name, known))
        flags[_FLAGS.get(name, name)] = _flag(name, value)
    if str(flags.get("loop")) == LoopKind.CHAT.value:
        raise UserError('loop="chat": a chat needs a person at a screen; use loop="goal", or leave it out')
    return flags


def _flag(name: str, value: object) -> object:
    if value is None:
        raise UserError(f'{name}=None: leave it out to use the config, or write "none" for no limit')
    if value is False and name != "trust":
        return "no"  # False would mean that it is not set
    if isinstance(value, Path):
        return str(value)
    if name == "values":
        return tuple(f"{key}={text}" for key, text in cast("Mapping[str, str]", value).items())
    if name in ("host", "include", "exclude") and isinstance(value, str):
        value = [value]
    if isinstance(value, tuple):
        value = list(cast("tuple[object, ...]", value))
    if isinstance(value, (list, str, dict)) and not value:
        raise UserError(f"{name}={value!r} is empty: leave it out to use the config")
    return cast("object", value)


def _unknown(name: str, known: Mapping[str, object]) -> str:
    from difflib import get_close_matches  # only needed for errors

    near = get_close_matches(name, known, 1)
    return f"unknown option {name!r}" + (f": did you mean {near[0]}?" if near else f": use one of {', '.join(known)}")
