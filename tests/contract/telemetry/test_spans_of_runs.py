"""Spans that a collector receives of real runs, read by the types of `opentelemetry-proto`."""

from __future__ import annotations

import json
import signal
import time
from base64 import b64encode
from pathlib import Path

import pytest
from fakes.nested.fixing import fixes, make_search
from fakes.project import CHECK, FIX_ADD, FIX_MEAN, make_project
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import HttpError, Turn, call, edit
from fakes.web.collector import Collector, attributes, failed, spans_in
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from rundry.agent.journal.journal import Journal

GOAL = ["make the suite green", "--until", CHECK, "--headless", "--json", "--gate", "auto"]
KEY = "sk-ant-canary-0123456789abcdefghij"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a-secret-folder"
    folder.mkdir()
    return make_project(folder)


def at(server: ScriptedServer) -> list[str]:
    return ["--model", "fake", "--api-base", server.base_url]


def one(collector: Collector, name: str) -> Span:
    (span,) = collector.named(name)
    return span


def test_a_run_is_one_tree_of_spans_with_the_times_and_sums_of_its_events_and_without_content(
    home: Home, project: Path
):
    env = {"OTEL_EXPORTER_OTLP_HEADERS": "x-token=abc"}
    with Collector() as collector, ScriptedServer([FIX_ADD, FIX_MEAN]) as server:
        env |= {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        ran = home.run(*GOAL, *at(server), "--usd", "1", "--price", "1/2", cwd=project, env=env)
    assert ran.exit_code == 0, ran
    assert set(collector.paths) == {"/v1/traces", "/v1/metrics"} and {
        each["x-token"] for each in collector.headers
    } == {"abc"}
    run = one(collector, "invoke_agent rundry")
    steps, calls, tools = (collector.named(name) for name in ("step ", "chat fake", "execute_tool edit_file"))
    assert len(steps) == len(calls) == len(tools) == 2 and len(collector.spans) == 7
    assert not run.parent_span_id and {span.trace_id for span in collector.spans} == {run.trace_id}
    assert {span.parent_span_id for span in steps} == {run.span_id}
    assert {span.parent_span_id for span in calls} == {span.parent_span_id for span in tools}
    assert {span.parent_span_id for span in calls} == {span.span_id for span in steps}
    assert not any(failed(span) for span in collector.spans)

    told = attributes(run)
    assert (told["gen_ai.operation.name"], told["gen_ai.provider.name"]) == ("invoke_agent", "openai")
    assert (told["rundry.budget.usd"], told["rundry.budget.steps"]) == (1.0, 40)
    assert (told["rundry.reason"], told["rundry.exit_code"]) == ("done", 0)
    assert told["gen_ai.conversation.id"] == ran.of("run_started")[0]["run_id"]
    assert [attributes(span)["gen_ai.usage.input_tokens"] for span in calls] == [
        event["tokens_in"] for event in ran.of("charged")
    ]
    assert sum(attributes(span)["gen_ai.usage.output_tokens"] for span in calls) == ran.outcome["tokens"]["out"]
    assert sum(attributes(span)["rundry.usd"] for span in calls) == pytest.approx(ran.outcome["usd"])
    assert attributes(calls[0])["gen_ai.response.finish_reasons"] == ["tool_calls"]
    assert attributes(tools[0])["rundry.gate.by"] == "policy"
    assert run.start_time_unix_nano == round(ran.of("run_started")[0]["at"] * 1e9)
    assert run.end_time_unix_nano == round(ran.outcome["at"] * 1e9)
    assert [span.start_time_unix_nano for span in calls] == [
        round(event["at"] * 1e9) for event in ran.of("call_admitted")
    ]
    sent = b"".join(collector.bodies)
    assert not any(word in sent for word in (b"suite green", b"calc", b"a-secret-folder", b"return a"))


def test_content_is_sent_if_the_user_asks_for_it_and_without_keys(home: Home, project: Path):
    turns = [Turn(text="I read it first.", calls=call("read_file", path="calc/core.py").calls), FIX_ADD, FIX_MEAN]
    (project / "calc/core.py").write_text((project / "calc/core.py").read_text() + f"# {KEY}\n")
    with Collector() as collector, ScriptedServer(turns) as server:
        home.config_file.parent.mkdir(parents=True)
        home.config_file.write_text(f'[otel]\nendpoint = "{collector.url}"\n')
        ran = home.run(*GOAL, *at(server), "--otel-content", cwd=project, env={"OPENAI_API_KEY": KEY})
    assert ran.exit_code == 0, ran
    run = attributes(one(collector, "invoke_agent"))
    assert json.loads(run["gen_ai.input.messages"])[0]["parts"][0]["content"] == "make the suite green"
    call_ = attributes(collector.named("chat")[0])
    assert json.loads(call_["gen_ai.output.messages"])[0]["parts"][0]["content"] == "I read it first."
    prompts = [json.loads(attributes(span)["gen_ai.input.messages"]) for span in collector.named("chat")]
    assert [one["role"] for one in prompts[1]][-2:] == ["assistant", "tool"]
    assert "def mean" in prompts[1][-1]["parts"][0]["response"]
    assert "gen_ai.system_instructions" in call_
    read = attributes(one(collector, "execute_tool read_file"))
    assert json.loads(read["gen_ai.tool.call.arguments"]) == {"path": "calc/core.py"}
    assert "def mean" in read["gen_ai.tool.call.result"]
    assert KEY.encode() not in b"".join(collector.bodies)


@pytest.mark.long
def test_metrics_have_the_names_units_and_buckets_of_the_conventions_and_the_sums_of_the_run(home: Home, project: Path):
    failing, unknown = Turn(error=HttpError(500, "no")), Turn(text="I look.", calls=call("no_such_tool").calls)
    with Collector() as collector, ScriptedServer([failing, unknown, FIX_ADD, FIX_MEAN]) as server:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        ran = home.run(*GOAL, *at(server), "--otel-content", cwd=project, env=env)
    assert ran.exit_code == 0, ran
    found = collector.metrics
    tokens, seconds = found["gen_ai.client.token.usage"], found["gen_ai.client.operation.duration"]
    assert (tokens.unit, seconds.unit) == ("{token}", "s")
    by_type = {attributes(point)["gen_ai.token.type"]: point for point in tokens.histogram.data_points}
    assert {kind: point.sum for kind, point in by_type.items()} == {
        "input": ran.outcome["tokens"]["in"],
        "output": ran.outcome["tokens"]["out"],
    }
    assert by_type["input"].explicit_bounds == [4**power for power in range(14)]
    assert attributes(by_type["input"]) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "fake",
        "gen_ai.token.type": "input",
    }
    points = {attributes(point).get("error.type"): point for point in seconds.histogram.data_points}
    assert {error: point.count for error, point in points.items()} == {None: 3, "server": 1}
    assert list(points[None].explicit_bounds) == pytest.approx([0.01 * 2**power for power in range(14)])
    spans = [span for span in collector.named("chat") if not failed(span)]
    took = sum(span.end_time_unix_nano - span.start_time_unix_nano for span in spans) / 1e9
    assert points[None].sum == pytest.approx(took, abs=1e-3)
    tools = {
        attributes(p)["gen_ai.tool.name"]: p.count for p in found["gen_ai.execute_tool.duration"].histogram.data_points
    }
    assert tools == {"edit_file": 2, "_OTHER": 1}, "a name that a model made up would make a series of its own"
    (run,) = found["gen_ai.invoke_agent.duration"].histogram.data_points
    assert run.count == 1 and run.sum == pytest.approx(ran.outcome["at"] - ran.of("run_started")[0]["at"], abs=1e-3)
    assert found["gen_ai.client.operation.time_to_first_chunk"].histogram.data_points[0].count == 1
    (resource,) = collector.metric_requests[-1].resource_metrics
    named = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert named["service.name"] == "rundry" and named["service.instance.id"]
    assert b"suite green" not in b"".join(request.SerializeToString() for request in collector.metric_requests)


