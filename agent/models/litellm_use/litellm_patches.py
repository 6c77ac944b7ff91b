"""Replace functions of litellm, each for a stated reason. `tests/models` fails if a new version needs other patches."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .untyped import Untyped


def patch_litellm(lib: Untyped) -> None:
    """Replace functions that fail or use the network. `lib` is the module litellm."""
    # After each call, litellm requests the model's window from Ollama (not always the right server) and huggingface.co.
    # These requests block the event loop, and only litellm's own log, which rundry turns off, uses the result.
    ollama: Untyped = import_module("litellm.llms.ollama.common_utils").OllamaModelInfo
    ollama.get_model_info = _unknown
    lib.utils._get_max_position_embeddings = _unknown
    # litellm's code for Claude 2's old text format fails; Bedrock accepts messages for these models too.
    lib.AmazonAnthropicConfig.get_legacy_anthropic_model_names = staticmethod(_no_names)
    # For Claude and other models on Vertex, litellm imports Google's SDK without using it.
    if find_spec("vertexai") is None:
        stand_in = ModuleType("vertexai")
        stand_in.__dict__["preview"] = None
        sys.modules["vertexai"] = stand_in
    # litellm would send a redacted block as an empty readable one, which Bedrock refuses.
    factory: Untyped = import_module("litellm.litellm_core_utils.prompt_templates.factory")
    processor = factory.BedrockConverseMessagesProcessor
    processor.translate_thinking_blocks_to_reasoning_content_blocks = staticmethod(_converse_blocks)


def _unknown(*_: object, **__: object) -> None:
    return None


def _no_names() -> list[str]:
    return []


def _converse_blocks(thinking_blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Convert Claude's sealed blocks to the form of the Converse API."""
    return [{"reasoningContent": _reasoning(block)} for block in thinking_blocks]


def _reasoning(block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") == "redacted_thinking":
        return {"redactedContent": block.get("data", "")}
    text = {"text": block.get("thinking") or ""}
    signature = block.get("signature")
    return {"reasoningText": text if signature is None else {**text, "signature": signature}}
