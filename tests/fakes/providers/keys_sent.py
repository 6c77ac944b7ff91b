"""Sends a call to every provider of litellm in a network where every address answers, and judges where keys went.

`python -m fakes.providers.keys_sent` (from `tests/`) prints the table of providers and situations, and the number of
keys that arrived at a host to which they do not belong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import msgspec

from rundry.agent.models.endpoint import is_local_server
from rundry.agent.models.key_rule import access_of, host_of, is_among
from rundry.agent.models.price_table import providers_listed, whole_table
from rundry.agent.models.provider_traits import TRAITS

from .catch_all_network import run_inside, why_not
from .keys_client import Case, Reached, Sent, value_of

ADDRESSES: dict[str, str | None] = {
    "loopback": "http://127.0.0.1:8080/v1",
    "private": "http://10.1.2.3:8080/v1",
    "public": "https://third.example/v1",
    "default": None,
}
"""The kinds of address that a case gives, or None for the provider's own host."""
_SURVEYS = ("/models", "/props", "/api/show", "/api/tags")
"""Paths at which a server is asked for its models, with or without a key."""
ELSEWHERE = "elsewhere.example"
_MODELS = {
    "bedrock": "anthropic.claude-3-5-sonnet-20240620-v1:0",
    "clarifai": "openai.chat-completion.gpt-4o",
    "ai21": "jamba-1.5",
    "sagemaker_nova": "nova-endpoint",
}
_MEANT = {"ollama": "ollama_chat", "vllm": "hosted_vllm", "lmstudio": "lm_studio"}


@cache
def providers() -> list[str]:
    """Return all names with which a model's name can begin, in litellm's files and in rundry's own table."""
    return sorted(name for name in {*TRAITS, *providers_listed()} if "/" not in name)


def written(names: Iterable[str]) -> list[Case]:
    """Return the cases with the provider written out: own key set or not, at each kind of address."""
    return [
        _case(name, api_base=address, own_set=own_set)
        for name in names
        for own_set in (True, False)
        for address in ADDRESSES.values()
    ]


def redirected(names: Iterable[str]) -> list[Case]:
    """Return cases in which every host, also the provider's own, answers 307 to another host."""
    return [_case(name, api_base=address, redirects=True) for name in names for address in (ADDRESSES["public"], None)]


def misled(names: Iterable[str]) -> list[Case]:
    """Return cases without an address, while the variables of all other providers name addresses."""
    more = {
        base: f"https://{base.lower().replace('_', '-')}.example/v1"
        for name in providers()
        for base in access_of(name).bases
    } | {"USE_LITELLM_PROXY": "true", "LITELLM_PROXY_API_BASE": "https://litellm-proxy-api-base.example"}
    return [
        _case(name, more={base: at for base, at in more.items() if not access_of(name).reads(base)}) for name in names
    ]


def bare(own_set: Sequence[bool] = (True, False)) -> list[Case]:
    """Return cases whose model name does not name a provider."""
    listed = {str(row.get("litellm_provider")): name for name, row in whole_table().items() if "/" not in name}
    names = ["qwen", "qwen/qwen3-8b", "meta-llama/Llama-3-8b", *sorted(listed.values())]
    addresses = [ADDRESSES["loopback"], ADDRESSES["private"], ADDRESSES["public"], "https://api.openai.com/v1"]
    return [
        Case(name=name, provider="openai", api_base=address, own_set=is_set)
        for name in names
        for is_set in own_set
        for address in addresses
    ]


def named(names: Iterable[str]) -> list[Case]:
    """Return cases with `key_from`: another variable, or the empty text of an address from a project."""
    return [
        _case(name, api_base=ADDRESSES["public"], key_from=key_from)
        for name in names
        for key_from in ("GITHUB_TOKEN", "")
    ]


def signed() -> list[Case]:
    """Return cases of Bedrock with a profile of AWS's files, and with a bearer token."""
    profile = {"AWS_PROFILE": "work", "AWS_SHARED_CREDENTIALS_FILE": "~/aws-credentials"}
    token = {"AWS_BEARER_TOKEN_BEDROCK": value_of("AWS_BEARER_TOKEN_BEDROCK")}
    return [
        _case("bedrock", api_base=address, own_set=False, more=more)
        for more in (profile, token)
        for address in ADDRESSES.values()
    ]


