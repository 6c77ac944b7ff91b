"""Writes docs/models.md: what is proven of each provider, from the recordings that the tests replay.

From `tests/`: `RUNDRY_RECORDINGS=FOLDER ../.venv/bin/python -m fakes.providers.proven`. The counts are those of the
recordings that `tests/models/recordings/test_recorded.py` and `tests/models/recordings/test_goes_back.py` compare; run
both before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from rundry.agent.models.endpoint import USUAL_BASES
from rundry.agent.models.price_table import whole_table
from rundry.agent.models.provider_traits import TRAITS

from .recorded import Recording, recordings

PAGE = Path(__file__).parents[3] / "docs" / "models.md"
FACTS = ("answers", "streams", "tool calls", "two calls", "reasoning", "goes back", "usage", "errors")
_ROUTES = {
    "responses": "openai/responses",
    "converse": "bedrock/converse",
    "invoke": "bedrock/invoke",
    "cohere": "cohere_chat",
}
_NAMED = {"vercel": "vercel_ai_gateway", "vllm-local": "hosted_vllm", "vertex": "vertex_ai"}
_THEIR_OWN_NAME = ("azure", "gemini", "vertex_ai")
_COMPATIBLE = "other OpenAI-compatible servers"
_THROUGH_LITELLM = (
    "openai/responses", "gemini", "vertex_ai", "bedrock/converse", "bedrock/invoke", "azure", "cohere_chat", "watsonx",
    "databricks", "snowflake", "oci", "sagemaker_chat", "nebius", "cloudflare", "github_copilot",
)  # fmt: skip
_HEAD = """# Providers

What is tested for each provider. The numbers count answers of real providers that people outside of this
project recorded. rundry reads each of them like an independent parser: as a whole, cut at lines, and cut at random
places (`tests/models/recordings/test_recorded.py`). "goes back": reasoning that the second request contains in the
recorded form (`tests/models/recordings/test_goes_back.py`). A dash means that nothing was recorded: it may work, but
no test shows it. "price": litellm's table has a price for at least one model; a server on your machine is free.

This page is generated (`CONTRIBUTING.md` says how).
"""
_NOTE = """Vertex's answers are replayed through the `gemini/` route: the same format, without Google's login. The row
`openai/responses` also has answers of other servers in that format."""


def counts(all_: Iterable[Recording]) -> dict[str, Counter[str]]:
    """By provider, how many recorded answers show each fact."""
    every = list(all_)
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for one in every:
        if one.has_several_choices or not one.is_compared:
            continue
        row = found[row_of(one)]
        row["answers"] += 1
        if one.status != 200 or one.expected is None or one.expected["error"]:
            row["errors"] += 1
            continue
        row["streams"] += 1
        row["tool calls"] += bool(one.expected["calls"])
        row["two calls"] += len(one.expected["calls"]) > 1
        row["reasoning"] += bool(one.expected["reasoning"])
        row["usage"] += bool(one.expected["tokens"])
    return found


def row_of(recording: Recording) -> str:
    """The name of a provider's row."""
    if recording.wire in _ROUTES:
        return _ROUTES[recording.wire]
    if recording.wire == "anthropic" and recording.provider == "vertex":
        return "anthropic"
    name = _NAMED.get(recording.provider, recording.provider)
    return name if name in TRAITS or name in _THEIR_OWN_NAME else _COMPATIBLE


def page(found: dict[str, Counter[str]]) -> str:
    """Return the content of the file."""
    direct = [*TRAITS, _COMPATIBLE]
    return "\n".join(
        [_HEAD, "## Spoken to directly", "", *_table(direct, found), "", "## Through litellm", "",
         *_table(_THROUGH_LITELLM, found), "", _NOTE, "",
         "litellm reaches about 100 more; `rundry models --all` lists what each of them needs.", ""]
    )  # fmt: skip


def _table(names: Iterable[str], found: dict[str, Counter[str]]) -> list[str]:
    heads = ("provider", *FACTS, "price")
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    for name in names:
        cells = [str(found[name][fact] or "-") if name in found else "-" for fact in FACTS]
        lines.append(f"| {name} | {' | '.join(cells)} | {_price(name)} |")
    return lines


def _price(name: str) -> str:
    if name in USUAL_BASES:
        return "free"
    provider = name.partition("/")[0]
    rows = (
        fields
        for fields in whole_table().values()
        if str(fields.get("litellm_provider", "")).startswith(provider) and fields.get("mode") in ("chat", "responses")
    )
    return "yes" if any(fields.get("input_cost_per_token") for fields in rows) else "-"


def goes_back(found: dict[str, Counter[str]]) -> None:
    """Add the answers whose reasoning a second request carries."""
    from models.recordings.test_goes_back import pairs

    for first, _ in pairs():
        found[row_of(first)]["goes back"] += 1


def main() -> None:
    """Write the page."""
    found = counts(recordings())
    if not found:
        raise SystemExit("no recordings: name their folder in RUNDRY_RECORDINGS")
    goes_back(found)
    PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
