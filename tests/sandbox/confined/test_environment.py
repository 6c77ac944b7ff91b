import os

import pytest

from rundry.agent.host.processes.processes import run_process
from rundry.agent.sandbox.command_environment import command_env, omitted_variables

SECRETS = {
    "GITHUB_TOKEN": "abc",
    "NPM_TOKEN": "abc",
    "DATABASE_URL": "postgres://me:pw@db/x",
    "PGPASSWORD": "pw",
    "MYSQL_PWD": "pw",
    "STRIPE_SECRET": "abc",
    "SENTRY_AUTH_TOKEN": "abc",
    "UV_PUBLISH_PASSWORD": "pw",
    "CARGO_REGISTRIES_OURS_TOKEN": "abc",
    "SSH_AUTH_SOCK": "/run/agent",
    "DOCKER_HOST": "unix:///x/docker.sock",
    "KUBECONFIG": "/k",
    "COMPANY_SPECIFIC": "1",
}


async def test_a_command_gets_what_its_tools_need_and_nothing_that_nobody_listed(tmp_path):
    needed = {
        "VIRTUAL_ENV": "/v",
        "LC_ALL": "C.UTF-8",
        "GOPATH": "/go",
        "CFLAGS": "-O2",
        "HTTPS_PROXY": "http://p:3128",
    }
    env = command_env({"PATH": os.environ["PATH"], "HOME": "/h", **needed, **SECRETS})
    done = await run_process("env", cwd=tmp_path, env=env, timeout=10)
    seen = dict(line.split("=", 1) for line in done.output.decode().splitlines())
    assert needed.items() <= seen.items() and SECRETS.keys().isdisjoint(seen)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MYAPP_TOKEN", "abc"),
        ("MYAPP_DB_PASSWORD", "abc"),
        ("MYAPP_CREDENTIALS_FILE", "/x"),
        ("MYAPP_SIGNING_KEY", "abc"),
        ("MYAPP_AUTH", "abc"),
        ("MYAPP_DB", "mysql://me:pw@host/db"),
        ("MYAPP_INDEX", "https://ghp_0123456789@host/api"),
        ("MYAPP_VALUE", "sk-proj-0123456789abcdefgh"),
        ("MYAPP_HEADER", "Authorization: Bearer 0123456789abcdef"),
        ("MYAPP_COPY", "x-provider-key-0123456789"),
        ("HTTPS_PROXY", "http://me:pw@proxy:3128"),
    ],
)
def test_a_pattern_never_passes_a_secret(name, value):
    env = {name: value, "OPENAI_API_KEY": "provider-key-0123456789", "MYAPP_MODE": "fast"}
    given = command_env(env, more=["MYAPP_*", "*"])
    assert name not in given and given["MYAPP_MODE"] == "fast"


def test_a_name_that_is_spelled_out_passes_but_never_a_provider_key():
    env = {"GITHUB_TOKEN": "abc", "OPENAI_API_KEY": "provider-key-0123456789", "COPY": "provider-key-0123456789"}
    given = command_env(
        env | {"OURS": "key"}, more=["GITHUB_TOKEN", "OPENAI_API_KEY", "COPY", "OURS"], provider_key_names=["OURS"]
    )
    assert given["GITHUB_TOKEN"] == "abc" and {"OPENAI_API_KEY", "COPY", "OURS"}.isdisjoint(given)


def test_a_url_with_an_account_that_is_not_a_secret_passes():
    assert command_env({"GOPROXY": "https://proxy.golang.org,direct"})["GOPROXY"]
    assert command_env({"PIP_FIND_LINKS": "ssh://git@host/x"})["PIP_FIND_LINKS"]


def test_what_was_left_out_is_listed_by_name():
    env = {"HOME": "/h", "MYAPP_MODE": "fast", "PGPASSWORD": "pw", "OPENAI_API_KEY": "k" * 20, "TMUX": "x", "CI": "1"}
    assert omitted_variables(env) == ["MYAPP_MODE", "PGPASSWORD"]
    assert omitted_variables(env, more=["MYAPP_*"]) == ["PGPASSWORD"]
