"""The tokens of chat templates that end a turn."""

from __future__ import annotations

STOPS = (
    "<|call|>",
    "<|end|>",
    "<|return|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|observation|>",
    "<｜end▁of▁sentence｜>",
    "<end_of_turn>",
    "<turn|>",
    "<start_function_response>",
    "<|tool_response>",
    "</s>",
    "[e~[",
)
"""Tokens that end a turn. After a call they are not part of the text."""
