"""The table of all options: name, key in a config file, parser and default."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from math import inf
from pathlib import Path
from typing import cast

import msgspec

from ..host.address_hosts import read_host
from ..protocol import (
    AUTO_FORMAT,
    CACHE_TTL,
    DIAGNOSTICS,
    EDIT_FORMATS,
    EFFORTS,
    ON_ASK,
    ON_STALL,
    PROTECTED,
    SEARCH_PROVIDERS,
    Better,
    GateMode,
    LoopKind,
    Rule,
    UserError,
    Verify,
)
from .handoff_tiers import read_model, read_tiers
from .mcp_tables import read_servers
from .option_values import (
    check_amount,
    parse_deadline,
    parse_duration,
    parse_money,
    parse_number,
    parse_price,
    parse_real,
    read_address,
    read_collector,
    read_search_server,
)
from .read_hooks import read_hooks
from .request_params import read_headers, read_params
from .value_schema import COMMAND, DURATION, FLAG, LINE, Node, listed, schema_of, table, takes

Read = Callable[[object, float], object]
"""Converts a given value (text of a flag, or a TOML value) at the given time. Raises UserError."""

_NONE = r"^\s*[Nn][Oo][Nn][Ee]\s*$"
_DIGITS = r"^[\s0-9._,]*[0-9][\s0-9._,]*"
_TEXTS: dict[Callable[[str], float | None], str] = {
    parse_number: _DIGITS + r"[kmgKMG]?\s*$",
    parse_money: r"^\s*\$?" + _DIGITS.removeprefix("^") + "$",
    parse_real: r"^[\s0-9._,eE+-]*[0-9][\s0-9._,eE+-]*$",
    parse_duration: str(DURATION["pattern"]),
}
"""What a text for a number can look like. The parser decides about the rest."""
_VARIABLE = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z_*][A-Za-z0-9_*]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Option:
    """One option and how its value is read."""

    config_key: str
    """The key in a config file, such as `budget.steps`."""
    read: Read
    default: object = None
    from_env: bool = True
    """Whether the variable RUNDRY_NAME can set it."""
    user_only: bool = False
    """Whether only the user's own config may set it, not a project's."""
    flag: bool = True
    """Whether a command-line option has its name."""


@takes(LINE)
def _text(value: object, now: float) -> str:
    del now
    if not isinstance(value, str):
        raise UserError(f"{value!r} is not a text: write it in quotes")
    if not value.strip() or not value.isprintable():
        raise UserError(f"{value!r} is empty or contains control characters: write a text in one line")
    return value.strip()


@takes(COMMAND)
def _command_text(value: object, now: float) -> str:
    """Parse a command, which may have several lines."""
    if isinstance(value, str) and value.strip() and "\0" not in value:
        return value
    return _text(value, now)


def _many(read: Callable[[object, float], str]) -> Read:
    @takes(listed(schema_of(read)))
    def read_all(value: object, now: float) -> list[str]:
        values = list(cast("Sequence[object]", value)) if isinstance(value, (list, tuple)) else [value]
        return [read(one, now) for one in values]

    return read_all


def _choice(kind: type[Better | GateMode | LoopKind | Verify] | tuple[str, ...]) -> Read:
    words = [str(word) for word in kind]

    @takes({"enum": words})
    def read(value: object, now: float) -> str:
        del now
        if value not in words:
            several = f"{', '.join(words[:-1])} or " if len(words) > 1 else ""
            raise UserError(f"{value!r} is not possible: write {several}{words[-1]}")
        return str(value) if isinstance(kind, tuple) else kind(str(value))

    return read


def _amount(
    parse: Callable[[str], float | None],
    *,
    whole: bool = False,
    least: float = 0,
    limit: float = inf,
    needed: bool = False,
) -> Read:
    number: Node = {"type": "integer" if whole else "number", "minimum": least}
    number |= {} if limit == inf else {"maximum": limit}
    texts = {"type": "string", "pattern": _TEXTS[parse] if needed else f"{_TEXTS[parse]}|{_NONE}"}

    @takes({"anyOf": [number, texts]})
    def read(value: object, now: float) -> float | None:
        del now
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise UserError(f"{value!r} is not a number")
        amount = parse(value) if isinstance(value, str) else check_amount(value)
        if whole and amount is not None and amount != int(amount):
            raise UserError(f"{value!r} is not a whole number")
        if amount is None:
            if needed:
                raise UserError("none is not possible: it cannot be switched off")
            return None
        if amount < least:
            raise UserError(f"{value!r} is too small: at least {least:,g}")
        if amount > limit:
            raise UserError(f"{value!r} is too large: at most {limit:,g}")
        return int(amount) if whole else float(amount)

    return read


@takes({"anyOf": [FLAG, {"enum": ["true", "yes", "1", "false", "no", "0", 1, 0]}]})
def _yes_or_no(value: object, now: float) -> bool:
    del now
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word in ("true", "yes", "1", "false", "no", "0"):
        return word in ("true", "yes", "1")
    raise UserError(f"{value!r} is neither true nor false")


@takes({"type": "string", "pattern": r"[0-9]|^\s*none\s*$"})
def _deadline(value: object, now: float) -> float | None:
    if isinstance(value, (date, datetime, time)):
        value = value.isoformat()[:16] if isinstance(value, datetime) and value.tzinfo is None else value.isoformat()
        value = value[:5] if len(value) == 8 and ":" in value else value
    if not isinstance(value, str):
        raise UserError(f"{value!r} is not a deadline: write a duration (2h), a time (18:00) or a date and time")
    return parse_deadline(value, now)


_AMOUNT: Node = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}]}


@takes(
    {
        "anyOf": [
            {"type": "string", "pattern": "^[^/]+/[^/]+$"},
            {"type": "array", "items": _AMOUNT, "minItems": 2, "maxItems": 2},
        ]
    }
)
def _price(value: object, now: float) -> tuple[float, float]:
    del now
    if isinstance(value, list) and len(cast("list[object]", value)) == 2:
        return parse_price("/".join(map(str, cast("list[object]", value))))
    return parse_price(value if isinstance(value, str) else repr(cast("object", value)))


@takes({"type": "object", "additionalProperties": LINE})
def _table(value: object, now: float) -> dict[str, str]:
    if not isinstance(value, dict):
        raise UserError(f"{value!r} is not a table")
    return {name: _text(text, now) for name, text in cast("dict[str, object]", value).items()}


@takes(
    {
        "anyOf": [
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            {"type": "string", "pattern": r"^\s*[0-9.eE+-]+\s*%?\s*$"},
        ]
    }
)
def _share(value: object, now: float) -> float:
    del now
    text = str(value).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if isinstance(value, bool) or not 0 < share <= 1:
        raise UserError(f"{value!r} is not a share: write a number above 0 and up to 1, such as 0.8 or 80%")
    return share


_RATE = r"\s*\d+\s*/\s*(second|min|minute|hour|day|run)\s*"


@takes(
    {
        "anyOf": [
            {"type": "object", "additionalProperties": {"type": "string", "pattern": rf"^(none|{_RATE})$"}},
            *listed({"type": "string", "pattern": rf"^[^=]*=(none|{_RATE})$"})["anyOf"],
        ]
    }
)
def _quotas(value: object, now: float) -> dict[str, str]:
    """Parse quotas: a table of tools, or texts `TOOL=RATE`."""
    if isinstance(value, (str, list, tuple)):
        pairs = [str(one).partition("=") for one in _many(_text)(value, now)]  # type: ignore[arg-type]
        for tool, equals, _ in pairs:
            if not equals:
                raise UserError(f"{tool!r} has no rate: write TOOL=RATE, such as run_command=30/min")
        value = {tool.strip(): rate for tool, _, rate in pairs}
    return {tool: read_rate(tool, rate) for tool, rate in _table(cast("object", value), now).items()}


def read_rate(tool: str, rate: str) -> str:
    """Return the rate of a tool's quota, or `none`, which removes one that was set elsewhere. Raises UserError."""
    if rate == "none" or re.fullmatch(_RATE, rate, re.ASCII):
        return rate
    raise UserError(f"{tool} = {rate!r} is not a rate: write a number and a span, such as 30/min or 20/run")


