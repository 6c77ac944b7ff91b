import json
import os
import sys
import tempfile
from pathlib import Path

import pytest
from fakes.visible_folders import visible_folder

from rundry.agent.host.processes.processes import run_process
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.probe import run_attacks
from rundry.agent.sandbox.probe.attack_targets import AttackStage
from rundry.agent.sandbox.probe.guarantees import names, not_held
from rundry.agent.sandbox.probe.run_attacks import ProbeResult, cache_folder
from rundry.agent.sandbox.restrict_process import abi_here
from rundry.agent.sandbox.sandbox import Sandbox

ATTACKS = Path(run_attacks.__file__).with_name("attacks.py")


@pytest.fixture(autouse=True)
def own_cache(pytestconfig, monkeypatch):
    with tempfile.TemporaryDirectory(dir=visible_folder(pytestconfig.rootpath), prefix=".test-") as folder:
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        yield Path(folder)


async def detected(way: str) -> Sandbox:
    found = await Sandbox.detect(kinds=[way])
    if found.kind is None:
        pytest.skip(found.why_none)
    return found


async def attacked(tmp_path: Path, targets=None) -> tuple[dict[str, bool], dict[str, str]]:
    """What the attacks report and what is seen outside, where nothing holds them."""
    with AttackStage(tmp_path / "stage") as stage:
        argv = [sys.executable, "-I", "-S", str(ATTACKS), json.dumps(stage.targets | (targets or {}))]
        done = await run_process(argv, cwd=stage.ws, env=command_env(os.environ), timeout=20)
        inside = json.loads(done.output)
        return inside, stage.verdicts(inside)


async def test_each_attack_succeeds_where_nothing_holds_it(tmp_path):
    _, verdicts = await attacked(tmp_path)
    failing = {name for name, verdict in verdicts.items() if verdict != "open"}
    # Another process cannot be traced where the kernel is set so (ptrace_scope); there is no terminal here.
    allowed = {"trace", "controlling_terminal"}
    if os.geteuid() or "Seccomp:\t0" not in Path("/proc/self/status").read_text():  # a container holds some of them
        allowed |= {"kernel_files", "keyrings", "userfaultfd", "other_families"}
    assert failing <= allowed
    assert set(names()) <= set(verdicts)


async def test_an_attack_that_was_not_tried_counts_as_not_held(tmp_path):
    _, verdicts = await attacked(tmp_path, {"prepared": "control read_secret"})
    missing = not_held(verdicts, offline=True, denied=True)
    assert {one.name for one in missing} == set(names())
    assert all("not tested" in one.line for one in missing if one.name != "read_secret")


async def test_without_the_control_no_answer_counts(tmp_path):
    with AttackStage(tmp_path / "stage") as stage:
        assert stage.verdicts(dict.fromkeys(names(), False)) == {}
        assert set(stage.verdicts(dict.fromkeys(names(), False) | {"control": True}).values()) == {"held"}


async def test_bubblewrap_holds_all_but_what_git_has_committed():
    sandbox = await detected("bubblewrap")
    await sandbox.probe(fresh=True)
    assert [one.name for one in sandbox.missing()] == ["read_denied_in_git"]
    assert sandbox.missing(denied=False) == []


@pytest.mark.parametrize("way", ["bubblewrap", "landlock"])
async def test_no_call_that_reaches_the_kernel_or_another_program_is_open(way):
    sandbox = await detected(way)
    await sandbox.probe(fresh=True)
    held = {"kernel_files", "keyrings", "io_uring", "userfaultfd", "bpf", "perf", "other_families", "limits", "fifo"}
    assert held <= set(names())
    assert not {one.name for one in sandbox.missing()} & held


async def test_landlock_holds_files_secrets_and_processes():
    sandbox = await detected("landlock")
    await sandbox.probe(fresh=True)
    missing = {one.name for one in sandbox.missing()}
    assert not missing & {"write_outside", "read_secret", "read_denied", "trace", "environment"}
    assert "unix_socket" in missing and "attributes_outside" in missing


async def test_what_landlock_does_not_hold_in_the_workspace_is_listed_as_named_and_not_as_restored():
    sandbox = await detected("landlock")
    await sandbox.probe(fresh=True)
    lines = {one.name: one.line for one in sandbox.missing()}
    assert {"write_protected", "write_programs", "write_denied"} <= set(lines)
    assert not any("restored" in line or "not tested" in line for line in lines.values()), lines
    assert "a change is named" in lines["write_protected"] and "a change is named" in lines["write_programs"]


@pytest.mark.parametrize("way", ["bubblewrap", "landlock"])
async def test_with_a_network_that_was_allowed_only_what_was_promised_counts(way):
    found = await Sandbox.detect(kinds=[way], network=True)
    if found.kind is None:
        pytest.skip(found.why_none)
    await found.probe(fresh=True)
    assert not {one.name for one in found.missing()} & {"tcp", "udp"}
    assert abi_here() < 6 or "abstract_socket" not in {one.name for one in found.missing()}


async def test_before_it_is_probed_a_sandbox_holds_nothing():
    sandbox = await detected("landlock")
    assert [one.name for one in sandbox.missing()] == names()


async def test_a_result_is_remembered_until_it_is_asked_for_again(own_cache):
    sandbox = await detected("bubblewrap")
    await sandbox.probe()
    file = cache_folder() / "sandbox.json"
    known = json.loads(file.read_text())
    for result in known.values():
        result["verdicts"]["udp"] = "open"
    file.write_text(json.dumps(known))
    await sandbox.probe()
    assert "udp" in [one.name for one in sandbox.missing()]
    await sandbox.probe(fresh=True)
    assert "udp" not in [one.name for one in sandbox.missing()]
    assert [path.name for path in cache_folder().iterdir()] == ["sandbox.json"]


@pytest.mark.parametrize("damaged", ["", "{", "[]", '{"x": {"verdicts": {"udp": "fine"}}}'])
async def test_a_damaged_memory_is_not_believed(own_cache, damaged):
    sandbox = await detected("bubblewrap")
    cache_folder().mkdir()
    (cache_folder() / "sandbox.json").write_text(damaged)
    await sandbox.probe()
    assert [one.name for one in sandbox.missing()] == ["read_denied_in_git"]


async def test_nothing_is_remembered_where_commands_can_write(own_cache):
    sandbox = await detected("landlock")
    await sandbox.probe(own_cache)
    assert sandbox.missing() and not (cache_folder() / "sandbox.json").exists()


async def test_a_sandbox_that_stops_to_work_holds_nothing(tmp_path):
    broken = Sandbox("bubblewrap", program=tmp_path / "bwrap")
    await broken.probe(fresh=True)
    assert [one.name for one in broken.missing()] == names()
    assert broken.not_held[0].startswith("the sandbox was not tested")


def test_a_result_without_verdicts_is_not_held():
    assert [one.name for one in not_held(ProbeResult().verdicts, offline=True, denied=True)] == names()
