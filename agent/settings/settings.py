"""Combine options from flags, environment, project config and user config, with the origin of each value."""

from __future__ import annotations

import time
import tomllib
from collections.abc import ItemsView, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Literal, TypeVar, cast
from urllib.parse import urlsplit

from ..host.extras import mcp_sdk_missing
from ..host.internet import is_this_machine
from ..host.plain_files import read_plain
from ..protocol import (
    EFFORTS,
    SEARCH_PROVIDERS,
    ConfigError,
    Hook,
    LoopKind,
    McpServer,
    ModelSpec,
    OtelSpec,
    Rule,
    SearchProvider,
    UserError,
    WebSearchSpec,
)
from .default_limits import FIELDS, default_budget, option_suggestion
from .hook_scripts import with_scripts
from .mcp_json import SERVERS_FILE, JsonServer, read_json_servers
from .option_table import BY_CONFIG_KEY, GROUPS, OPTIONS, TOP_LEVEL_KEYS
from .remembered import remembered_model
from .request_params import refuse_account_fields
from .trust import PROJECT_FILE, PROJECT_SERVERS, Content, Trust
from .user_folders import user_folder

Kind = TypeVar("Kind")

JOINED_OPTIONS = (
    "rules", "hooks", "quota", "sandbox_env", "sandbox_hide", "sandbox_show", "sandbox_host", "layers_live", "mcp",
)  # fmt: skip
"""Options whose values from several origins are joined."""
Source = Literal["flag", "environment", "file", "project", "user", "several", "last choice", "default"]
"""Where a value comes from. `several`: it was joined from more than one of them."""
_ORIGINS: dict[Source, str] = {"file": "spec file", "project": f"project {PROJECT_FILE}", "user": "user config"}
"""Display texts of the sources whose name is not shown as it is."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of one option and its origin."""

    value: object
    """None means that it is not set, or set to `none`."""
    source: Source
    detail: str = ""
    """The name of the environment variable, or all origins of a joined value."""

    @property
    def origin(self) -> str:
        """The source in words: `environment RUNDRY_X`, `project .rundry.toml`, `user config and flag`."""
        if self.source == "several":
            return self.detail
        return f"{_ORIGINS.get(self.source, self.source)} {self.detail}".rstrip()


_SEARCH_SERVERS: Mapping[SearchProvider, tuple[str | None, str | None]] = {
    "searxng": (None, None),
    "brave": ("https://api.search.brave.com", "BRAVE_API_KEY"),
    "tavily": ("https://api.tavily.com", "TAVILY_API_KEY"),
}
"""The usual address of each search provider, and the variable with its key."""


