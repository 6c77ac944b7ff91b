"""The worst case takes the dearest rate that can apply; an unknown price is never 0."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest

from rundry.agent.models.litellm_use.load_litellm import litellm
from rundry.agent.models.price_table import PriceRow, find_price, whole_table
from rundry.agent.models.prices import price_of
from rundry.agent.protocol import FREE, Tokens, bill

TIERED = PriceRow(
    "x",
    {
        "input_cost_per_token": 3e-6,
        "output_cost_per_token": 15e-6,
        "cache_read_input_token_cost": 0.3e-6,
        "cache_creation_input_token_cost": 3.75e-6,
        "input_cost_per_token_above_200k_tokens": 6e-6,
        "output_cost_per_token_above_200k_tokens": 22.5e-6,
        "input_cost_per_token_priority": 99e-6,
    },
)


def test_the_worst_case_is_a_cache_write_in_the_dearest_tier_that_the_window_reaches():
    small = price_of(TIERED, local=False, window=200_000)
    large = price_of(TIERED, local=False, window=1_000_000)
    assert small is not None
    assert large is not None
    assert (small.worst_input, small.worst_output) == (3.75e-6, 15e-6)
    assert large.worst_input == pytest.approx(7.5e-6)
    assert large.worst_output == 22.5e-6
    assert (large.input, large.output, large.cached) == (3e-6, 15e-6, 0.3e-6)


def test_a_bill_takes_the_tier_of_its_prompt_and_the_cached_and_written_rates():
    price = price_of(TIERED, local=False, window=1_000_000)
    assert price is not None
    assert price.bill(Tokens(1000, 10)) == pytest.approx(1000 * 3e-6 + 10 * 15e-6)
    assert price.bill(Tokens(1000, 0, 600, 0, 100)) == pytest.approx(300 * 3e-6 + 600 * 0.3e-6 + 100 * 3.75e-6)
    assert price.bill(Tokens(200_001, 10)) == pytest.approx(200_001 * 6e-6 + 10 * 22.5e-6)
    assert price.bill(Tokens(200_000, 0)) == pytest.approx(200_000 * 3e-6)


def test_no_bill_of_any_listed_chat_model_passes_its_worst_case():
    checked = 0
    for key, fields in whole_table().items():
        entry = PriceRow(key, fields)
        window = entry.window or 128_000
        price = price_of(entry, local=False, window=window)
        if fields.get("mode") != "chat" or price is None:
            continue
        for tokens in (Tokens(window, 100), Tokens(window, 0, 0, 0, window), Tokens(900, 900, 900)):
            worst = tokens.in_ * price.worst_input + tokens.out * price.worst_output
            assert price.bill(tokens) <= worst * 1.000001, key
        checked += 1
    assert checked > 1000


def test_a_price_in_the_table_holds_wherever_the_server_is():
    entry = find_price("openai", "gpt-4o")
    assert entry is not None
    assert price_of(entry, local=True, window=128_000) == price_of(entry, local=False, window=128_000)
    assert price_of(entry, local=True, window=128_000) != FREE


def test_a_model_without_a_price_is_free_where_it_is_local_and_unpriced_where_it_is_not():
    assert price_of(None, local=True, window=8192) == FREE
    assert price_of(None, local=False, window=8192) is None


def test_ollamas_zero_in_the_table_is_not_a_price_of_somebody_elses_server():
    entry = find_price("ollama", "llama2")
    assert entry is not None
    assert price_of(entry, local=True, window=4096) == FREE
    assert price_of(entry, local=False, window=4096) is None


def test_the_users_price_is_per_million_and_overrides_the_table():
    price = price_of(find_price("openai", "gpt-4o"), local=False, window=128_000, user=(2.0, 8.0))
    assert price is not None
    assert (price.input, price.output, price.cached) == (2e-6, 8e-6, 2e-6)
    assert (price.worst_input, price.worst_output) == (2e-6, 8e-6)
    assert price.bill(Tokens(1000, 100, 500)) == pytest.approx(1000 * 2e-6 + 100 * 8e-6)


def test_ranges_of_prompt_lengths_are_tiers():
    entry = find_price("dashscope", "qwen3-max")
    assert entry is not None
    price = price_of(entry, local=False, window=entry.window or 0)
    assert price is not None
    assert price.worst_input > price.input


def test_a_model_is_found_under_its_full_name_or_under_its_own_house():
    assert find_price("gemini", "gemini-2.5-pro").key == "gemini/gemini-2.5-pro"  # type: ignore[union-attr]
    assert find_price("anthropic", "claude-sonnet-4-5").key == "claude-sonnet-4-5"  # type: ignore[union-attr]
    assert find_price("openai", "claude-sonnet-4-5") is None, "of another house"
    assert find_price("openai", "no-such-model") is None


async def test_a_proxy_on_this_machine_bills_the_tables_price(opened, serve):
    base = await serve({"GET /v1/models": 404}) + "/v1"
    assert (await opened(base, "gpt-4o")).model.price.input > 0
    assert (await opened(base, "openai/gpt-4o", price=(1.0, 2.0))).model.price.input == 1e-6
    assert (await opened(base, "fake")).model.price == FREE
    remote = await opened("http://192.0.2.1:9/v1", "openai/nobody-knows", context=8192)
    assert remote.model.price is None
    assert bill(remote.model.price, Tokens(10, 10)) is None
    assert not remote.model.local


_FIGURES = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
)
_ROUTED = {
    "bedrock": ("", "converse/", "invoke/", "us.", "eu.", "apac.", "global.", "converse/us.", "invoke/global."),
    "azure": ("", "eu/", "us/"),
    "vertex_ai": ("",),
    "gemini": ("",),
}


def _house(listed: str) -> str:
    return next((p for p in ("bedrock", "vertex_ai") if listed.startswith(p) and "mantle" not in listed), listed)


def _names(provider: str, bare: str) -> list[str]:
    """How a person may write the model. No route before a region: litellm forgets the region's price then."""
    routes = ("",) if re.search(r"-\d/", bare) else _ROUTED.get(provider, ("",))
    dated = [f"{bare}-001"] if provider in ("vertex_ai", "gemini") else []
    return [*(route + bare for route in routes), bare.upper(), *dated]


