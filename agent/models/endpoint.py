"""Resolve a model's endpoint, with provider, name, server and key, from the user's settings and the environment."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import msgspec

from ..journal.redact import Redactor
from ..protocol import EffortLevel, ModelSpec, UserError
from .key_rule import access_of, host_of, is_among, is_credential, is_secret
from .litellm_use.env_settings import SIGNING, has_login_files, settings_from
from .provider_traits import BEARER_TOKENS, DEMO, GATEWAYS, TRAITS

if TYPE_CHECKING:
    from ..protocol import Request

USUAL_BASES: dict[str, str] = {
    p: t.base for p, t in TRAITS.items() if t.base is not None and t.base.startswith("http://")
}
"""Addresses at which local servers listen."""

_MEANT = {"ollama": "ollama_chat", "vllm": "hosted_vllm", "lmstudio": "lm_studio"}
"""`ollama/` cannot call tools in litellm, and `vllm/` loads the model into this process."""

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_OPENAI = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""OpenAI's headers, and the variables from which its own client reads them."""

NO_KEY = "no-key"
"""Key for a server without keys, because the client libraries require one."""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One model at one server."""

    provider: str
    model: str
    api_base: str | None
    """None means the provider's own address."""
    key: str | None
    """None means that the provider needs a key and none is set."""
    key_names: tuple[str, ...]
    """Variables that were checked for the key."""
    local: bool
    key_is_token: bool = False
    """Whether the key is sent as a bearer token, not in the provider's own header."""
    key_is_named: bool = False
    """Whether the user named the variable with the key."""
    effort: EffortLevel | None = None
    """None means the provider's default."""
    settings: dict[str, str] = {}
    """Credentials, region and similar settings for litellm, from the environment."""
    variables: dict[str, str] = {}
    """The environment variables of this provider. litellm sees no others that could hold a key or an address."""
    hosts: frozenset[str] = frozenset()
    """Hosts that may get a request with the key, as in `key_rule.Access.hosts`."""
    params: dict[str, Any] = {}
    """Additional request fields from the user."""
    reports_usage: bool = False
    """Whether the server reports the usage so far with each piece of an answer, if it is asked to (vLLM)."""
    reports_reading: bool = False
    """Whether the server reports how far it has read the prompt, and its counts of tokens with each piece, if a request
    asks for it (llama.cpp's server)."""
    headers: dict[str, str] = {}
    """Additional headers of each request, with the values of their variables."""
    header_secrets: tuple[str, ...] = ()
    """Values of environment variables in these headers."""
    adaptive: bool = False
    """Whether the model decides how much it thinks (Claude), and takes an effort instead of a number of tokens."""

    @property
    def lacks_key(self) -> bool:
        """Whether a key is known to be needed and not set. `credentials` finds out what litellm needs."""
        return self.key is None and bool(self.key_names) and (self.provider in TRAITS or self.key_is_named)

    @property
    def opaque_provider(self) -> str:
        """The provider that can read the opaque parts of this model's answers: `Opaque.maker` on the wire."""
        if self.provider in GATEWAYS:
            return f"{self.provider}/{self.model.partition('/')[0]}"
        return self.provider if self.api_base is None else f"{self.provider} at {self.api_base}"

    def user_sets(self, name: str) -> bool:
        """Return whether the user's own parameters hold this field, at any depth."""
        return _holds(self.params, name)

    def temperature(self, request: Request) -> dict[str, float]:
        """Return the field with the request's temperature; empty if it has none, or if the user set one."""
        if request.temperature is None or self.user_sets("temperature"):
            return {}
        return {"temperature": request.temperature}

    def redact(self, text: str) -> str:
        """Hide every key in the text."""
        return Redactor(self.secrets)(text)

    @property
    def secrets(self) -> list[str]:
        """The values that must be neither shown nor sent to another host."""
        keys = [] if self.key in (None, NO_KEY) else [self.key]
        return [
            *keys,
            *self.header_secrets,
            *(value for name, value in self.variables.items() if is_secret(name) and value),
        ]

    def may_reach(self, url: str) -> bool:
        """Return whether a request with the key may go to this address."""
        return is_among(host_of(url), self.hosts)

    @property
    def name(self) -> str:
        """Name as litellm takes it."""
        return f"{self.provider}/{self.model}"

    @property
    def wants_cache_marks(self) -> bool:
        """Whether the request must mark what to cache. Claude needs this; other providers cache by themselves."""
        vendors = ("anthropic", "bedrock", "vertex_ai", "openrouter", "vercel_ai_gateway")
        return self.provider in vendors and "claude" in self.model.lower()


def _holds(fields: Mapping[str, Any], name: str) -> bool:
    tables = (cast("dict[str, Any]", value) for value in fields.values() if isinstance(value, dict))
    return name in fields or any(_holds(table, name) for table in tables)


def is_local_server(api_base: str | None) -> bool:
    """Return whether the address is on this machine or its network, judged by the name or number alone.

    It may be a loopback, private or link-local address, `.local`, or `host.docker.internal`.
    """
    if not api_base:
        return False
    host = host_of(api_base)
    if host in ("localhost", "host.docker.internal") or host.endswith((".localhost", ".local")):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_loopback or address.is_link_local or address.is_unspecified or _is_private(address)