class Settings:
    """The settings of all options, by option name."""

    def __init__(self, found: Mapping[str, Setting], notes: Iterable[str], given: Mapping[str, Setting]) -> None:
        """`found`: options that were set anywhere; all others have defaults. `given`: only those set by flags."""
        self.given = given
        defaults = {name: option.default for name, option in OPTIONS.items()}
        loop = found["loop"].value if "loop" in found else None
        usual = default_budget(loop if isinstance(loop, LoopKind) else LoopKind.GOAL)
        defaults |= {name: getattr(usual, field) for name, field in FIELDS.items()}
        self._all = {name: found.get(name, Setting(default, "default")) for name, default in defaults.items()}
        self.notes = list(notes)
        """Notes for the person at the start, one line each."""
        if self["api_base"].source == "project":
            self.notes.append(_no_key(self["api_base"].value, PROJECT_FILE))

    def __getitem__(self, name: str) -> Setting:
        return self._all[name]

    def items(self) -> ItemsView[str, Setting]:
        """Return pairs of option name and setting."""
        return self._all.items()

    def is_set(self, name: str) -> bool:
        """Return whether the option was set, instead of having its default."""
        return self[name].source != "default"

    def without(self, name: str) -> Settings:
        """Return these settings with the default of one option."""
        made = copy(self)
        made._all = {**self._all, name: Setting(OPTIONS[name].default, "default")}
        return made

    def with_check(self, command: str) -> Settings:
        """Return these settings with this command as the only check."""
        made = copy(self)
        made._all = {**self._all, "until": Setting([command], "default")}
        return made

    def with_server_of_file(self) -> Settings:
        """Return these settings, with a spec file as the origin of `api_base`."""
        made = copy(self)
        made._all = {**self._all, "api_base": replace(self["api_base"], source="file")}
        made.notes = [*self.notes, _no_key(self["api_base"].value, "the spec file")]
        return made

    def get(self, name: str, kind: type[Kind]) -> Kind | None:
        """Return the value, which must be of that type, or None."""
        value = self[name].value
        assert value is None or isinstance(value, kind), f"{name} is not a {kind.__name__}"
        return value

    def need(self, name: str, kind: type[Kind]) -> Kind:
        """Return the value of an option that is never None."""
        value = self.get(name, kind)
        assert value is not None, f"{name} has no default"
        return value

    def choice(self, name: str, values: Sequence[Kind]) -> Kind | None:
        """Return the value of an option that is one of these values, or None."""
        return next((value for value in values if value == self[name].value), None)

    def texts(self, name: str) -> list[str]:
        """Return the value of an option that is a list of texts."""
        return list(cast("list[str]", self[name].value))

    @property
    def rules(self) -> list[Rule]:
        """Rules of the gate from all origins, joined."""
        return list(cast("list[Rule]", self["rules"].value))

    @property
    def hooks(self) -> list[Hook]:
        """Hooks from all origins, joined."""
        return list(cast("list[Hook]", self["hooks"].value))

    @property
    def quota(self) -> dict[str, str]:
        """Tool name to rate, without quotas that were removed with `none`."""
        rates = cast("dict[str, str]", self["quota"].value)
        return {tool: rate for tool, rate in rates.items() if rate != "none"}

    @property
    def mcp(self) -> list[McpServer]:
        """MCP servers of the user and of a trusted project, joined."""
        return list(cast("list[McpServer]", self["mcp"].value))

    @property
    def keys(self) -> dict[str, str]:
        """Remapped keys of the screen: action to key."""
        return dict(cast("dict[str, str]", self["keys"].value))

    @property
    def notify(self) -> str | None:
        """How to notify: not at all (`none`), by this command and on the terminal, or only on the terminal (None)."""
        return self.get("notify", str)

    @property
    def hook(self) -> str | None:
        """The command that notifies the person."""
        return None if self.notify in (None, "none") else self.notify

    @property
    def otel(self) -> OtelSpec | None:
        """The user's settings of OpenTelemetry. None means that they have none."""
        endpoint, content = self.get("otel_endpoint", str), self.need("otel_content", bool)
        return OtelSpec(endpoint=endpoint, content=content) if endpoint is not None or content else None

    @property
    def web_search(self) -> WebSearchSpec | None:
        """The provider of `web_search`, or None if none is set. Raises UserError."""
        provider = self.choice("search_provider", SEARCH_PROVIDERS)
        if provider is None:
            return None
        usual, key = _SEARCH_SERVERS[provider]
        base = self.get("search_api_base", str) or usual
        key = self.get("search_key_from", str) or key
        if base is None:
            raise UserError(f"[search] {provider} needs the address of your server: set api_base")
        if key is not None and usual is None:
            raise UserError(f"[search] {provider} has no keys: remove key_from")
        if key is not None and base.startswith("http://") and not is_this_machine(urlsplit(base).hostname or ""):
            raise UserError(f"[search] {base} would get your key without encryption: write https://")
        return WebSearchSpec(engine=provider, api_base=base, key_from=key)

    @property
    def theme(self) -> str:
        """Name of the screen's color theme."""
        return str(self["theme"].value)

    def model(self) -> ModelSpec | None:
        """The selected model, or None if no model was selected.

        A server of a project or a spec file gets neither a key nor headers (11.4).
        """
        name = self.get("model", str)
        if name is None:
            return None
        is_others_server = self["api_base"].source in ("project", "file")
        return ModelSpec(
            name=name,
            api_base=self.get("api_base", str),
            context=self.get("context", int),
            price=cast("tuple[float, float] | None", self["price"].value),
            effort=self.choice("effort", EFFORTS),
            params=dict(cast("dict[str, object]", self["params"].value)),
            max_output=self.get("max_output", int),
            headers={} if is_others_server else dict(cast("dict[str, str]", self["headers"].value)),
            key_from="" if is_others_server else self.get("key_from", str),
        )


