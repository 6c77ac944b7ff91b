"""A key arrives only where it belongs: read from the requests that leave, in a network where every address answers."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable

import pytest
from fakes.providers.catch_all_network import why_not
from fakes.providers.keys_client import Sent, planted
from fakes.providers.keys_sent import (
    ADDRESSES,
    ELSEWHERE,
    bare,
    foreign,
    is_bare,
    lacks_own_key,
    misled,
    named,
    providers,
    redirected,
    rerouted,
    send,
    signed,
    written,
)

from rundry.agent.models.endpoint import resolve
from rundry.agent.models.key_rule import PROVIDERS, access_of, host_of, is_among, is_credential, is_secret
from rundry.agent.models.litellm_use.load_litellm import library_folder, litellm
from rundry.agent.models.litellm_use.needed_variables import NEEDS
from rundry.agent.models.litellm_use.provider_environment import only_variables
from rundry.agent.models.price_table import providers_listed
from rundry.agent.protocol import ModelSpec, UserError

pytestmark = pytest.mark.timeout(600)  # the first test waits for all calls
LIKE_OPENAI = [
    "bedrock_mantle", "charity_engine", "gdc", "inception", "meta", "modelscope", "nano-gpt", "parasail", "pinstripes",
    "sagemaker_nova", "tencent", "tensormesh", "text-completion-inception", "vertex_ai_beta",
]  # fmt: skip
"""Names that litellm's list of prices lacks."""
OWN_KEY = ["litellm_proxy", "minimax", "ovhcloud", "cometapi", "heroku", "snowflake", "bedrock"]
OTHERS = [
    "openai",
    "anthropic",
    "gemini",
    "cohere",
    "azure",
    "gigachat",
    "nebius",
    "text-completion-openai",
    "sagemaker",
]
UNREAD = {"gdc", "vertex_ai_beta"}
"""Without Google's package, litellm builds no request for these."""


