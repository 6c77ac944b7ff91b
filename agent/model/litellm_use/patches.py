"""What is replaced in litellm, each with its reason. `tests/model` fails when a new version needs something else."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .foreign import Foreign


def mend(lib: Foreign) -> None:
    """Replace what fails or asks the network. `lib` is litellm."""
    # After each call litellm looks a model's window up for its own log, with blocking requests in the event loop: it
    # asks Ollama (not always the one that answered) and huggingface.co. Nobody reads that log here.
    ollama: Foreign = import_module("litellm.llms.ollama.common_utils").OllamaModelInfo
    ollama.get_model_info = _unknown
    lib.utils._get_max_position_embeddings = _unknown
    # The code for Claude 2's retired text format fails; Bedrock takes messages for these models too.
    lib.AmazonAnthropicConfig.get_legacy_anthropic_model_names = staticmethod(_no_names)
    # For Claude and others on Vertex litellm imports Google's SDK, and uses nothing of it but its presence.
    if find_spec("vertexai") is None:
        stand_in = ModuleType("vertexai")
        stand_in.__dict__["preview"] = None
        sys.modules["vertexai"] = stand_in
    # A redacted block would go back as an empty readable one, which Bedrock refuses.
    factory: Foreign = import_module("litellm.litellm_core_utils.prompt_templates.factory")
    processor = factory.BedrockConverseMessagesProcessor
    processor.translate_thinking_blocks_to_reasoning_content_blocks = staticmethod(_converse_blocks)


def _unknown(*_: object, **__: object) -> None:
    return None


def _no_names() -> list[str]:
    return []


def _converse_blocks(thinking_blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Claude's sealed blocks as the Converse API takes them."""
    return [{"reasoningContent": _reasoning(block)} for block in thinking_blocks]


def _reasoning(block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") == "redacted_thinking":
        return {"redactedContent": block.get("data", "")}
    text = {"text": block.get("thinking") or ""}
    signature = block.get("signature")
    return {"reasoningText": text if signature is None else {**text, "signature": signature}}
