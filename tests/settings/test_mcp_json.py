"""MCP servers as READMEs and other clients write them: the user's `mcp.json` and a project's `.mcp.json`."""

from __future__ import annotations

import json

import pytest
from settings.setting_places import Place

from rundry.agent.protocol import McpServer, UserError
from rundry.agent.protocol.tools.mcp import is_server_name, offered_name, server_of, usable_server_name
from rundry.agent.settings.mcp_json import JsonServer, read_json_servers
from rundry.agent.settings.settings import own_servers_file
from rundry.agent.settings.trust import Trust

MEMORY = {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}
READ = McpServer(name="memory", command="npx", args=["-y", "@modelcontextprotocol/server-memory"], expands=True)


def write_project(place: Place, servers: object, *, trusted: bool = True) -> None:
    (place.workspace / ".mcp.json").write_text(servers if isinstance(servers, str) else json.dumps(servers))
    if trusted:
        Trust(env=place.env).trust(place.workspace)


def write_own(place: Place, servers: object) -> None:
    path = own_servers_file(place.env)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(servers))


def only(text: str) -> JsonServer:
    (found,) = read_json_servers(text)
    assert isinstance(found, JsonServer), found
    return found


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"mcpServers": {"memory": MEMORY}}),
        json.dumps({"servers": {"memory": {"type": "stdio", **MEMORY}}, "inputs": []}),
        json.dumps({"mcp": {"servers": {"memory": MEMORY}}}),
        json.dumps({"memory": MEMORY}),
        f'"mcpServers": {{"memory": {json.dumps(MEMORY)}}}',
        f'```json\n{{\n // a comment\n "mcpServers": {{"memory": {json.dumps(MEMORY)},}},\n}}\n```',
        json.dumps({"mcpServers": {"memory": {**MEMORY, "disabled": False, "alwaysAllow": [], "tools": ["*"]}}}),
        json.dumps({"mcp": {"servers": {"memory": {"command": ["npx", *MEMORY["args"]]}}}}),
    ],
)
def test_each_form_of_readmes_is_the_same_server(text: str):
    assert only(text).server == READ


def test_an_address_with_type_headers_and_a_default_is_read():
    row = {"type": "http", "url": "${BASE:-https://api.example.com}/mcp", "headers": {"X-Team": "${env:TEAM}"}}
    server = only(json.dumps({"mcpServers": {"docs": row}})).server
    assert server is not None
    assert (server.url, server.headers) == ("${BASE:-https://api.example.com}/mcp", {"X-Team": "${TEAM}"})


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"type": "sse", "url": "https://example.com/sse"}, "the transport sse is not supported"),
        ({"url": "http://example.com/mcp"}, "is not encrypted"),
        ({"command": "a", "url": "https://b"}, "exactly one"),
        ({"command": "a", "envFile": ".env"}, "envFile is not read"),
        ({}, "exactly one"),
        ("npx", "it is not a table"),
    ],
)
def test_a_server_that_cannot_be_used_is_named_with_the_reason(row: object, why: str):
    (said,) = read_json_servers(json.dumps({"mcpServers": {"x": row}}))
    assert isinstance(said, str)
    assert said.startswith("'x': ")
    assert why in said


@pytest.mark.parametrize("text", ["", "[]", "{", "{}", '{"mcpServers": 1}', '{"command": "x"}', "[" * 100_000])
def test_a_text_without_servers_is_refused_with_the_reason(text: str):
    with pytest.raises(UserError):
        read_json_servers(text)


@pytest.mark.parametrize(
    ("row", "variables"),
    [
        ({"command": "a", "env": {"GITHUB_TOKEN": "ghp_0123"}}, {"GITHUB_TOKEN": "ghp_0123"}),
        ({"command": "a", "args": ["--api-key", "k-1"]}, {"API_KEY": "k-1"}),
        ({"command": "a", "args": ["--token=k-1"]}, {"TOKEN": "k-1"}),
        ({"command": "a", "args": ["postgresql://u:pw@localhost/db"]}, {"URL": "postgresql://u:pw@localhost/db"}),
        ({"url": "https://a.b/mcp", "headers": {"Authorization": "Bearer k-1"}}, {"AUTHORIZATION": "Bearer k-1"}),
        ({"command": "a", "env": {"A_TOKEN": "${A_TOKEN:-k-1}"}}, {"A_TOKEN": "${A_TOKEN:-k-1}"}),
    ],
)
def test_a_secret_is_replaced_by_a_variable_and_never_part_of_the_server(row: object, variables: dict[str, str]):
    found = only(json.dumps({"mcpServers": {"x": row}}))
    assert found.secrets == variables
    assert not any(secret in repr(found.server) for secret in variables.values())