def load_settings(
    flags: Mapping[str, object], *, cwd: Path, env: Mapping[str, str], trust: bool, now: float | None = None
) -> Settings:
    """Load the options for this workspace, in this order: flag, environment, project (if trusted), user, default.

    `flags`: by option name, with `_` or `-` between words. None, False and empty lists count as not set; other names
    are ignored. The values of `JOINED_OPTIONS` are joined. Raises UserError for a flag or a variable, ConfigError for a
    file, with the key and the fix.
    """
    now = time.time() if now is None else now
    notes: list[str] = []
    content = Content(cwd)
    project: dict[str, Setting] = {}
    files = [name for name in (PROJECT_FILE, PROJECT_SERVERS) if name in content.files]
    is_trusted = bool(files) and (trust or Trust(env=env).trusted(cwd, content))
    if files and not is_trusted:
        named = " and ".join(files)
        notes.append(f"ignored {named}: this folder is not trusted yet (--trust: for this call, /trust: from now on)")
        notes += _broken(content.files.get(PROJECT_SERVERS))
    if is_trusted and PROJECT_FILE in files:
        project = _from_file(cwd / PROJECT_FILE, content.files[PROJECT_FILE], "project", now)
    user = _from_user(env, now)
    given = _from_flags(flags, now)
    found = {**user, **project, **_from_env(env, now), **given}
    if "api_base" in user and found["api_base"] is not user["api_base"]:
        for name in ("key_from", "headers"):  # they are for the server in the user's file
            found.pop(name, None)
    for name in JOINED_OPTIONS:
        set_in = [place[name] for place in (user, project, given) if name in place]
        if len(set_in) > 1:
            value = reduce(_joined, (setting.value for setting in set_in))
            found[name] = Setting(value, "several", " and ".join(setting.origin for setting in set_in))
    of_project = content.files.get(PROJECT_SERVERS) if is_trusted else None
    if servers := _json_servers(found.get("mcp"), env, of_project, notes):
        found["mcp"] = servers
    if "hooks" in found:
        hooks = with_scripts(cast("list[Hook]", found["hooks"].value), cwd, env, notes, trust=trust)
        found["hooks"] = replace(found["hooks"], value=hooks)
    return Settings({**_last_choice(found, env), **found}, notes, given)


def _json_servers(
    configured: Setting | None, env: Mapping[str, str], of_project: bytes | None, notes: list[str]
) -> Setting | None:
    """Return the servers of config files, with those of the user's and the project's JSON files, or None without any.

    What cannot be used in such a file is left out with a note, because rundry found the file by itself.
    """
    own = own_servers_file(env)
    try:
        of_user = read_plain(own)
    except (FileNotFoundError, NotADirectoryError):
        of_user = None
    except OSError as error:
        raise ConfigError(f"{own} cannot be read: {error.strerror}") from error
    servers = list(cast("list[McpServer]", configured.value)) if configured is not None else []
    origins = [configured.origin] if configured is not None else []
    for label, data in ((f"your {SERVERS_FILE}", of_user), (PROJECT_SERVERS, of_project)):
        more = _from_json(label, data, {server.name for server in servers}, notes) if data is not None else []
        servers += more
        origins += [label] if more else []
    if len(servers) == len(cast("list[McpServer]", configured.value) if configured is not None else []):
        return configured
    return Setting(servers, "several", " and ".join(origins))


