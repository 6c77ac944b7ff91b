"""List the providers to which rundry connects directly, one row each. litellm connects to all others.

A row holds the provider's differences from the wire format's usual form. Sources: the provider's API reference, and
the requests and answers that `tests/models` replays.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ..protocol import EffortLevel

Wire = Literal["chat", "anthropic", "ollama"]
CapturedWire = Literal["chat", "anthropic", "cohere", "converse", "gemini", "invoke", "responses"]
"""A format that litellm writes and rundry reads."""
WireFormat = Wire | CapturedWire
Effort = Literal["field", "object", "toggle", "none"]


DEMO = "demo"
"""The provider of the scripted model, which needs no server."""
BEARER_TOKENS = frozenset({"ANTHROPIC_AUTH_TOKEN"})
"""Variables whose value is sent as a bearer token, although the provider has its own header for keys."""


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """How to connect to one provider, and its differences from the usual wire format."""

    wire: Wire = "chat"
    base: str | None = None
    """The provider's own address. None means that the user names it."""
    keys: tuple[str, ...] = ()
    """Environment variables that hold the key, the usual one first."""
    bases: tuple[str, ...] = ()
    """Environment variables that replace the address."""
    limit_field: str = "max_tokens"
    """Name of the field that limits the answer."""
    asks_usage: bool = True
    """Whether the provider accepts `stream_options`; the others send the usage without a request."""
    short_call_ids: bool = False
    """Whether call ids must have nine letters or digits."""
    needs_reasoning: bool = False
    """Whether an assistant message without `reasoning_content` is refused while the model thinks."""
    effort: Effort = "field"
    """`field`: `reasoning_effort`; `object`: `reasoning.effort`; `toggle`: `thinking.type`; `none`: not settable."""
    efforts: dict[EffortLevel, str] = {}
    """The provider's own values, where they differ."""
    name_prefix: str = ""
    """Prefix of every model's name on the wire, which the user may omit."""
    knows_models: bool = False
    """Whether `GET /models/NAME` shows that the provider has the model."""


TRAITS: dict[str, Traits] = {
    "openai": Traits(
        base="https://api.openai.com/v1", keys=("OPENAI_API_KEY",), bases=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        limit_field="max_completion_tokens", knows_models=True,
    ),
    "anthropic": Traits(
        wire="anthropic", base="https://api.anthropic.com", keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        bases=("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"), knows_models=True,
    ),
    "cerebras": Traits(base="https://api.cerebras.ai/v1", keys=("CEREBRAS_API_KEY",)),
    "deepinfra": Traits(base="https://api.deepinfra.com/v1/openai", keys=("DEEPINFRA_API_KEY",)),
    "deepseek": Traits(
        base="https://api.deepseek.com", keys=("DEEPSEEK_API_KEY",), needs_reasoning=True, efforts={"medium": "high"},
    ),
    "fireworks_ai": Traits(
        base="https://api.fireworks.ai/inference/v1",
        keys=("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
        name_prefix="accounts/fireworks/models/",
    ),
    "groq": Traits(base="https://api.groq.com/openai/v1", keys=("GROQ_API_KEY",)),
    "huggingface": Traits(base="https://router.huggingface.co/v1", keys=("HF_TOKEN", "HUGGINGFACE_API_KEY")),
    "mistral": Traits(
        base="https://api.mistral.ai/v1", keys=("MISTRAL_API_KEY",), asks_usage=False, short_call_ids=True,
    ),
    "moonshot": Traits(
        base="https://api.moonshot.ai/v1", keys=("MOONSHOT_API_KEY",), needs_reasoning=True, effort="none",
    ),
    "openrouter": Traits(
        base="https://openrouter.ai/api/v1", keys=("OPENROUTER_API_KEY", "OR_API_KEY"), effort="object",
    ),
    "perplexity": Traits(base="https://api.perplexity.ai", keys=("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY")),
    "sambanova": Traits(base="https://api.sambanova.ai/v1", keys=("SAMBANOVA_API_KEY",)),
    "together_ai": Traits(
        base="https://api.together.xyz/v1",
        keys=("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHER_AI_TOKEN"),
    ),
    "vercel_ai_gateway": Traits(
        base="https://ai-gateway.vercel.sh/v1",
        keys=("VERCEL_AI_GATEWAY_API_KEY", "AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
        effort="object",
    ),
    "xai": Traits(base="https://api.x.ai/v1", keys=("XAI_API_KEY",)),
    "zai": Traits(base="https://api.z.ai/api/paas/v4", keys=("ZAI_API_KEY",), effort="toggle"),
    "ollama_chat": Traits(
        wire="ollama", base="http://127.0.0.1:11434", keys=("OLLAMA_API_KEY",),
        bases=("OLLAMA_API_BASE", "OLLAMA_HOST"),
    ),
    "lm_studio": Traits(
        base="http://127.0.0.1:1234/v1", keys=("LM_STUDIO_API_KEY",), bases=("LM_STUDIO_API_BASE",),
    ),
    "hosted_vllm": Traits(
        base="http://127.0.0.1:8000/v1", keys=("HOSTED_VLLM_API_KEY",), bases=("HOSTED_VLLM_API_BASE",),
    ),
    "llamafile": Traits(base="http://127.0.0.1:8080/v1", bases=("LLAMAFILE_API_BASE",)),
}  # fmt: skip

GATEWAYS = frozenset({"openrouter", "vercel_ai_gateway", "huggingface"})
"""Providers that forward requests to the vendor in the model's name. Opaque parts belong to that vendor."""

CUSTOM_SERVER = Traits(effort="field")
"""An OpenAI-compatible server that the user named with `--api-base`."""


def is_self_hosted(provider: str) -> bool:
    """Return whether users run the provider's server themselves; a hosted one at a local address is behind a proxy."""
    base = TRAITS[provider].base if provider in TRAITS else None
    return provider == "openai" or (base is not None and base.startswith("http://"))


def traits_of(provider: str, model: str, api_base: str | None) -> Traits | None:
    """Return the provider's row; None if litellm must be used, as for OpenAI's Responses API."""
    if provider == "openai":
        if model.startswith("responses/"):
            return None
        if api_base is not None and not api_base.startswith("https://api.openai.com"):
            return CUSTOM_SERVER
    return TRAITS.get(provider)