def rerouted() -> list[Case]:
    """Return cases whose model litellm gives to another provider or sends in another format."""
    names = [
        "azure/command-r-plus", "azure/mistral-large", "openai/responses/gpt-5", "cohere/command-r",
        "bedrock/invoke/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "gemini/gemini-3-pro-preview",
        "azure_ai/claude-sonnet-4-5", "databricks/databricks-claude-sonnet-4", "watsonx/ibm/granite-13b-chat-v2",
    ]  # fmt: skip
    return [
        Case(name=name, provider=name.partition("/")[0], api_base=address, own_set=own_set)
        for name in names
        for own_set in (True, False)
        for address in (ADDRESSES["public"], None)
    ]


def _case(provider: str, **fields: object) -> Case:
    meant = _MEANT.get(provider, provider)
    return msgspec.convert(
        {"name": f"{provider}/{_MODELS.get(provider, 'some-model')}", "provider": meant, **fields}, type=Case
    )


def send(cases: Sequence[Case]) -> list[Sent]:
    """Run the cases in a network of their own."""
    with tempfile.TemporaryDirectory() as home:
        given = msgspec.json.encode(cases)
        out = run_inside("fakes.providers.keys_client", given, seconds=1800, home=Path(home))
    return msgspec.json.decode(out, type=list[Sent])


def foreign(sent: Sent) -> list[str]:
    """Return each key of the call that arrived where it may not be, as `VARIABLE at HOST`."""
    return [
        f"{name} at {request.host}"
        for request in sent.reached
        for name in request.planted
        if not _may_arrive(sent.case, name, request)
    ]


def _may_arrive(case: Case, name: str, request: Reached) -> bool:
    row = access_of(case.provider)
    if is_bare(case):
        is_open = is_local_server(case.api_base) or is_among(host_of(case.api_base or ""), row.hosts)
        return name == "OPENAI_API_KEY" and is_open and request.host == host_of(case.api_base or "")
    is_own = row.reads(name) if case.key_from is None else name == case.key_from
    given = {host_of(address) for address in (case.api_base or "", *row.addresses(case.more))}
    return is_own and (is_among(request.host, row.hosts) or request.host in given)


def is_bare(case: Case) -> bool:
    """Return whether the case's name does not name a provider."""
    return case.name.partition("/")[0] not in {*providers(), *_MEANT}


def lacks_own_key(sent: Sent) -> bool:
    """Return whether a call whose provider has a key reached the user's address without it."""
    case, row = sent.case, access_of(sent.case.provider)
    if case.api_base is None or not (case.own_set or case.more) or case.key_from is not None or is_bare(case):
        return False
    calls = [r for r in sent.reached if r.host == host_of(case.api_base) and not r.path.endswith(_SURVEYS)]
    return bool(row.keys or row.others) and any(not (r.planted or r.is_derived) or r.is_placeholder for r in calls)


def _cell(sent: Sent) -> str:
    wrong = foreign(sent)
    if wrong:
        return "LEAK " + ", ".join(sorted(set(wrong)))
    if not sent.reached:
        return "-"
    if any(r.planted for r in sent.reached):
        return "own"
    return "token" if any(r.is_derived for r in sent.reached) else "none"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="providers; without one: all")
    asked = parser.parse_args().names or providers()
    if (reason := why_not()) is not None:
        sys.exit(reason)
    groups = {"redirect": redirected(asked), "addresses": misled(asked), "key_from": named(asked), "": written(asked)}
    every = send([case for cases in groups.values() for case in cases] + bare() + signed() + rerouted())
    rows: dict[str, dict[str, list[str]]] = {}
    kinds = {address: kind for kind, address in ADDRESSES.items()}
    for sent in every:
        case = sent.case
        situation = next((word for word, cases in groups.items() if word and case in cases), None)
        kind = kinds.get(case.api_base, "openai")
        column = situation or f"{kind}{'' if case.own_set else ' unset'}"
        row = "(bare name)" if is_bare(case) else case.name.partition("/")[0]
        rows.setdefault(row, {}).setdefault(column, []).append(_cell(sent))
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    print(" | ".join(["provider", *columns]))
    for name, row in sorted(rows.items()):
        print(" | ".join([name, *(" / ".join(dict.fromkeys(row.get(c, ["-"]))) for c in columns)]))
    wrong = [place for sent in every for place in foreign(sent)]
    print(f"{len(rows)} names, {len(every)} calls, {sum(len(s.reached) for s in every)} requests arrived")
    print(f"{len(wrong)} keys at a foreign host")
    print("own: the provider's own key or token arrived; none: requests without a key; -: no request. See `-h`.")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
