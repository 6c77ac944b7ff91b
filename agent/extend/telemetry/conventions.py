"""Names of attributes and providers in the semantic conventions of OpenTelemetry for generative AI."""

from __future__ import annotations

import json
from typing import Any

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
CONVERSATION = "gen_ai.conversation.id"
AGENT = "gen_ai.agent.name"
AGENT_VERSION = "gen_ai.agent.version"
STREAM = "gen_ai.request.stream"
MAX_TOKENS = "gen_ai.request.max_tokens"
FINISH = "gen_ai.response.finish_reasons"
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
TOKENS_IN = "gen_ai.usage.input_tokens"
TOKENS_OUT = "gen_ai.usage.output_tokens"
TOKENS_CACHED = "gen_ai.usage.cache_read.input_tokens"
TOKENS_WRITTEN = "gen_ai.usage.cache_creation.input_tokens"
TOKENS_REASONING = "gen_ai.usage.reasoning.output_tokens"
TOOL = "gen_ai.tool.name"
TOOL_CALL = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
ARGUMENTS = "gen_ai.tool.call.arguments"
RESULT = "gen_ai.tool.call.result"
INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
SYSTEM = "gen_ai.system_instructions"
ERROR = "error.type"
TOKEN_TYPE = "gen_ai.token.type"
KIND = "openinference.span.kind"
"""The kind of a span for OpenInference (Arize Phoenix), where the conventions have no name for what it is."""

MOST_CONTENT = 32_000
"""Most characters of a text in an attribute."""
_MOST_NAME = 200
_PROVIDERS = {
    "anthropic": "anthropic",
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "cohere": "cohere",
    "cohere_chat": "cohere",
    "deepseek": "deepseek",
    "gemini": "gcp.gemini",
    "groq": "groq",
    "mistral": "mistral_ai",
    "openai": "openai",
    "perplexity": "perplexity",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""The provider in a model's name, and its name in the conventions. Others keep their own name."""
_FAMILIES = {"claude": "anthropic", "gemini": "gcp.gemini"}
"""Beginning of a model's name without a provider. Any other such model is served in OpenAI's format."""


def provider_and_model(name: str) -> tuple[str, str]:
    """Return the provider as the conventions name it, and the model without its provider."""
    prefix, slash, rest = name.partition("/")
    if slash:
        return _PROVIDERS.get(prefix, prefix), short_name(rest)
    found = (provider for begin, provider in _FAMILIES.items() if name.startswith(begin))
    return next(found, "openai"), short_name(name)


def short_name(text: str) -> str:
    """Return a name that a model or a server may have given, as valid text of limited length."""
    return text.encode(errors="replace").decode()[:_MOST_NAME]


def content(value: Any) -> str:  # noqa: ANN401 - parsed arguments have any type
    """Return a text, or a value as JSON, of limited length."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.encode(errors="replace").decode()[:MOST_CONTENT]
