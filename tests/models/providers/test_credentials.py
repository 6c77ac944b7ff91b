"""What litellm can reach is not refused; what it cannot is refused with the names of what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from sampling import sampled

from rundry.agent.models.litellm_use.credentials import check_credentials, dry_run, login_file, unset_groups
from rundry.agent.models.litellm_use.load_litellm import litellm
from rundry.agent.models.litellm_use.needed_variables import CLOUD, KEYED, LOGINS, NEEDS, PACKAGES, SERVED
from rundry.agent.models.provider_traits import TRAITS
from rundry.agent.protocol import ModelSpec, Refusal

from .asked_litellm import Asked, Case

ASKED = Path(__file__).with_name("asked_litellm.py")
MODELS = {"bedrock": "anthropic.claude-3-5-sonnet-20240620-v1:0", "clarifai": "openai.chat-completion.gpt-4o"}
UNTESTED = {"bytez", "gradient_ai", "morph", "v0"}
"""litellm refuses our arguments before it looks for a key."""
NO_CHAT = "Unmapped LLM provider"
FOREIGN_HOST = "which is not a host of"
"""In the refusal of a call whose key would go to the host of another provider."""


def plain_env(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true"}


def name_of(provider: str) -> str:
    return f"{provider}/{MODELS.get(provider, 'some-model')}"


def satisfied(provider: str, which: int = 0) -> dict[str, str]:
    """One variable of each group."""
    names = [group[min(which, len(group) - 1)] for group in NEEDS.get(provider, ())]
    return {name: "http://127.0.0.1:9/v1" if name.endswith(("_BASE", "_URL")) else "some-value" for name in names}


def every_provider() -> list[str]:
    return [str(getattr(p, "value", p)) for p in litellm().provider_list]


async def refusal_of(provider: str, env: dict[str, str]) -> str | None:
    try:
        await check_credentials(ModelSpec(name=name_of(provider)), provider, env)
    except Refusal as refusal:
        return str(refusal)
    return None


def ask(cases: Sequence[Case], home: Path) -> list[Asked]:
    out = subprocess.run(
        [sys.executable, str(ASKED)], input=msgspec.json.encode(cases), stdout=subprocess.PIPE, check=True,
        env=plain_env(home), timeout=300,
    )  # fmt: skip
    return msgspec.json.decode(out.stdout, type=list[Asked])


async def test_no_provider_of_litellms_own_list_is_refused_for_a_key_once_its_variables_are_set(tmp_path: Path):
    for provider in every_provider():
        env = {**plain_env(tmp_path), **satisfied(provider)}
        if (token := login_file(provider, env)) is not None:
            token.parent.mkdir(parents=True)
            token.write_text("a token")
        refused = await refusal_of(provider, env)
        assert refused is None or (provider in PACKAGES and PACKAGES[provider][1] in refused), (provider, refused)


async def test_each_variable_of_a_group_is_enough(tmp_path: Path):
    for provider in NEEDS:
        for which in range(max(len(group) for group in NEEDS[provider])):
            assert unset_groups(provider, satisfied(provider, which)) == (), provider


async def test_with_nothing_set_a_refusal_names_a_variable_of_each_group(tmp_path: Path):
    for provider, groups in KEYED.items():
        refused = await refusal_of(provider, plain_env(tmp_path))
        assert refused is not None, provider
        assert provider in refused
        assert all(group[0] in refused for group in groups), refused


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], Asked]:
    """What litellm says of each provider without variables (False) and with those of its row (True).

    One process answers all: the import of litellm takes seconds.
    """
    known = {*TRAITS, *LOGINS, *PACKAGES}
    bare = [(p, False) for p in NEEDS if p not in PACKAGES and p not in TRAITS]
    bare += [(p, False) for p in every_provider() if p not in known and p not in NEEDS]
    asked = bare + [(p, True) for p in KEYED if p not in PACKAGES]
    cases = [Case(name_of(p), satisfied(p) if has_variables else {}) for p, has_variables in asked]
    return dict(zip(asked, ask(cases, tmp_path_factory.mktemp("home")), strict=True))


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_table_agrees_with_the_litellm_that_is_installed(answers: dict[tuple[str, bool], Asked]):
    for provider in [p for p in NEEDS if p not in PACKAGES and p not in TRAITS]:
        asked = answers[provider, False]
        named = {name for group in NEEDS[provider] for name in group}
        assert asked.missing or not asked.reached or provider == "cohere_chat", f"litellm needs nothing for {provider}"
        assert not asked.missing or named & set(asked.missing), (provider, asked.missing)
    for provider in [p for p in KEYED if p not in PACKAGES]:
        asked = answers[provider, True]
        if asked.refused is not None:
            assert FOREIGN_HOST in asked.refused, (provider, asked.refused)
            continue
        assert asked.reached or provider in UNTESTED, provider


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_provider_without_a_row_is_one_that_litellm_does_not_refuse_for_a_key(
    answers: dict[tuple[str, bool], Asked],
):
    known = {*NEEDS, *TRAITS, *LOGINS, *PACKAGES}
    providers = [p for p in every_provider() if p not in known]
    odd = {"custom", "custom_openai", "oobabooga", "openai_like", "ragflow", "triton", "vllm"}  # they want an address
    for provider in providers:
        asked = answers[provider, False]
        wants_key = asked.refused is not None and not any(why in asked.refused for why in (NO_CHAT, FOREIGN_HOST))
        assert not wants_key or provider in odd, (provider, asked.refused)


@pytest.mark.parametrize("provider", sampled(["bedrock", "watsonx", "azure"], 1))
async def test_what_a_cloud_lacks_is_reported_by_litellm_itself(provider: str, tmp_path: Path):
    refused = await refusal_of(provider, plain_env(tmp_path))
    assert refused is not None
    assert "(litellm: " in refused
    assert CLOUD[provider][0][0] in refused
    assert "Traceback" not in refused


@pytest.mark.long
async def test_a_profile_in_the_aws_files_is_enough_for_bedrock(tmp_path: Path):
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "credentials").write_text("[default]\naws_access_key_id = a\naws_secret_access_key = b\n")
    assert await refusal_of("bedrock", plain_env(tmp_path)) is None


async def test_a_role_of_the_container_is_enough_for_bedrock(tmp_path: Path):
    env = {**plain_env(tmp_path), "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/x"}
    assert await refusal_of("bedrock", env) is None


async def test_a_dry_run_opens_no_connection_and_prints_nothing_else(tmp_path: Path):
    env = {**plain_env(tmp_path), "COHERE_API_KEY": "k"}
    assert (await dry_run(ModelSpec(name="cohere_chat/command-r"), env)).refused is None


async def test_a_login_that_litellm_would_ask_for_is_refused_with_the_file_that_is_missing(tmp_path: Path):
    refused = await refusal_of("github_copilot", plain_env(tmp_path))
    assert refused is not None
    assert "github_copilot/access-token" in refused


async def test_the_key_of_another_provider_is_not_a_key(tmp_path: Path):
    env = {**plain_env(tmp_path), "OPENAI_API_KEY": "sk-not-for-nebius"}
    refused = await refusal_of("nebius", env)
    assert refused is not None and "NEBIUS_API_KEY" in refused


async def test_a_server_that_the_user_named_needs_no_key(tmp_path: Path):
    spec = ModelSpec(name="nebius/x", api_base="http://127.0.0.1:9/v1")
    await check_credentials(spec, "nebius", plain_env(tmp_path))
    assert not {*SERVED} & {*KEYED}