_RULE = table(
    {
        "verdict": {
            "enum": ["allow", "ask", "deny"],
            "description": "`deny` overrides `ask`, `ask` overrides `allow`.",
        },
        **dict.fromkeys(("tool", "path", "command", "host"), LINE),
    },
    "verdict",
    least=2,
)


@takes(listed(_RULE))
def _rules(value: object, now: float) -> list[Rule]:
    rows = cast("list[object]", value) if isinstance(value, list) else [value]
    return [_rule(row, now) for row in rows]


def _rule(row: object, now: float) -> Rule:
    fix = 'write {verdict = "allow", command = "git status"}, with tool, path, command or host'
    if not isinstance(row, dict):
        raise UserError(f"{row!r} is not a rule: {fix}")
    fields = _table(cast("object", row), now)
    if "verdict" not in fields:
        raise UserError(f"a rule needs a verdict, allow, ask or deny: {fix}")
    if fields["verdict"] not in ("allow", "ask", "deny"):
        raise UserError(f"the verdict of a rule is {fields['verdict']!r}: use allow, ask or deny")
    if "host" in fields:
        fields["host"] = _host(fields["host"], now)
    wrong = [name for name in fields if name not in ("verdict", "tool", "path", "command", "host")]
    if wrong or len(fields) == 1:
        raise UserError(f"a rule {f'cannot have {wrong[0]}' if wrong else 'must say what it is about'}: {fix}")
    return msgspec.convert(fields, Rule)


