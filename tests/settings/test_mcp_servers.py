"""The tables `[mcp.servers.NAME]`, from the user's config and from a trusted project."""

from __future__ import annotations

import pytest
from settings.setting_places import Place

from rundry.agent.protocol import ConfigError, McpServer, ModelSpec, RunSpec, UserError
from rundry.agent.settings.spec_of_settings import to_spec

TIME = '[mcp.servers.time]\ncommand = "mcp-server-time"\n'


def spec_of(place: Place) -> RunSpec:
    model = ModelSpec(name="openai/x")
    return to_spec(place.load(), task="x", run_id="r1", workspace=place.workspace, model=model, headless=True)


def test_servers_of_the_user_and_of_a_trusted_project_are_joined(place: Place):
    place.user(TIME + 'args = ["--utc"]\nenv = ["TZ", "LEVEL=debug"]\ntimeout = "2m"\n')
    place.project('[mcp.servers.docs]\nurl = "https://example.org/mcp"\nheaders = {Authorization = "Bearer ${DOCS}"}\n')
    assert spec_of(place).mcp == [
        McpServer(name="time", command="mcp-server-time", args=["--utc"], env=["TZ", "LEVEL=debug"], timeout=120.0),
        McpServer(name="docs", url="https://example.org/mcp", headers={"Authorization": "Bearer ${DOCS}"}),
    ]


def test_servers_of_a_project_that_is_not_trusted_do_not_exist(place: Place):
    place.project(TIME, trusted=False)
    assert spec_of(place).mcp == []


def test_a_server_that_is_not_enabled_is_left_out(place: Place):
    place.user(TIME + "enabled = false\n")
    assert spec_of(place).mcp == []


def test_a_project_cannot_replace_a_server_of_the_user(place: Place):
    place.user(TIME)
    place.project('[mcp.servers.time]\ncommand = "other"\n')
    with pytest.raises(UserError, match=r"\[mcp.servers.time\] is in the user's and in the project's config"):
        spec_of(place)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ('command = "x"\nurl = "https://example.org"', "write exactly one"),
        ('args = ["x"]', "write exactly one"),
        ('url = "http://example.org/mcp"', "is not encrypted"),
        ('url = "https://me:secret@example.org/mcp"', "a user name or a password"),
        ('url = "file:///etc/passwd"', "is not a URL"),
        ('url = "https://example.org"\nheaders = {Authorization = "Bearer abc"}', "holds a secret"),
        ('url = "https://example.org"\nnetwork = true', "cannot have network"),
        ('command = "x"\nenv = ["API_KEY=abc"]', "holds a secret"),
        ('command = "x"\nenv = ["*"]', "is not a variable"),
        ('command = "x"\ntimeout = 0', "is not a time limit"),
        ('command = "x"\ncomand = "x"', "unknown key 'comand'"),
        ('command = "x"\nnetwork = "yes"', "neither true nor false"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place_and_the_fix(place: Place, table: str, why: str):
    place.user(f"[mcp.servers.x]\n{table}\n")
    with pytest.raises(ConfigError, match=r"mcp\.servers: x: ") as refused:
        place.load()
    assert why in str(refused.value)


@pytest.mark.parametrize("name", ["a__b", "a_", "1x", '"a b"', "x" * 41])
def test_a_name_that_a_provider_would_not_accept_is_refused(place: Place, name: str):
    place.user(f'[mcp.servers.{name}]\ncommand = "x"\n')
    with pytest.raises(ConfigError, match="is not a name of a server"):
        place.load()


def test_a_server_on_this_machine_needs_no_encryption(place: Place):
    place.user('[mcp.servers.x]\nurl = "http://127.0.0.1:8931/mcp"\n')
    assert spec_of(place).mcp[0].url == "http://127.0.0.1:8931/mcp"
