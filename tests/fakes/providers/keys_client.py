"""Calls a model for each case, inside the namespace of `catch_all_network.py`, and reports which keys arrived where.

Standard input: a list of `Case` as JSON. Standard output: a list of `Sent`. Every variable in litellm's source whose
name says that it holds a secret has a value of its own here, in the environment from which the program reads its keys.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from rundry.agent.models.key_rule import KEY_NAMES, access_of
from rundry.agent.models.lanes.close_connections import close_connections
from rundry.agent.models.lanes.timer import StallTimeouts
from rundry.agent.models.litellm_use.credentials import needs_dry_run, unset_groups
from rundry.agent.models.litellm_use.load_litellm import litellm
from rundry.agent.models.open_model import open_model
from rundry.agent.protocol import Message, ModelSpec, Refusal, Request

from .catch_all_network import Arrived, Everywhere

SECONDS = 20.0
_LITERAL = re.compile(r"""["']([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)["']""")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|JWT|ORG_ID|ORGANIZATION|PROJECT_ID|CUSTOM_HEADERS|_PAT$")
_NOT_PLANTED = re.compile(
    r"FILE|PATH|URL|_DIR$|^(SSL|LITELLM_MODE|TIKTOKEN|AICORE_(CERT|KEY)_STR)|_?MAX_(?!API_)|NUM_|_TTL|COUNT|TOKENS|"
    r"SECONDS|SIZE|LENGTH|BUFFER|HOURS|EXPIR|INTERVAL|LIMIT|_RATIO"
)
_OF_LIBRARIES = (
    "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS", "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_AUTH_TOKEN", "HF_TOKEN",
    "GITHUB_TOKEN", "OCI_USER", "AICORE_CLIENT_ID", "AICORE_CLIENT_SECRET",
)  # fmt: skip
_SETTINGS = {
    "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION_NAME": "us-east-1", "SNOWFLAKE_ACCOUNT_ID": "account",
    "CLOUDFLARE_ACCOUNT_ID": "account", "PREDIBASE_TENANT_ID": "tenant", "AZURE_API_VERSION": "2025-01-01",
    "WATSONX_PROJECT_ID": "project", "OCI_FINGERPRINT": "fingerprint", "OCI_TENANCY": "tenancy",
    "OCI_COMPARTMENT_ID": "compartment", "OCI_REGION": "us-ashburn-1", "VERTEXAI_PROJECT": "project",
    "AICORE_AUTH_URL": "https://tenant.authentication.eu10.hana.ondemand.com", "AICORE_RESOURCE_GROUP": "default",
    "AICORE_BASE_URL": "https://api.ai.prod.eu-central-1.aws.ml.hana.ondemand.com/v2",
}  # fmt: skip


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One call."""

    name: str
    """Of the model, as `--model` takes it."""
    provider: str
    api_base: str | None = None
    own_set: bool = True
    """Whether the provider's own variables are set. Those of all others are."""
    more: dict[str, str] = {}
    """Variables on top of the planted ones."""
    key_from: str | None = None
    redirects: bool = False
    """Whether every host sends the client to `elsewhere.example`."""


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """One request that arrived."""

    host: str
    path: str
    planted: list[str]
    """The variables whose value it held."""
    is_derived: bool
    """Whether it held a token that a login here gave."""
    is_placeholder: bool
    """Whether it held `no-key`."""


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """What a call did."""

    case: Case
    outcome: str
    """`ok`, or the error."""
    reached: list[Reached]
    shows_key: bool
    """Whether the error held a planted value."""
    unanswered: list[str]
    """Addresses that the client tried and that nobody answers here."""


def value_of(variable: str) -> str:
    """Return the value that is planted for a variable."""
    return f"planted-{variable.lower().replace('_', '-')}-x"


def planted() -> dict[str, str]:
    """Return the variables that litellm might read, each with a value of its own."""
    folder = Path(find_spec("litellm").submodule_search_locations[0])  # type: ignore[union-attr,index]
    names: set[str] = set()
    for file in (*folder.glob("*.py"), *folder.glob("l*/**/*.py"), *folder.glob("secret_managers/*.py")):
        names.update(_LITERAL.findall(file.read_text(encoding="utf-8", errors="replace")))
    names.update(_LITERAL.findall((folder / "llms/openai_like/providers.json").read_text()))
    chosen = {n for n in names if _SECRET.search(n) and not _NOT_PLANTED.search(n)} - {*_SETTINGS}
    chosen |= {*_OF_LIBRARIES, *(name for keys in KEY_NAMES.values() for name in keys)}
    values = {name: value_of(name) for name in chosen}
    values["OPENAI_CUSTOM_HEADERS"] = f"X-Custom: {values['OPENAI_CUSTOM_HEADERS']}"
    return values


def environment(case: Case, values: dict[str, str], plain: dict[str, str]) -> dict[str, str]:
    """Return the environment of a case."""
    both = {**_SETTINGS, **values}
    row = access_of(case.provider)
    kept = {n: v for n, v in both.items() if case.own_set or n in _SETTINGS or not row.reads(n)}
    return {**plain, **kept, **case.more}


async def call(case: Case) -> str:
    """Open the model, probe its server as before a run, and call it, without litellm's dry run, which takes seconds."""
    spec = ModelSpec(name=case.name, api_base=case.api_base, key_from=case.key_from)
    waits = StallTimeouts(first=SECONDS, between=SECONDS)
    is_dry = needs_dry_run(case.provider) and unset_groups(case.provider, os.environ)
    try:
        async with asyncio.timeout(SECONDS):
            model = await open_model(spec, os.environ, timeouts=waits)
            with suppress(Refusal):
                await (asyncio.sleep(0) if is_dry else model.probe())
            async for _ in model.stream(Request(messages=[Message(role="user", text="hi")], max_tokens=16)):
                pass
        return "ok"
    except Exception as e:  # noqa: BLE001  # litellm raises exceptions of any class
        return f"{type(e).__name__}: {e}"
    finally:
        await close_connections()


def main() -> None:
    """Answer all cases, one after the other."""
    cases = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Case])
    out = os.dup(1)
    os.dup2(2, 1)
    sent: list[Sent] = []
    with tempfile.TemporaryDirectory() as folder:
        network = Everywhere(Path(folder))
        bundle = dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE"), str(network.ca_file))
        plain, values = {**os.environ, **bundle}, planted()
        os.environ.update({**plain, **values, "OCI_KEY": _pem()})
        (Path.home() / "aws-credentials").write_text(
            f"[work]\naws_access_key_id = {values['AWS_ACCESS_KEY_ID']}\naws_secret_access_key = s\n"
        )
        litellm()
        refused = _Refused()
        for case in cases:
            os.environ.clear()
            os.environ.update(environment(case, {**values, "OCI_KEY": _pem()}, plain))
            litellm().in_memory_llm_clients_cache.flush_cache()
            network.redirects_to = "elsewhere.example" if case.redirects else None
            outcome = asyncio.run(call(case))
            reached = [_reached(request, values) for request in network.take()]
            shown = any(value in outcome for value in values.values())
            sent.append(Sent(case=case, outcome=outcome, reached=reached, shows_key=shown, unanswered=refused.take()))
    os.write(out, msgspec.json.encode(sent))


def _reached(request: Arrived, values: dict[str, str]) -> Reached:
    text = request.readable
    return Reached(
        host=request.host,
        path=request.target.partition("?")[0],
        planted=sorted(name for name, value in values.items() if value.encode() in text),
        is_derived=b"derived-token" in text,
        is_placeholder=b"no-key" in text,
    )


class _Refused:
    """Records the addresses of connections to ports that nobody answers, so that no request goes unseen."""

    def __init__(self) -> None:
        from .catch_all_network import PORTS

        self._found: list[str] = []
        self._ports = {53, *PORTS}
        sys.addaudithook(self._note)

    def take(self) -> list[str]:
        found, self._found = self._found, []
        return found

    def _note(self, event: str, args: tuple[object, ...]) -> None:
        if event != "socket.connect" or not isinstance(args[1], tuple):
            return
        host, port = args[1][:2]
        if port not in self._ports and port != 0:
            self._found.append(f"{host}:{port}")


_PEM: list[str] = []


def _pem() -> str:
    """Return a private key with which Oracle's requests can be signed."""
    if not _PEM:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        kind, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        _PEM.append(key.private_bytes(serialization.Encoding.PEM, kind, plain).decode())
    return _PEM[0]


if __name__ == "__main__":
    main()
