"""Models and servers as a search on a user's machine finds them."""

from __future__ import annotations

from rundry.agent import FREE, KeyMissing, ModelLine, Price, Survey
from rundry.agent.models.found_models import KeyFound, ServerFound

PRICE = Price(input=2e-6, output=1e-5, cached=2e-7, worst_input=2e-6, worst_output=1e-5)
LOCAL = ServerFound(
    kind="ollama",
    api_base="http://127.0.0.1:11434",
    models=[ModelLine(name="ollama_chat/qwen3:8b", context=32_768, price=FREE)],
)
HOSTED = KeyFound(
    provider="anthropic",
    variable="ANTHROPIC_API_KEY",
    models=[
        ModelLine(name="anthropic/claude-old", context=200_000),
        ModelLine(name="anthropic/claude-sonnet-5", context=1_000_000, price=PRICE),
    ],
)
MISSING = KeyMissing(provider="cohere", needs=[["COHERE_API_KEY"]], direct=False)
FOUND = Survey(servers=[LOCAL], keys=[HOSTED], missing=[MISSING])
NOTHING_FOUND = Survey(missing=[KeyMissing(provider="openai", needs=[["OPENAI_API_KEY"]], direct=True)])