def _broken(data: bytes | None) -> list[str]:
    """Return why the project's JSON file cannot be read, as a list of one or no line. Its servers are not used."""
    if data is None:
        return []
    try:
        read_json_servers(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return [f"{PROJECT_SERVERS} cannot be used: it is not UTF-8"]
    except UserError as error:
        return [f"{PROJECT_SERVERS} cannot be used: {error}"]
    return []


def _from_json(label: str, data: bytes, taken: set[str], notes: list[str]) -> list[McpServer]:
    """Return the usable servers of a JSON file. `taken`: names of servers that are used instead."""
    try:
        found = read_json_servers(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        found = ["it is not UTF-8"]
    except UserError as error:
        found = [str(error)]
    servers: list[McpServer] = []
    for one in found:
        server = one.server if isinstance(one, JsonServer) else None
        if isinstance(one, str):
            notes.append(f"not used of {label}: {one}")
        elif one.secrets:
            names = ", ".join(f"${{{name}}}" for name in one.secrets)
            notes.append(
                f"not used of {label}: {one.name} has a secret in the file. Write {names} there and set the variable, "
                "or store it with: rundry mcp import FILE"
            )
        elif one.name in taken:
            notes.append(f"not used of {label}: {one.name}, because another server has this name")
        elif server is not None:
            servers.append(server)
            notes += [f"{label}: {note}" for note in one.notes]
    if servers and (missing := mcp_sdk_missing()) is not None:
        notes.append(f"not used of {label}: the MCP SDK is not installed; {missing}")
        return []
    return servers


def own_servers_file(env: Mapping[str, str]) -> Path:
    """Return the path of the user's own JSON file of MCP servers, which may not exist."""
    return user_folder("config", env) / SERVERS_FILE


def _no_key(server: object, origin: str) -> str:
    return f"no key goes to {server}: {origin} named that server (to send one, name it with --api-base)"


def _last_choice(found: Mapping[str, Setting], env: Mapping[str, str]) -> dict[str, Setting]:
    """Return the model that the user last chose on the screen, if no option names a model or a server."""
    chosen = None if "model" in found or "api_base" in found else remembered_model(env)
    if chosen is None:
        return {}
    values = {"model": chosen.name, "api_base": chosen.api_base, "key_from": chosen.key_from}
    return {name: Setting(value, "last choice") for name, value in values.items() if value is not None}


def config_file(env: Mapping[str, str]) -> Path:
    """Return the path of the user's own config file, which may not exist."""
    return user_folder("config", env) / "config.toml"


def _from_flags(flags: Mapping[str, object], now: float) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for given, value in flags.items():
        name = given.replace("-", "_").strip("_")
        option = OPTIONS.get(name)
        if option is None or value is None or value is False or value in ((), []):
            continue
        try:
            found[name] = Setting(option.read(value, now), "flag")
        except UserError as error:
            raise UserError(f"--{name.replace('_', '-')}: {error}") from error
    return found


def _from_env(env: Mapping[str, str], now: float) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for name, option in OPTIONS.items():
        variable = f"RUNDRY_{name.upper()}"
        value = env.get(variable, "").strip()
        if value and option.from_env:
            try:
                found[name] = Setting(option.read(value, now), "environment", variable)
            except UserError as error:
                raise UserError(f"{variable}: {error}") from error
    return found


def _from_user(env: Mapping[str, str], now: float) -> dict[str, Setting]:
    path = config_file(env)
    try:
        data = read_plain(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    return _from_file(path, data, "user", now)


def _from_file(path: Path, data: bytes, source: Source, now: float) -> dict[str, Setting]:
    try:
        table = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: it is not UTF-8 (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {str(error)[:1].lower()}{str(error)[1:]}") from error
    found: dict[str, Setting] = {}
    for place, value in _config_keys(cast("dict[str, object]", table)):
        name = BY_CONFIG_KEY.get(place)
        if name is None:
            raise ConfigError(f"{path}: {place} is not an option{option_suggestion(place)}")
        if name in found:
            raise ConfigError(f"{path}: {place} is given twice: keep one")
        if OPTIONS[name].user_only and source == "project":
            raise ConfigError(f"{path}: {place} is for the user's own config, not a project's: remove it")
        try:
            found[name] = Setting(OPTIONS[name].read(value, now), source)
            if name == "params" and source == "project":
                refuse_account_fields(cast("dict[str, object]", found[name].value))
        except UserError as error:
            raise ConfigError(f"{path}: {place}: {error}") from error
    return found


def _config_keys(table: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    for key, value in table.items():
        if key in GROUPS and isinstance(value, dict):
            for inner, deeper in cast("dict[str, object]", value).items():
                yield f"{key}.{inner}", deeper
        else:
            yield TOP_LEVEL_KEYS.get(key, key), value


def _joined(first: object, second: object) -> object:
    if isinstance(first, dict):
        return {**cast("dict[str, str]", first), **cast("dict[str, str]", second)}
    return [*cast("list[Rule]", first), *cast("list[Rule]", second)]