@pytest.mark.long
def test_a_backend_without_metrics_is_not_reported_and_one_that_refuses_them_is(home: Home, project: Path):
    for status, is_reported in ((405, False), (403, True)):
        with Collector(of_metrics=status) as collector, ScriptedServer([FIX_ADD, FIX_MEAN]) as server:
            env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
            ran = home.run("look at it", *at(server), "--headless", "--json", "--steps", "2", cwd=project, env=env)
        assert collector.metric_requests and collector.spans, ran
        told = str(ran.of("telemetry_failed")) + ran.stderr
        assert (f"status {status}" in told) == is_reported, ran


@pytest.mark.parametrize("collector_is", ["absent", "in trouble", "hanging"])
def test_a_collector_that_does_not_answer_delays_no_run_and_is_reported_once(
    home: Home, project: Path, collector_is: str
):
    slow = Turn(text="I look.", calls=call("read_file", path="calc/core.py").calls, delay=1.5)
    with (
        Collector(500, hangs=collector_is == "hanging") as collector,
        ScriptedServer([call("read_file", path="calc/core.py"), slow, FIX_ADD, FIX_MEAN]) as server,
    ):
        url = "http://127.0.0.1:9" if collector_is == "absent" else collector.url
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": url,
            "OTEL_EXPORTER_OTLP_TIMEOUT": "60" if "hang" in collector_is else "1",
        }
        ran = home.run(*GOAL, *at(server), cwd=project, env=env)
        ended = time.time()
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran
    assert ended - ran.outcome["at"] < 4
    assert ran.outcome["seconds"] < 8
    assert (collector_is == "absent") == (not collector.bodies)
    reports = [event["why"] for event in ran.of("telemetry_failed")]
    assert len(reports) + ran.stderr.count("no telemetry reaches") == 1, ran
    assert "Traceback" not in ran.stderr and "Failed to export" not in ran.stderr


