"""Wrong settings of telemetry, and packages that are missing: one line, exit code 2, and no run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fakes.rundry import Home

from rundry.agent.protocol import GatePolicy
from rundry.agent.run.start.variables_of_run import commands_env

RUN = ["look", "--headless", "--model", "fake", "--api-base", "http://127.0.0.1:9/v1"]
WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
from rundry.tui.cli.root import main
sys.argv[1:] = {argv!r}
main()
"""
UNUSED = """
import sys
from rundry.tui.cli.root import main
sys.argv[1:] = {argv!r}
try:
    main()
finally:
    print(*(name for name in sys.modules if name.partition(".")[0] in ("opentelemetry", "google", "requests")))
"""


def python(home: Home, code: str, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code.format(argv=list(argv))]
    return subprocess.run(
        command, cwd=home.root, env={**home.env, **env}, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("address", ["collector:4318", "grpc://127.0.0.1:4317", "http://", "http://127.0.0.1:port"])
def test_an_address_that_is_not_one_of_a_collector_is_refused_with_its_origin(home: Home, address: str):
    ran = home.run(*RUN, cwd=home.root, env={"OTEL_EXPORTER_OTLP_ENDPOINT": address})
    assert (ran.exit_code, ran.stderr.count("\n")) == (2, 1), ran
    assert "OTEL_EXPORTER_OTLP_ENDPOINT is not the address of a collector" in ran.stderr
    assert home.journals() == []
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text(f'[otel]\nendpoint = "{address}"\n')
    ran = home.run(*RUN, cwd=home.root)
    assert (ran.exit_code, "is not the address of a collector" in ran.stderr) == (2, True), ran


@pytest.mark.parametrize("key", ['endpoint = "http://127.0.0.1:4318"', "content = true"])
def test_a_project_can_neither_name_a_collector_nor_ask_for_content(home: Home, tmp_path: Path, key: str):
    project = tmp_path / "project"
    project.mkdir()
    (project / ".rundry.toml").write_text(f"[otel]\n{key}\n")
    ran = home.run(*RUN, "--trust", cwd=project)
    assert (ran.exit_code, ran.stderr.count("\n")) == (2, 1), ran
    assert f"otel.{key.partition(' ')[0]} is for the user's own config, not a project's" in ran.stderr
    assert home.journals() == []


def test_an_address_with_a_password_is_refused_without_showing_it(home: Home):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text('[otel]\nendpoint = "https://me:hidden-words@example.org"\n')
    ran = home.run(*RUN, cwd=home.root)
    assert (ran.exit_code, "OTEL_EXPORTER_OTLP_HEADERS" in ran.stderr) == (2, True), ran
    assert "hidden-words" not in ran.stderr


def test_without_the_packages_what_asks_for_them_is_refused_with_how_to_install_them(home: Home):
    done = python(home, WITHOUT, *RUN, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4318")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert (
        "OTEL_EXPORTER_OTLP_ENDPOINT is set: OpenTelemetry is not installed; install its packages with: " in done.stderr
    )
    assert home.journals() == []
    assert home.run("demo", "--headless", "--gate", "auto", cwd=home.root, env={"RUNDRY_DEMO_PACE": "0"}).exit_code == 0
    done = python(home, WITHOUT, "export", "--format", "otlp", home.journals()[0].stem)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "--format otlp: OpenTelemetry is not installed; install its packages with: " in done.stderr


@pytest.mark.parametrize(
    "more", [{}, {"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}], ids=["unset", "disabled", "none"]
)
def test_a_run_without_telemetry_imports_nothing_of_it(home: Home, more: dict[str, str]):
    env = {**more, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"} if more else {}
    done = python(home, UNUSED, "demo", "--headless", "--gate", "auto", RUNDRY_DEMO_PACE="0", **env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "", done.stdout


def test_commands_of_a_run_do_not_get_the_headers_of_the_collector():
    env = {
        "OTEL_EXPORTER_OTLP_HEADERS": "api-key=abc",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
        "LANG": "C",
    }
    passed = commands_env(env, GatePolicy())
    assert passed["LANG"] == "C" and not any(name.startswith("OTEL") for name in passed)