@takes({"type": "string", "pattern": r"^\s*[A-Za-z_*][A-Za-z0-9_*]*\s*$"})
def _variable(value: object, now: float) -> str:
    """Parse the name of a variable, in which `*` matches any characters. Raises UserError."""
    del now
    if isinstance(value, str) and _VARIABLE.fullmatch(value.strip()):
        return value.strip()
    raise UserError(f'{value!r} is not the name of a variable: write a name or a pattern, such as "MYAPP_*"')


@takes({"type": "string", "pattern": r"\S"})
def _host(value: object, now: float) -> str:
    """Parse a host, as a list of hosts has it. Raises UserError."""
    del now
    if not isinstance(value, str):
        raise UserError(f'{value!r} is not a host: write a text, such as "example.org"')
    try:
        return read_host(value)
    except ValueError as error:
        raise UserError(str(error)) from None


@takes({"type": "string", "pattern": r"^\s*(~\s*$|~/|/+[^/\s])"})
def _path(value: object, now: float) -> str:
    """Parse an absolute path, or one that begins with `~`. Raises UserError."""
    del now
    text = value.strip() if isinstance(value, str) else ""
    if text.isprintable() and (text == "~" or text.startswith("~/") or (Path(text).is_absolute() and text != "/")):
        return text
    raise UserError(f'{value!r} is not a path of this machine: write it like "~/.secrets" or "/etc/keys"')


@takes({"type": "string", "pattern": r"^\s*[^/\s]"})
def _folder(value: object, now: float) -> str:
    """Parse a folder inside the workspace, relative to it. Raises UserError."""
    del now
    text = value.strip() if isinstance(value, str) else ""
    parts = Path(text).parts
    if text.isprintable() and parts and not Path(text).is_absolute() and not {"..", "~", ".git"} & {*parts}:
        return Path(text).as_posix()
    raise UserError(f'{value!r} is not a folder in the workspace: write it relative to the workspace, like "var/cache"')


MOST_WORKERS = 1_024
_SECONDS = _amount(parse_duration, least=1, needed=True)
MOST_TRIES = 16
_COUNT = _amount(parse_number, whole=True, least=1, limit=1_000, needed=True)

