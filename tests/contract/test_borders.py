"""The layers at run time: who loads what, and that no module exists twice (docs/architecture.md)."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parents[2]
OURS = sorted(p for part in ("agent", "tui") for p in (ROOT / part).rglob("*.py") if "demo/project" not in p.as_posix())


def loaded_after(code: str, tmp_path: Path) -> set[str]:
    """Modules that a fresh interpreter holds after this code, started in a folder with an `agent` of its own."""
    for name in ("agent", "tui", "themes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('a foreign package was imported')")
    script = f"{code}\nimport sys\nprint(*sorted(sys.modules), sep='\\n')"
    argv = [sys.executable, "-c", script]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines())


def test_the_core_comes_up_without_textual_and_even_its_runner_without_litellm(tmp_path: Path):
    loaded = loaded_after("import rundry.agent.run, rundry.agent.step, rundry.agent.journal", tmp_path)
    assert not {"textual", "litellm", "rundry.tui"} & loaded


def test_the_runner_and_its_searches_come_up_without_dask(tmp_path: Path):
    loaded = loaded_after(
        "import rundry.tui.cli.root, rundry.agent.run, rundry.agent.run.start.search_of_run", tmp_path
    )
    assert not {"dask", "distributed", "tornado", "cryptography"} & loaded


def test_the_command_line_and_the_screen_come_up_without_the_protocol_of_editors(tmp_path: Path):
    loaded = loaded_after("import rundry.tui.cli.root, rundry.tui.app.app, rundry.tui.acp, rundry.agent.run", tmp_path)
    assert not {"acp", "pydantic", "rundry.tui.acp.acp_server"} & loaded


def test_the_view_of_an_editor_comes_up_without_textual(tmp_path: Path):
    loaded = loaded_after("import rundry.tui.acp.acp_server, rundry.tui.acp.acp_command", tmp_path)
    assert {
        "acp",
        "rundry.tui.acp.acp_session",
        "rundry.tui.plain.plain_commands",
        "rundry.tui.gate.proposal_words",
    } <= loaded
    assert not {"textual", "litellm"} & loaded


def test_the_runner_and_the_screen_come_up_without_opentelemetry(tmp_path: Path):
    loaded = loaded_after(
        "import rundry.tui.cli.root, rundry.tui.app.app, rundry.agent.run, rundry.agent.extend.telemetry.span_fold",
        tmp_path,
    )
    assert "rundry.agent.extend.telemetry.span_fold" in loaded
    assert not any(name.partition(".")[0] in ("opentelemetry", "google", "requests") for name in loaded)


def test_the_command_line_comes_up_without_textual_and_the_whole_screen_without_litellm(tmp_path: Path):
    assert not {"textual", "litellm", "jsonschema", "httpx"} & loaded_after("import rundry.tui.cli.root", tmp_path)


def test_the_command_line_the_runner_and_the_screen_come_up_without_the_mcp_sdk(tmp_path: Path):
    loaded = loaded_after(
        "import rundry.tui.cli.root, rundry.agent.run, rundry.tui.app.app, rundry.tui.app.main_screen", tmp_path
    )
    assert not {"mcp", "mcp_types", "pydantic_settings", "starlette", "rundry.tui.mcp"} & loaded


def test_the_screen_comes_up_without_litellm(tmp_path: Path):
    loaded = loaded_after("import rundry.tui.app.app, rundry.tui.app.main_screen", tmp_path)
    assert "textual" in loaded
    assert not {"litellm", "openai", "tiktoken"} & loaded


def test_imports_name_no_bare_folder_and_the_screen_only_the_cores_public_names():
    wrong = [
        f"{path.relative_to(ROOT)}: {name}" for path in OURS for name in absolute_imports(path) if not fits(path, name)
    ]
    assert wrong == []


def test_each_public_name_of_the_core_is_what_its_import_for_the_type_checker_names():
    core = import_module("rundry.agent")
    imports = [node for node in ast.walk(ast.parse(Path(core.__file__ or "").read_text())) if is_relative(node)]
    names = [(node.module, alias) for node in imports for alias in node.names if alias.name != "*"]
    assert len(names) > 100
    for module, alias in names:
        value = getattr(import_module(f"rundry.agent.{module}"), alias.name)
        assert getattr(core, alias.asname or alias.name) is value, alias.name
    assert core.RunEnded is import_module("rundry.agent.protocol").RunEnded


def is_relative(node: ast.AST) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.level == 1


def absolute_imports(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.append(node.module or "")
    return names


def fits(path: Path, name: str) -> bool:
    """Bare names would make a module exist twice; of ours, only the screen's imports of the core are absolute."""
    if name.split(".")[0] in ("agent", "tui", "themes"):
        return False
    return not name.startswith("rundry") or (name == "rundry.agent" and path.is_relative_to(ROOT / "tui"))


def test_the_sdk_of_mcp_is_loaded_by_two_modules_that_nothing_imports_at_its_start(tmp_path: Path):
    loaded = loaded_after(
        "import rundry.tui.cli.root, rundry.tui.app.main_screen, rundry.agent.run.process.runner", tmp_path
    )
    assert not {"mcp", "mcp_types", "httpx2", "jsonschema"} & loaded
    importers = [path for path in OURS if {"mcp", "mcp_types"} & {n.partition(".")[0] for n in absolute_imports(path)}]
    found = [str(path.relative_to(ROOT)) for path in importers if "agent" in path.parts]
    assert found == ["agent/extend/mcp/oauth.py", "agent/extend/mcp/sdk.py"]
