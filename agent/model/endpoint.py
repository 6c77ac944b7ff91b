"""Resolve a model's endpoint, with provider, name, server and key, from the user's settings and the environment."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ..journal.redact import Redactor
from ..protocol import EffortLevel, ModelSpec, UserError
from .litellm_use.env_settings import SIGNING, secrets_in, settings_from
from .litellm_use.needs import KEYED
from .traits import BEARER_TOKENS, GATEWAYS, TRAITS

LITELLM_KEYS: dict[str, tuple[str, ...]] = {
    "azure": ("AZURE_API_KEY",),
    "azure_ai": ("AZURE_AI_API_KEY",),
    "databricks": ("DATABRICKS_API_KEY",),
} | {provider: groups[0] for provider, groups in KEYED.items()}
"""Keys that rundry passes to litellm, which uses OPENAI_API_KEY for some providers whose own key is missing."""

KEY_NAMES: dict[str, tuple[str, ...]] = {p: t.keys for p, t in TRAITS.items() if t.keys} | LITELLM_KEYS
"""Environment variables for each provider's key, the usual one first."""

USUAL_BASES: dict[str, str] = {
    p: t.base for p, t in TRAITS.items() if t.base is not None and t.base.startswith("http://")
}
"""Addresses at which local servers listen."""

_MEANT = {"ollama": "ollama_chat", "vllm": "hosted_vllm", "lmstudio": "lm_studio"}
"""`ollama/` cannot call tools in litellm, and `vllm/` loads the model into this process."""

NO_KEY = "no-key"
"""Key for a server without keys, because the client libraries require one."""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One model at one server."""

    provider: str
    model: str
    api_base: str | None
    """None: the provider's own address."""
    key: str | None
    """None: the provider needs a key and none is set."""
    key_names: tuple[str, ...]
    """Variables that were checked for the key."""
    local: bool
    key_is_token: bool = False
    """Whether the key is sent as a bearer token, not in the provider's own header."""
    key_is_named: bool = False
    """Whether the user named the variable with the key."""
    effort: EffortLevel | None = None
    """None: the provider's default."""
    settings: dict[str, str] = {}
    """Credentials, region and similar settings for litellm, from the environment."""
    params: dict[str, Any] = {}
    """Additional request fields from the user."""
    adaptive: bool = False
    """Whether the model decides how much it thinks (Claude), and takes an effort instead of a number of tokens."""

    @property
    def lacks_key(self) -> bool:
        """Whether a key is known to be needed and not set. `credentials` finds out what litellm needs."""
        return self.key is None and bool(self.key_names) and (self.provider in TRAITS or self.key_is_named)

    @property
    def maker(self) -> str:
        """The provider that can read the opaque parts of this model's answers."""
        if self.provider in GATEWAYS:
            return f"{self.provider}/{self.model.partition('/')[0]}"
        return self.provider if self.api_base is None else f"{self.provider} at {self.api_base}"

    def redact(self, text: str) -> str:
        """Hide every key in the text."""
        keys = [] if self.key in (None, NO_KEY) else [self.key]
        return Redactor([*keys, *secrets_in(self.settings)])(text)

    @property
    def name(self) -> str:
        """Name as litellm takes it."""
        return f"{self.provider}/{self.model}"

    @property
    def wants_cache_marks(self) -> bool:
        """Whether the request must mark what to cache. Claude needs this; other providers cache by themselves."""
        vendors = ("anthropic", "bedrock", "vertex_ai", "openrouter", "vercel_ai_gateway")
        return self.provider in vendors and "claude" in self.model.lower()


def is_local_server(api_base: str | None) -> bool:
    """Return whether the address is on this machine or its network, judged by the name or number alone.

    It may be a loopback, private or link-local address, `.local`, or `host.docker.internal`.
    """
    if not api_base:
        return False
    try:
        host = (urlsplit(api_base if "//" in api_base else f"//{api_base}").hostname or "").rstrip(".")
    except ValueError:
        return False
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


def resolve(spec: ModelSpec, provider: str, model: str, env: Mapping[str, str]) -> Endpoint:
    """Resolve the model's endpoint. Raises UserError for an invalid address."""
    api_base = base_of(provider, spec.api_base, env)
    names = (spec.key_from,) if spec.key_from else KEY_NAMES.get(provider, ())
    local = is_local_server(api_base)
    found = None if spec.key_from == "" else next((n for n in names if env.get(n, "").strip()), None)
    key = None if found is None else env[found].strip()
    settings = settings_from(provider, env)
    needs_none = local or (api_base is not None and provider not in SIGNING)
    if key is None and not spec.key_from and needs_none and not secrets_in(settings):
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
        settings=settings,
        params=spec.params,
    )


def base_of(provider: str, given: str | None, env: Mapping[str, str]) -> str | None:
    """Return the server's address: from the user, a variable, or the usual port; None: the provider's own."""
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