def test_a_name_with_a_route_a_region_or_a_date_costs_what_litellm_says():
    lib = litellm()
    rows = [(k, f) for k, f in sorted(whole_table().items()) if f.get("mode") in ("chat", "responses")]
    checked = 0
    for key, fields in rows[::3]:
        provider = _house(str(fields.get("litellm_provider")))
        for name in _names(provider, key.removeprefix(f"{provider}/")):
            known = {}
            with suppress(Exception):  # it raises for a name that it does not know
                known = lib.get_model_info(name, custom_llm_provider=provider)
            if known.get("input_cost_per_token"):
                entry = find_price(provider, name)
                assert entry is not None, (provider, name)
                figures = [entry.number(f) or 0.0 for f in _FIGURES]
                assert figures == [known.get(f) or 0.0 for f in _FIGURES], (provider, name, entry.key)
                checked += 1
    assert checked > 1000


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("openai/responses/gpt-5", "gpt-5"),
        ("azure/responses/gpt-5-mini", "azure/gpt-5-mini"),
        ("bedrock/converse/us.anthropic.claude-haiku-4-5-20251001-v1", "us.anthropic.claude-haiku-4-5-20251001-v1:0"),
        ("bedrock/invoke/apac.anthropic.claude-v2:1", "anthropic.claude-v2:1"),
        ("bedrock/anthropic.claude-3-haiku-20240307-v1:0:48k", "anthropic.claude-3-haiku-20240307-v1:0"),
        ("cohere/command-a-03-2025", "command-a-03-2025"),
        ("openai/ft:gpt-4o-2024-08-06:some-group::id", "ft:gpt-4o-2024-08-06"),
    ],
)
def test_a_route_a_region_and_a_suffix_are_left_out_of_the_name(name, key):
    entry = find_price(*name.split("/", 1))
    assert entry is not None
    assert entry.key == key


def test_a_row_of_another_provider_is_not_a_price():
    assert find_price("groq", "gpt-4o") is None
    assert find_price("openai", "claude-sonnet-4-5") is None
    assert find_price("bedrock", "converse/nobody.knows-this-v1:0") is None
