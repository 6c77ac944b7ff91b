"""Where a model is: provider, name, server and key, resolved from what the user said and the environment."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

import msgspec

from ..protocol import ModelSpec, UserError

KEY_NAMES: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "azure": ("AZURE_API_KEY",),
    "azure_ai": ("AZURE_AI_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "codestral": ("CODESTRAL_API_KEY",),
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "dashscope": ("DASHSCOPE_API_KEY",),
    "databricks": ("DATABRICKS_API_KEY",),
    "deepinfra": ("DEEPINFRA_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks_ai": ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "huggingface": ("HF_TOKEN", "HUGGINGFACE_API_KEY"),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "nvidia_nim": ("NVIDIA_NIM_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY", "OR_API_KEY"),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "replicate": ("REPLICATE_API_KEY",),
    "sambanova": ("SAMBANOVA_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_AI_API_KEY"),
    "xai": ("XAI_API_KEY",),
    "zai": ("ZAI_API_KEY",),
    "hosted_vllm": ("HOSTED_VLLM_API_KEY",),
    "lm_studio": ("LM_STUDIO_API_KEY",),
    "ollama_chat": ("OLLAMA_API_KEY",),
}
"""The environment variables that hold a provider's key, the usual one first."""

_BASE_NAMES: dict[str, tuple[str, ...]] = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "anthropic": ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
    "ollama_chat": ("OLLAMA_API_BASE", "OLLAMA_HOST"),
    "lm_studio": ("LM_STUDIO_API_BASE",),
    "hosted_vllm": ("HOSTED_VLLM_API_BASE",),
    "llamafile": ("LLAMAFILE_API_BASE",),
}
USUAL_BASES: dict[str, str] = {
    "ollama_chat": "http://127.0.0.1:11434",
    "lm_studio": "http://127.0.0.1:1234/v1",
    "hosted_vllm": "http://127.0.0.1:8000/v1",
    "llamafile": "http://127.0.0.1:8080/v1",
}
OFFICIAL_BASES: dict[str, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
}
"""Of providers that can be asked whether they know a model."""

_MEANT = {"ollama": "ollama_chat", "vllm": "hosted_vllm", "lmstudio": "lm_studio"}
"""`ollama/` cannot call tools in litellm and `vllm/` loads the model into this process."""

NO_KEY = "no-key"
"""What a server without keys is sent: the client libraries insist on one."""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One model at one place."""

    provider: str
    model: str
    api_base: str | None
    """None: the provider's own address."""
    key: str | None
    """None: the provider needs one and none is set."""
    key_names: tuple[str, ...]
    """Where the key was looked for."""
    local: bool

    @property
    def name(self) -> str:
        """As litellm takes it."""
        return f"{self.provider}/{self.model}"

    @property
    def wants_cache_marks(self) -> bool:
        """Claude caches only what is marked; other providers cache by themselves."""
        houses = ("anthropic", "bedrock", "vertex_ai", "openrouter")
        return self.provider in houses and "claude" in self.model.lower()


def is_local_server(api_base: str | None) -> bool:
    """Loopback, a private or link-local address, `.local`, `host.docker.internal`. No look-up is made."""
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
    """Provider and model. A name without a provider's prefix is `openai/NAME` where a server is named, else None."""
    head, slash, rest = name.partition("/")
    head = _MEANT.get(head, head)
    if slash and rest and head in providers:
        return head, rest
    return ("openai", name) if has_base else None


def resolve(spec: ModelSpec, provider: str, model: str, env: Mapping[str, str]) -> Endpoint:
    """The model's place. Raises UserError for an address that is none."""
    api_base = base_of(provider, spec.api_base, env)
    names = (spec.key_from,) if spec.key_from else KEY_NAMES.get(provider, ())
    local = is_local_server(api_base)
    key = None if spec.key_from == "" else next((env[n].strip() for n in names if env.get(n, "").strip()), None)
    if key is None and not spec.key_from and (local or api_base is not None):
        key = NO_KEY
    return Endpoint(provider=provider, model=model, api_base=api_base, key=key, key_names=names, local=local)


def base_of(provider: str, given: str | None, env: Mapping[str, str]) -> str | None:
    """The server's address: the user's word, the provider's variable, the usual port; None: the provider's own."""
    base = given or next((env[n] for n in _BASE_NAMES.get(provider, ()) if env.get(n)), USUAL_BASES.get(provider))
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
    """`OLLAMA_HOST` may lack scheme and port, and may be the address that the server listens on."""
    base = base.removesuffix("/v1").removesuffix("/api")
    if is_given or "://" in base:
        return base
    host, colon, port = base.rpartition(":")
    if not (colon and port.isdigit()):
        host, port = base, "11434"
    return f"http://{'127.0.0.1' if host in ('', '0.0.0.0') else host}:{port}"