@pytest.mark.parametrize("value", ["<YOUR_TOKEN>", "your-api-key", "YOUR_API_KEY", "Bearer YOUR_API_KEY", "ghp_..."])
def test_a_placeholder_is_not_a_secret_but_a_variable_to_set(value: str):
    found = only(json.dumps({"mcpServers": {"x": {"command": "a", "env": {"A_TOKEN": value}}}}))
    assert (found.secrets, found.unset) == ({}, ["A_TOKEN"])


@pytest.mark.parametrize("name", ["my_server", "a" * 40, "x", "A-b_c"])
def test_a_name_that_fits_is_kept(name: str):
    assert usable_server_name(name) == name


@pytest.mark.parametrize("name", ["a__b", "a_", "_a", "9lives", "@scope/server", "io.github.x/y", "a" * 41, "Ü", ""])
def test_another_name_becomes_one_that_fits_and_is_shown(name: str):
    made = usable_server_name(name)
    assert is_server_name(made)
    found = only(json.dumps({"mcpServers": {name: MEMORY}}))
    assert found.name == made
    assert any(made in note for note in found.notes)


def test_long_names_of_servers_and_tools_stay_different_and_short():
    names = [offered_name(server, tool) for server in ("a" * 40, "a" * 39 + "b") for tool in ("t" * 90, "t" * 91, "x")]
    assert len({*names}) == 6
    assert all(len(name) <= 64 for name in names)
    assert {server_of(name) for name in names} == {"a" * 40, "a" * 39 + "b"}


def test_a_projects_servers_are_used_after_trust_and_not_when_the_file_changed(place: Place):
    write_project(place, {"mcpServers": {"memory": MEMORY}}, trusted=False)
    untrusted = place.load()
    assert untrusted.mcp == []
    assert [note for note in untrusted.notes if ".mcp.json" in note] == [
        "ignored .mcp.json: this folder is not trusted yet (--trust: for this call, /trust: from now on)"
    ]
    assert place.load(trust=True).mcp == [READ]
    Trust(env=place.env).trust(place.workspace)
    assert place.load().mcp == [READ]
    write_project(place, {"mcpServers": {"memory": {"command": "evil"}}}, trusted=False)
    assert place.load().mcp == []


def test_both_files_that_are_not_trusted_are_one_line(place: Place):
    place.project("steps = 3\n", trusted=False)
    write_project(place, {"mcpServers": {"memory": MEMORY}}, trusted=False)
    assert len(place.load().notes) == 1
    assert place.load().notes[0].startswith("ignored .rundry.toml and .mcp.json: ")


def test_the_first_file_that_names_a_server_wins_and_notes_name_the_others(place: Place):
    place.user('[mcp.servers.memory]\ncommand = "toml"\n')
    write_own(place, {"mcpServers": {"memory": MEMORY, "docs": {"command": "own"}}})
    write_project(place, {"mcpServers": {"docs": {"command": "project"}, "third": {"command": "third"}}})
    settings = place.load()
    assert [(one.name, one.command) for one in settings.mcp] == [
        ("memory", "toml"),
        ("docs", "own"),
        ("third", "third"),
    ]
    assert [note for note in settings.notes if "another server has this name" in note] == [
        "not used of your mcp.json: memory, because another server has this name",
        "not used of .mcp.json: docs, because another server has this name",
    ]


@pytest.mark.parametrize("text", ["{", "\xff", '{"mcpServers": {"x": {"command": "a", "env": {"A_KEY": "k"}}}}'])
def test_what_cannot_be_used_of_a_found_file_is_a_line_and_no_error(place: Place, text: str):
    (place.workspace / ".mcp.json").write_bytes(text.encode("latin-1"))
    settings = place.load(trust=True)
    assert settings.mcp == []
    assert [note for note in settings.notes if note.startswith("not used of .mcp.json: ")] != []


@pytest.mark.parametrize("trusted", [False, True])
def test_a_broken_file_is_named_with_line_and_column_also_before_trust(place: Place, trusted: bool):
    write_project(
        place, '{\n  // a comment\n  /* and\n  another */ "mcpServers": {\n    "x" 1\n  }\n}', trusted=trusted
    )
    (said,) = [note for note in place.load().notes if "it is not JSON" in note]
    assert said.endswith("Expecting ':' delimiter in line 5, column 9")
    assert said.startswith("not used of .mcp.json: " if trusted else ".mcp.json cannot be used: ")