OPTIONS: dict[str, Option] = {
    "model": Option("model.name", _text),
    "api_base": Option("model.api_base", read_address),
    "context": Option("model.context", _amount(parse_number, whole=True, least=1)),
    "price": Option("model.price", _price),
    "effort": Option("model.effort", _choice(EFFORTS)),
    "max_output": Option("model.max_output", _amount(parse_number, whole=True, least=1), flag=False),
    "headers": Option("model.headers", read_headers, {}, from_env=False, user_only=True, flag=False),
    "params": Option("model.params", read_params, {}, from_env=False, flag=False),
    "key_from": Option("model.key_from", _text, from_env=False, user_only=True, flag=False),
    "loop": Option("loop", _choice(LoopKind)),
    "steps": Option("budget.steps", _amount(parse_number, whole=True)),
    "tokens": Option("budget.tokens", _amount(parse_number, whole=True)),
    "usd": Option("budget.usd", _amount(parse_money)),
    "time": Option("budget.time", _amount(parse_duration)),
    "deadline": Option("budget.deadline", _deadline),
    "until": Option("until", _many(_command_text), [], from_env=False),
    "until_file": Option("until_file", _many(_text), [], from_env=False),
    "until_py": Option("until_py", _many(_text), [], from_env=False),
    "schema": Option("schema", _text, from_env=False),
    "require": Option("require", _many(_command_text), [], from_env=False),
    "any": Option("any", _yes_or_no, False, from_env=False),
    "verify": Option("verify", _choice(Verify), Verify.ON_CHANGE),
    "check_timeout": Option("check_timeout", _SECONDS, 300.0),
    "command_timeout": Option("command_timeout", _amount(parse_duration, least=1, limit=3_600, needed=True), 120.0),
    "diagnostics": Option("diagnostics", _choice(DIAGNOSTICS), "on"),
    "window": Option("window", _amount(parse_number, whole=True, least=2, limit=1_000, needed=True), 4),
    "tool_error_rate": Option("tool_error_rate", _share, 0.8),
    "tool_error_calls": Option("tool_error_calls", _COUNT, 10),
    "park": Option("park", _amount(parse_duration, least=1), 1_800.0),
    "item_steps": Option("find.item_steps", _COUNT, 15),
    "dry_passes": Option("find.dry_passes", _COUNT, 2),
    "refuters": Option("find.refuters", _amount(parse_number, whole=True, limit=MOST_WORKERS, needed=True), 3),
    "retries": Option("find.retries", _amount(parse_number, whole=True, limit=1_000, needed=True), 3),
    "concurrency": Option(
        "find.concurrency", _amount(parse_number, whole=True, least=1, limit=MOST_WORKERS, needed=True), 8
    ),
    "confirm": Option("confirm", _yes_or_no, False, from_env=False),
    "confirm_with": Option("confirm_with", _command_text, from_env=False),
    "guard": Option("guard", _many(_text), [], from_env=False),
    "scope": Option("verdict.scope", _many(_text), [], from_env=False),
    "setup": Option("verdict.setup", _command_text, from_env=False),
    "holdout": Option("verdict.holdout", _command_text, from_env=False),
    "holdout_files": Option("verdict.holdout_files", _many(_text), [], from_env=False),
    "gate": Option("gate.mode", _choice(GateMode), GateMode.ASK),
    "on_ask": Option("gate.on_ask", _choice(ON_ASK)),
    "stage_patch": Option("stage_patch", _text, from_env=False, user_only=True),
    "hooks": Option("hooks", read_hooks, [], from_env=False, flag=False),
    "rules": Option("gate.rules", _rules, [], from_env=False, flag=False),
    "sandbox_env": Option("sandbox.env", _many(_variable), [], from_env=False),
    "sandbox_hide": Option("sandbox.hide", _many(_path), [], from_env=False, flag=False),
    "sandbox_show": Option("sandbox.show", _many(_path), [], from_env=False, user_only=True, flag=False),
    "sandbox_host": Option("sandbox.hosts", _many(_host), [], from_env=False, user_only=True),
    "layers_live": Option("layers.live", _many(_folder), [], from_env=False, flag=False),
    "network": Option("sandbox.network", _yes_or_no, False, from_env=False),
    "mcp": Option("mcp.servers", read_servers, [], from_env=False, flag=False),
    "quota": Option("quota", _quotas, {}, from_env=False),
    "every": Option("interval.every", _amount(parse_duration, least=1, needed=True), from_env=False),
    "pass_steps": Option("pass_steps", _COUNT, from_env=False),
    "worktree": Option("worktree", _yes_or_no, False, from_env=False),
    "edit_format": Option("edit_format", _choice(EDIT_FORMATS), AUTO_FORMAT),
    "restarts": Option("restarts", _amount(parse_number, whole=True), from_env=False),
    "commit": Option("commit", _yes_or_no, False, from_env=False),
    "commit_hooks": Option("commit_hooks", _yes_or_no, False, from_env=False),
    "protected": Option("protected", _many(_text), list(PROTECTED), from_env=False),
    "score": Option("improve.score", _command_text, from_env=False),
    "goal": Option("improve.goal", _choice(Better), Better.MAX, from_env=False),
    "patience": Option("improve.patience", _amount(parse_number, whole=True, least=1, needed=True), 3, from_env=False),
    "min_delta": Option("improve.min_delta", _amount(parse_real, needed=True), 0.0, from_env=False),
    "repeat": Option("improve.repeat", _amount(parse_number, whole=True, least=1, needed=True), 1, from_env=False),
    "tries": Option(
        "improve.tries", _amount(parse_number, whole=True, least=1, limit=MOST_TRIES, needed=True), 1, from_env=False
    ),
    "pass_loop": Option("improve.pass_loop", _choice((LoopKind.GOAL.value,)), from_env=False),
    "cache_ttl": Option("cache_ttl", _amount(parse_duration, least=1), CACHE_TTL),
    "escalate": Option("escalate", read_model, from_env=False),
    "tiers": Option("handoff.tier", read_tiers, [], from_env=False, flag=False),
    "notify": Option("notify", _command_text, from_env=False, flag=False),
    "on_stall": Option("on_stall", _choice(ON_STALL)),
    "otel_endpoint": Option("otel.endpoint", read_collector, from_env=False, user_only=True, flag=False),
    "otel_content": Option("otel.content", _yes_or_no, False, from_env=False, user_only=True),
    "search_provider": Option("search.provider", _choice(SEARCH_PROVIDERS), from_env=False, user_only=True, flag=False),
    "search_api_base": Option("search.api_base", read_search_server, from_env=False, user_only=True, flag=False),
    "search_key_from": Option("search.key_from", _text, from_env=False, user_only=True, flag=False),
    "runs_dir": Option("runs_dir", _text, user_only=True),
    "recipes": Option("recipes", _path, user_only=True, flag=False),
    "theme": Option("theme", _text, "dark", user_only=True, flag=False),
    "keys": Option("keys", _table, {}, from_env=False, user_only=True, flag=False),
}
KEYS = tuple(OPTIONS)
BY_CONFIG_KEY = {option.config_key: name for name, option in OPTIONS.items()}
GROUPS = frozenset(place.partition(".")[0] for place in BY_CONFIG_KEY if "." in place)
TOP_LEVEL_KEYS = {"model": "model.name", "gate": "gate.mode", "api_base": "model.api_base"} | {
    name: f"model.{name}" for name in ("price", "context", "effort")
}
"""Keys that may also be written at the top level of a config file, with the full key of each."""
ABOUT = {
    "params": "Fields that are added to each request to the model, such as `temperature`.",
    "max_output": "Limit of tokens of one answer.",
    "headers": "Headers that are added to each request to the model. `${NAME}` stands for an environment variable.",
    "key_from": "Name of the environment variable that holds the key.",
    "hooks": "Commands that run on events, as `[[hooks]]` tables: `on`, `command`, `match`, `timeout`. "
    "See the how-to about hooks.",
    "rules": "Rules of the gate: `{ verdict, tool, path, command }`; `deny` overrides `ask`, `ask` overrides `allow`.",
    "sandbox_hide": "Paths that commands cannot read.",
    "sandbox_show": "Paths that commands can read although the sandbox hides them.",
    "layers_live": "Folders of the workspace in which background commands and MCP servers can write, in "
    "addition to ignored build output.",
    "mcp": "MCP servers whose tools the model can call: `[mcp.servers.NAME]` with `command` or `url` "
    "(docs/how-to/mcp.md).",
    "tiers": "The order in which a hand-off asks: `[[handoff.tier]]` with `kind`, `after`, and `name` or `run`.",
    "notify": "A command that notifies you, with `RUNDRY_WHY` and `RUNDRY_TEXT`; `none` turns notifications off.",
    "recipes": "The folder of your recipes.",
    "search_provider": "Provider of the tool `web_search`.",
    "search_api_base": "Address of its server; for `searxng` that of your instance. The other providers have a "
    "usual one.",
    "search_key_from": "The environment variable with its key. Default: `BRAVE_API_KEY` or `TAVILY_API_KEY`.",
    "otel_endpoint": "Address of an OpenTelemetry collector that receives the spans and metrics of runs.",
    "theme": "Colours of the screen; `/theme` changes them in the session.",
    "keys": "Keys of actions: `[keys]` maps the name of an action to its keys.",
}
"""The meaning of each option that no command-line option has."""
