"""What any test may ask for."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from sampling import SEED, is_sampled, named_as_proof, one_of_each, record, share_of

settings.register_profile("full", max_examples=100, deadline=None)  # a loaded machine is slow
settings.register_profile("quarter", max_examples=25, deadline=None)
settings.load_profile("quarter")  # `--hypothesis-profile=full` replaces it

# Without bytecode, every process that a test starts compiles everything again, and each worker of pytest the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.fixture
def home(tmp_path: Path) -> Iterator[object]:
    """The `rundry` command in an empty home: see `fakes.rundry.Home`. Runners that a test left are ended."""
    from fakes.rundry import Home

    home = Home(tmp_path)
    yield home
    home.end_runners()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Say which samples run, before the tests are collected; not in the workers of xdist."""
    if not hasattr(session.config, "workerinput"):
        session.config.get_terminal_writer().line(f"{_SAMPLES}; collecting the tests")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which samples ran."""
    terminalreporter.write_line(_SAMPLES)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long-share", type=int, default=1, help="run one in this number of the long tests")
    parser.addoption(
        "--record-seconds", action="store_true", help="write how long the tests take to tests/seconds.toml"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a run of the whole suite, mark expensive tests as long that are not in the sample of the seed (sampling.py).

    With `--long-share N`, keep one in N of the long tests, and all cases of what docs/security.md names.
    """
    proofs = named_as_proof(config.rootpath)
    asked = {(config.invocation_params.dir / arg).resolve() for arg in config.args}
    others = [item for item in items if item.nodeid.partition("[")[0] not in proofs]
    if asked == {Path(__file__).parent}:
        always = one_of_each([item for item in items if item.nodeid.partition("[")[0] in proofs])
        for item in items:
            if item not in always and not is_sampled(item, share_of(item), "short"):
                item.add_marker(pytest.mark.long)
    share = 1 / config.getoption("--long-share")
    left = {
        item for item in others if item.get_closest_marker("long") is not None and not is_sampled(item, share, "long")
    }
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=list(left))


_SAMPLES = f"samples of seed {SEED} (another: RUNDRY_SAMPLE_SEED=N)"
_seconds: defaultdict[str, list[float]] = defaultdict(list)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how long a test took with its fixtures."""
    of_file = _seconds[report.nodeid.partition("::")[0]]
    if report.when == "setup":
        of_file.append(0.0)
    of_file[-1] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the seconds, if that was asked for; not in the workers of xdist."""
    if session.config.getoption("--record-seconds") and not hasattr(session.config, "workerinput"):
        record(_seconds)


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
    """Let a worker of xdist send a report with bytes that are not text: it would end instead."""
    return _encodable((yield))


def _encodable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {_encodable(key): _encodable(each) for key, each in value.items()}
        case list():
            return [_encodable(each) for each in value]
        case tuple():
            return tuple(_encodable(each) for each in value)
        case _:
            return value