def _is_private(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    # `is_private` also takes in documentation and benchmark networks, which nobody owns.
    nets = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16") if address.version == 4 else ("fc00::/7",)
    return any(address in ipaddress.ip_network(net) for net in nets)


def split_name(name: str, *, has_base: bool, providers: Collection[str]) -> tuple[str, str] | None:
    """Split provider and model. A name without provider is `openai/NAME` if a server is given, else None."""
    head, slash, rest = name.partition("/")
    head = _MEANT.get(head, head)
    if slash and rest and head in providers:
        return head, rest
    return ("openai", name) if has_base else None


def is_direct(name: str) -> bool:
    """Return whether the name begins with a provider to which rundry connects without litellm."""
    return split_name(name, has_base=False, providers={*TRAITS, DEMO}) is not None


def resolve(spec: ModelSpec, provider: str, model: str, env: Mapping[str, str]) -> Endpoint:
    """Resolve the model's endpoint. Raises UserError for an invalid address, or one to which the key may not go."""
    api_base = base_of(provider, spec.api_base, env)
    access = access_of(provider)
    names = (spec.key_from,) if spec.key_from else access.keys
    local = is_local_server(api_base)
    found = None if spec.key_from == "" else next((n for n in names if env.get(n, "").strip()), None)
    variables = {n: env[n] for n in env if access.reads(n)}
    if spec.key_from is not None:
        variables = {n: v for n, v in variables.items() if not is_credential(n)}
    hosts = frozenset({*access.hosts, *map(host_of, access.addresses(env))})
    if found is not None and spec.key_from is None and spec.api_base is not None:
        _refuse_bare_name(spec, provider, model, found, hosts)
    if spec.key_from == "" and spec.api_base is not None and provider in SIGNING:
        raise UserError(
            f"{provider} signs each request with your credentials, and they are not sent to {spec.api_base}, which a "
            "file of the project names. Write api_base into your own config"
        )
    key = None if found is None else env[found].strip()
    needs_none = local or (api_base is not None and provider not in SIGNING)
    if key is None and not spec.key_from and needs_none and not _has_credentials(provider, variables, env):
        key = NO_KEY
    return Endpoint(
        provider=provider,
        model=model,
        api_base=api_base,
        key=key,
        key_names=names,
        local=local,
        key_is_token=found in BEARER_TOKENS,
        key_is_named=bool(spec.key_from),
        effort=spec.effort,
        settings=settings_from(provider, variables),
        variables=variables,
        hosts=hosts if api_base is None else hosts | {host_of(api_base)},
        params=spec.params,
        headers=_headers(spec, provider, env),
        header_secrets=tuple(env[n].strip() for text in spec.headers.values() for n in _VARIABLE.findall(text)),
    )


def _headers(spec: ModelSpec, provider: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the user's headers, and OpenAI's for an organization and a project. Raises UserError."""
    found: dict[str, str] = {}
    if provider == "openai" and spec.api_base is None:
        found = {name: env[variable] for name, variable in _OPENAI.items() if env.get(variable, "").strip()}
    for name, text in spec.headers.items():
        for variable in _VARIABLE.findall(text):
            if not env.get(variable, "").strip():
                raise UserError(f"the header {name} needs the variable {variable}, which is not set: set it")
        found[name] = _VARIABLE.sub(lambda match: env[match[1]].strip(), text)
    return found


def _refuse_bare_name(spec: ModelSpec, provider: str, model: str, variable: str, hosts: frozenset[str]) -> None:
    """Raise UserError if a name without a provider would send OpenAI's key to the public host of somebody else."""
    host = host_of(spec.api_base or "")
    if model != spec.name or is_local_server(spec.api_base) or is_among(host, hosts):
        return
    raise UserError(
        f"{variable} is not sent to {host} for the model name {spec.name}, which does not name a provider. If it is "
        f"the key for that server, write --model {provider}/{spec.name}, or name the variable with its key as key_from "
        "in your config.toml"
    )


def _has_credentials(provider: str, variables: Mapping[str, str], env: Mapping[str, str]) -> bool:
    """Return whether litellm finds credentials other than one key: in variables, or in the files of a login."""
    in_variables = any(value.strip() and is_credential(name) for name, value in variables.items())
    return in_variables or has_login_files(provider, env)


def base_of(provider: str, given: str | None, env: Mapping[str, str]) -> str | None:
    """Return the server's address: from the user, a variable, or the usual port. None means the provider's own."""
    names = TRAITS[provider].bases if provider in TRAITS else ()
    base = given or next((env[n] for n in names if env.get(n)), USUAL_BASES.get(provider))
    if base is None:
        return None
    base = base.strip().rstrip("/")
    if provider == "ollama_chat":
        base = _ollama_address(base, given is not None)
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"{base} is not the address of a model server: write it like http://127.0.0.1:8080/v1")
    return base


def _ollama_address(base: str, is_given: bool) -> str:
    """Complete `OLLAMA_HOST`, which may lack scheme and port, or be 0.0.0.0, on which the server listens."""
    base = base.removesuffix("/v1").removesuffix("/api")
    if is_given or "://" in base:
        return base
    host, colon, port = base.rpartition(":")
    if not (colon and port.isdigit()):
        host, port = base, "11434"
    return f"http://{'127.0.0.1' if host in ('', '0.0.0.0') else host}:{port}"