@pytest.fixture(scope="module")
def sent() -> list[Sent]:
    """What calls of some providers sent, in every situation."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    some = [*LIKE_OPENAI, *OWN_KEY, *OTHERS]
    few = ["openai", "nebius", "meta", "text-completion-openai", "gigachat", "bedrock", "gemini", "snowflake"]
    return send([*written(some), *redirected(few), *misled(few), *named(few), *signed(), *rerouted(), *bare()[:16]])


def of(sent: Iterable[Sent], names: Iterable[str], wanted: Callable[[Sent], bool] = lambda _: True) -> list[Sent]:
    chosen = {*names}
    return [each for each in sent if each.case.name.partition("/")[0] in chosen and wanted(each)]


def arrived(each: Sent) -> set[tuple[str, str]]:
    return {(name, request.host) for request in each.reached for name in request.planted}


def leaks(sent: Iterable[Sent]) -> list[str]:
    return [f"{each.case.name} ({each.case}): {place}" for each in sent for place in foreign(each)]


def test_a_key_arrives_only_at_a_host_of_its_provider_and_at_the_users_address(sent: list[Sent]):
    assert leaks(sent) == []
    assert sum(bool(arrived(each)) for each in sent) > 150, "too few calls sent a key to prove anything"
    assert [each.unanswered for each in sent if each.unanswered] == []


def test_a_provider_whose_own_key_is_set_gets_it_at_the_users_address(sent: list[Sent]):
    assert [(each.case.name, each.case.api_base, each.reached) for each in sent if lacks_own_key(each)] == []
    asked = of(sent, {*LIKE_OPENAI, *OWN_KEY} - UNREAD - {"sagemaker_nova"}, lambda s: s.case == written_case(s))
    assert len(asked) > 3 * 17
    for each in asked:
        there = host_of(each.case.api_base or "")
        assert any(host == there for _, host in arrived(each)), (each.case.name, each.outcome)


def written_case(each: Sent) -> object:
    """The case itself if its address and its own key are given and nothing else is special, else None."""
    case = each.case
    plain = case.own_set and case.api_base in (a for a in ADDRESSES.values() if a) and case.key_from is None
    return case if plain and not case.redirects and not case.more else None


def test_without_its_own_key_a_provider_gets_none(sent: list[Sent]):
    unset = [each for each in sent if not each.case.own_set and not each.case.more and not is_bare(each.case)]
    assert [(each.case.name, arrived(each)) for each in unset if arrived(each)] == []
    assert any(request.is_placeholder for each in unset for request in each.reached)


def test_a_bare_model_name_sends_openais_key_only_to_this_network_and_to_openai(sent: list[Sent]):
    names = [each for each in sent if is_bare(each.case)]
    for each in names:
        there = host_of(each.case.api_base or "")
        is_public = each.case.api_base == ADDRESSES["public"]
        assert arrived(each) == ({("OPENAI_API_KEY", there)} if each.case.own_set and not is_public else set())
        if is_public and each.case.own_set:
            assert each.reached == []
            assert f"--model openai/{each.case.name}" in each.outcome and "key_from" in each.outcome
    assert len(names) == 16


def test_a_redirect_to_another_host_is_not_followed(sent: list[Sent]):
    asked = [each for each in sent if each.case.redirects]
    assert any(arrived(each) for each in asked)
    assert [each.case.name for each in asked if any(request.host == ELSEWHERE for request in each.reached)] == []


def test_bedrock_gets_a_profiles_key_or_the_bearer_token_also_on_this_machine(sent: list[Sent]):
    asked = [each for each in sent if each.case.more.keys() & {"AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"}]
    assert len(asked) == 8
    for each in asked:
        there = host_of(each.case.api_base or "https://bedrock-runtime.us-east-1.amazonaws.com")
        name = "AWS_ACCESS_KEY_ID" if "AWS_PROFILE" in each.case.more else "AWS_BEARER_TOKEN_BEDROCK"
        assert arrived(each) == {(name, there)}, each
        assert not any(request.is_placeholder for request in each.reached)


def test_no_error_shows_a_key(sent: list[Sent]):
    assert [each.outcome for each in sent if each.shows_key] == []


@pytest.mark.long
@pytest.mark.timeout(900)
def test_no_provider_of_litellm_leaks_a_key_in_any_situation():
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    names = providers()
    every = send([*written(names), *redirected(names), *misled(names), *named(names), *bare(), *signed(), *rerouted()])
    assert leaks(every) == []
    assert [(each.case.name, each.case.api_base) for each in every if lacks_own_key(each)] == []
    assert [each.case.name for each in every if any(request.host == ELSEWHERE for request in each.reached)] == []
    assert [each.outcome for each in every if each.shows_key] == []
    assert {host for each in every for _, host in arrived(each)} > {"api.openai.com", "api.cohere.com", "127.0.0.1"}


def test_every_name_of_litellms_own_list_is_read_from_its_files_as_a_provider():
    assert {str(getattr(p, "value", p)) for p in litellm().provider_list} <= providers_listed()


def test_the_rows_agree_with_litellms_file_of_providers():
    rows = json.loads((library_folder() / "llms/openai_like/providers.json").read_text())
    for name, row in rows.items():
        access = access_of(name)
        assert access.keys == (row["api_key_env"],), name
        assert is_among(host_of(row["base_url"]), access.hosts), name
        assert row.get("api_base_env", access.bases[0] if access.bases else None) in (*access.bases, None), name


def test_every_variable_that_a_provider_needs_is_in_its_row():
    for provider, groups in NEEDS.items():
        assert provider in PROVIDERS
        assert [name for group in groups for name in group if not access_of(provider).reads(name)] == [], provider
        named = [name for name in groups[0] if not name.endswith("_API_BASE")]
        assert [name for name in named if not is_credential(name)] == [], provider


def test_no_two_providers_of_different_companies_share_a_key():
    families = [
        {"azure", "azure_ai", "azure_text"}, {"bedrock", "bedrock_mantle"}, {"anthropic", "anthropic_text"},
        {"openai", "text-completion-openai"}, {"cohere", "cohere_chat"}, {"ai21", "ai21_chat"},
        {"codestral", "text-completion-codestral"}, {"inception", "text-completion-inception"},
        {"dashscope", "qwen_ai_platform", "qwencloud"}, {"nvidia_nim", "nvidia_riva"}, {"ollama", "ollama_chat"},
    ]  # fmt: skip
    owners: dict[str, set[str]] = {}
    for provider in PROVIDERS:
        for name in access_of(provider).keys:
            owners.setdefault(name, set()).add(provider)
    assert [names for names in owners.values() if len(names) > 1 and not any(names <= f for f in families)] == []


async def test_litellm_sees_the_variables_of_one_provider_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not for nebius")
    monkeypatch.setenv("NEBIUS_API_KEY", "of the environment")
    seen: list[object] = []

    async def look() -> None:
        await asyncio.sleep(0)
        seen.extend([os.environ.get("OPENAI_API_KEY"), os.getenv("NEBIUS_API_KEY"), "OPENAI_API_KEY" in os.environ])
        seen.append("PATH" in os.environ and len(os.environ) == len(dict(os.environ)))
        seen.append(await asyncio.to_thread(os.getenv, "OPENAI_API_KEY"))

    with only_variables({"NEBIUS_API_KEY": "given"}):
        await asyncio.gather(look())
    assert seen == [None, "given", False, True, None]
    assert os.environ["OPENAI_API_KEY"] == "not for nebius"


def test_a_provider_that_signs_is_refused_at_an_address_that_only_the_project_names():
    for provider in ("bedrock", "sagemaker", "vertex_ai", "sap", "github_copilot"):
        spec = ModelSpec(name=f"{provider}/m", api_base="https://third.example", key_from="")
        with pytest.raises(UserError, match="a file of the project names"):
            resolve(spec, provider, "m", {"AWS_ACCESS_KEY_ID": "a"})


def test_a_key_that_is_named_replaces_the_credentials_of_the_provider():
    env = {
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_PROFILE": "work",
        "AWS_REGION": "r",
        "MINE": "k",
    }
    spec = ModelSpec(name="bedrock/m", api_base="https://third.example", key_from="MINE")
    at = resolve(spec, "bedrock", "m", env)
    assert (at.key, at.variables, at.settings) == ("k", {"AWS_REGION": "r"}, {"aws_region_name": "r"})


def test_an_address_in_the_providers_own_variable_may_get_its_key():
    at = resolve(
        ModelSpec(name="meta/m"), "meta", "m", {"META_API_BASE": "https://mine.example/v1", "META_API_KEY": "k"}
    )
    assert at.may_reach("https://mine.example/v1/chat/completions")
    assert at.may_reach("https://api.meta.ai/v1")
    assert not at.may_reach("https://api.openai.com/v1")
    assert not at.may_reach("https://api.meta.ai.evil.example/v1")


def test_a_bare_name_may_use_the_address_of_openais_own_variable():
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://gateway.example/v1"}
    spec = ModelSpec(name="qwen", api_base="https://gateway.example/v1")
    assert resolve(spec, "openai", "qwen", env).key == "k"
    with pytest.raises(UserError, match=r"not sent to other\.example"):
        resolve(ModelSpec(name="qwen", api_base="https://other.example/v1"), "openai", "qwen", env)


@pytest.mark.parametrize(
    ("variable", "is_one"),
    [("OPENAI_API_KEY", True), ("AWS_SESSION_TOKEN", True), ("SNOWFLAKE_JWT", True), ("AWS_REGION", False),
     ("GITHUB_COPILOT_ACCESS_TOKEN_FILE", False), ("META_API_BASE", False), ("OPENAI_ORG_ID", True)],
)  # fmt: skip
def test_a_secret_is_distinguished_from_a_reference_to_one(variable: str, is_one: bool):
    assert is_secret(variable) is is_one


def test_every_key_of_a_row_has_a_planted_value_of_its_own():
    names = {name for provider in PROVIDERS for name in access_of(provider).keys}
    values = planted()
    assert [name for name in names if name not in values] == []
    assert len(set(values.values())) == len(values) > 150