def test_a_call_and_a_tool_that_fail_have_the_status_of_an_error(home: Home, project: Path):
    turns = [call("read_file", path="calc/nothing.py"), Turn(error=HttpError(401, "the key is wrong: my-own-words"))]
    with Collector() as collector, ScriptedServer(turns) as server:
        env = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.url}/in/here"}
        ran = home.run(*GOAL, *at(server), cwd=project, env=env)
    assert ran.outcome["reason"] == "error", ran
    assert set(collector.paths) == {"/in/here"}
    good, bad = collector.named("chat")
    assert not failed(good) and failed(bad) and attributes(bad)["error.type"] == "auth"
    tool, run = one(collector, "execute_tool read_file"), one(collector, "invoke_agent")
    assert failed(tool) and attributes(tool)["error.type"] == "tool_error"
    assert failed(run) and (attributes(run)["rundry.reason"], attributes(run)["rundry.exit_code"]) == ("error", 1)
    assert b"my-own-words" not in b"".join(collector.bodies)


def test_a_run_that_was_killed_and_resumed_continues_its_trace_with_a_link(home: Home, project: Path):
    with Collector() as collector, ScriptedServer([FIX_ADD, Turn(tokens=200, hold_after=3)], then=FIX_MEAN) as server:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        with home.start(*GOAL, *at(server), cwd=project, env=env) as running:
            run_id = running.wait_event("run_started")["run_id"]
            running.wait_event("call_admitted")
            running.wait_event("call_admitted")
            collector.wait_for("step 1")
            running.signal(signal.SIGKILL)
            running.finish()
        ran = home.run("resume", run_id, "--headless", "--json", "--from", "0", cwd=project, env=env)
    assert ran.exit_code == 0, ran
    first, second = collector.named("invoke_agent")
    assert (first.trace_id, second.links[0].span_id) == (second.trace_id, first.span_id)
    assert failed(first) and attributes(first)["error.type"] == "interrupted" and not failed(second)
    assert len({span.span_id for span in collector.spans}) == len(collector.spans), "a span was sent twice"
    assert {attributes(span)["rundry.step"] for span in collector.named("step")} == {1, 2, 3} or len(
        collector.named("step")
    ) == 2
    exported = home.run("export", run_id, "--format", "otlp", cwd=project)
    assert {span.span_id for span in read(exported.stdout)} == {span.span_id for span in collector.spans}


