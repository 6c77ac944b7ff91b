"""Runs of the installed command at servers that refuse a part of each request."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fakes.project import CHECK
from fakes.providers.wires import WIRES, Said
from fakes.rundry import Home

Body = dict[str, Any]
CHAT = WIRES["chat"]
FINISHED = Said(calls=[("call1", '{"answer": "hello", "citations": ["NOTES.md"]}')], finish="tool_calls")
READ = CHAT.body(Said(calls=[("call0", '{"path": "NOTES.md"}')], finish="tool_calls"))
ANSWER = [READ, CHAT.body(FINISHED).replace(b"read_file", b"finish")]


def constrained(find: str, replace: str) -> bytes:
    return CHAT.body(Said(texts=[json.dumps({"find": find, "replace": replace, "done": False})]))


@contextmanager
def strict(answers: list[bytes], *refused: tuple[str, Any]) -> Iterator[tuple[str, list[Body]]]:
    """Serves these answers in turn. Gives the address and the requests. `refused`: fields, and what refuses each."""
    bodies: list[Body] = []
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self._send(200, b'{"object": "list", "data": [{"id": "fake"}]}', "application/json")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self.path.endswith("/chat/completions"):
                self._send(404, b"", "text/plain")
                return
            bodies.append(body)
            for name, refusal in refused:
                if (found := refusal(body)) is not None:
                    self._send(found[0], json.dumps(found[1]).encode(), "application/json")
                    return
                assert name
            self._send(200, left.pop(0) if len(left) > 1 else left[0], CHAT.content_type)

        def _send(self, status: int, data: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", bodies
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def without(name: str) -> tuple[str, Any]:
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    error = {"message": message, "type": "invalid_request_error", "param": name, "code": "unsupported_parameter"}
    return name, lambda body: (400, {"error": error}) if name in body else None


def llama_cpp_python(body: Body) -> tuple[int, object] | None:
    """Refuse a JSON Schema as the server of llama-cpp-python does."""
    kind = body.get("response_format", {}).get("type", "text")
    if kind in ("text", "json_object"):
        return None
    loc = ["body", "response_format", "type"]
    return 422, {"detail": [{"type": "literal_error", "loc": loc, "msg": "Input should be 'text' or 'json_object'"}]}


def test_a_constrained_run_at_a_server_without_schemas_ends_as_done(home: Home, project: Path):
    answers = [constrained("return a - b", "return a + b"), constrained("(len(values) + 1)", "len(values)")]
    with strict(answers, ("response_format", llama_cpp_python)) as (base, bodies):
        argv = ["run", "make the tests pass", "--headless", "--json", "--gate", "edits", "--until", CHECK]
        argv += ["--edit-format", "constrained", "--model", "fake", "--api-base", base]
        ran = home.run(*argv, cwd=project)
        assert ran.outcome["reason"] == "done", ran.story()
        assert [body["response_format"]["type"] for body in bodies] == ["json_schema", "json_object", "json_object"]
        (fault,) = ran.of("fault")
        assert fault["text"].startswith("asked again with response_format json_object: ")
        assert fault["retry_in"] == 0
        again = home.run(*argv, cwd=project)
    assert again.of("fault") == []


@pytest.mark.parametrize(
    "names",
    [
        ["stream_options"],
        ["max_tokens"],
        ["max_tokens", "max_completion_tokens"],
        ["reasoning_effort"],
    ],
)
def test_a_run_at_a_server_that_refuses_a_field_is_answered(home: Home, project: Path, names: list[str]):
    with strict(ANSWER, *map(without, names)) as (base, bodies):
        argv = ["run", "say hello", "--headless", "--json", "--model", "fake", "--api-base", base, "--effort", "high"]
        ran = home.run(*argv, cwd=project)
    assert ran.exit_code == 0, str(ran)
    assert ran.outcome["reason"] == "answered", ran.story()
    assert not set(names) & bodies[-1].keys()
    assert len(ran.of("fault")) == len([n for n in names if n in bodies[0] or n == "max_completion_tokens"])


def test_without_a_limit_of_the_answer_a_budget_admits_only_the_worst_case(home: Home, project: Path):
    refused = [without("max_tokens"), without("max_completion_tokens")]
    with strict(ANSWER, *refused) as (base, bodies):
        argv = ["run", "say hello", "--headless", "--json", "--model", "fake", "--api-base", base, "--context", "20000"]
        ran = home.run(*argv, "--tokens", "15000", cwd=project)
        assert (ran.outcome["reason"], len(bodies)) == ("budget", 2), ran.story()
        assert "the server accepts no limit of the answer" in ran.outcome["detail"]
        ran = home.run(*argv, "--tokens", "60000", cwd=project)
        assert ran.outcome["reason"] == "answered", ran.story()
        assert ran.of("call_admitted")[-1]["worst_tokens"] <= 60_000
    assert len(bodies) == 2 + 4  # the first run had no answer, so nothing was remembered


def test_an_edit_format_with_short_answers_does_not_lower_the_worst_case_without_a_limit(home: Home, project: Path):
    refused = [without("max_tokens"), without("max_completion_tokens")]
    with strict([constrained("return a - b", "return a + b")], *refused) as (base, bodies):
        argv = ["run", "make the tests pass", "--headless", "--json", "--gate", "edits", "--until", CHECK]
        argv += ["--edit-format", "constrained", "--model", "fake", "--api-base", base, "--context", "20000"]
        ran = home.run(*argv, "--tokens", "15000", cwd=project)
    assert (ran.outcome["reason"], len(bodies)) == ("budget", 2), ran.story()


def test_a_parameter_in_the_users_config_ends_the_call_with_the_way_to_remove_it(home: Home, project: Path):
    home.config_file.parent.mkdir(parents=True, exist_ok=True)
    home.config_file.write_text("[model]\nparams = { top_k = 7 }\n")
    with strict(ANSWER, without("top_k")) as (base, bodies):
        ran = home.run("-p", "say hello", "--model", "fake", "--api-base", base, cwd=project)
    assert ran.exit_code != 0
    assert "you set top_k yourself: remove it from `params` in [model]" in ran.stderr
    assert {body["top_k"] for body in bodies} == {7}