def read(text: str) -> list[Span]:
    """Parse OTLP in JSON, in which ids are hexadecimal and not in base64 as protobuf's parser wants them."""

    def in_base64(value: object) -> object:
        if isinstance(value, dict):
            return {
                key: b64encode(bytes.fromhex(each)).decode() if key in IDS else in_base64(each)
                for key, each in value.items()
            }
        return [in_base64(each) for each in value] if isinstance(value, list) else value

    requests = [in_base64(json.loads(line)) for line in text.splitlines()]
    return spans_in(*(ParseDict(request, ExportTraceServiceRequest()) for request in requests))


IDS = ("traceId", "spanId", "parentSpanId")


def test_child_runs_are_in_the_trace_of_their_parent_below_its_span(home: Home, tmp_path: Path):
    folder, names = tmp_path / "project", ["a.txt", "b.txt"]
    search = make_search(home, folder, names)
    with Collector() as collector, ScriptedServer(rules=fixes(names)) as server:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        argv = ["--until", "grep -q good {file}", "--gate", "auto", "--tokens", "90k", "--headless", "--json"]
        ran = home.run("fix", search, *argv, *at(server), cwd=folder, env=env)
    assert ran.exit_code == 0, ran
    runs = {attributes(span)["gen_ai.conversation.id"]: span for span in collector.named("invoke_agent")}
    parent = runs.pop(ran.of("run_started")[0]["run_id"])
    assert len(runs) == 2 and {span.parent_span_id for span in runs.values()} == {parent.span_id}
    assert {span.trace_id for span in collector.spans} == {parent.trace_id}
    child = home.run("export", next(iter(runs)), "--format", "otlp", "--runs-dir", str(home.runs), cwd=folder)
    assert {span.trace_id for span in read(child.stdout)} == {parent.trace_id}


def test_a_finished_run_is_exported_with_or_without_content(home: Home, project: Path):
    with ScriptedServer([FIX_ADD, FIX_MEAN]) as server:
        ran = home.run(*GOAL, *at(server), cwd=project)
    assert ran.exit_code == 0, ran
    plain = home.run("export", "--format", "otlp", cwd=project)
    full = home.run("export", "--format", "otlp", "--otel-content", cwd=project)
    assert {span.name for span in read(plain.stdout)} == {
        "invoke_agent rundry",
        "step 1",
        "step 2",
        "chat fake",
        "execute_tool edit_file",
    }
    assert "suite green" not in plain.stdout and "suite green" in full.stdout
    assert [span.span_id for span in read(plain.stdout)] == [span.span_id for span in read(full.stdout)]


def test_a_screen_shows_once_that_no_telemetry_arrives(home: Home, project: Path):
    turns = [call("read_file", path="calc/core.py"), edit("calc/core.py", "a - b", "a + b")]
    with Collector(500) as collector, ScriptedServer(turns) as server:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        with home.screen("make it green", "--until", CHECK, *at(server), cwd=project, env=env) as terminal:
            terminal.wait_for("y approve")
            terminal.wait_for("no telemetry reaches")
            terminal.press("y")
            terminal.wait_for("1 failing, 2 before")
    journal = Journal.open_for_reading(home.journals()[0])
    kinds = [type(stamped.event).__name__ for stamped in journal.read()]
    journal.close()
    assert kinds.count("TelemetryFailed") == 1
