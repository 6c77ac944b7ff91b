import os

import pytest

from rundry.agent.host.auto_loaded import rows
from rundry.agent.host.file_errors import PathRefused
from rundry.agent.host.workspace_paths import Workspace


@pytest.fixture
def ws(tmp_path):
    root = tmp_path / "w"
    root.mkdir()
    return Workspace(root)


def test_a_path_inside_is_resolved_whether_it_exists_or_not(ws):
    assert ws.resolve("a/../src/./x.py") == ws.root / "src/x.py"
    assert ws.resolve(str(ws.root / "b.txt")) == ws.root / "b.txt"
    assert ws.resolve(".") == ws.root
    assert ws.relative(ws.resolve("src/x.py")) == "src/x.py"


@pytest.mark.parametrize("given", ["../w-evil/x", "..", "/etc/passwd", "a/../../x", "", "a\0b", "~/x", "~", "a\ud800"])
def test_a_path_outside_or_no_path_at_all_is_refused(ws, given):
    with pytest.raises(PathRefused):
        ws.resolve(given)


def test_a_neighbour_whose_name_begins_like_the_workspace_is_outside(ws):
    evil = ws.root.parent / "w-evil"
    evil.mkdir()
    with pytest.raises(PathRefused, match="outside"):
        ws.resolve(str(evil / "x"))


def test_a_link_cannot_lead_out(ws):
    (ws.root / "l").symlink_to("/etc")
    (ws.root / "two").symlink_to("l/passwd")
    for given in ("l", "l/passwd", "two", "l/not-there"):
        with pytest.raises(PathRefused, match="outside"):
            ws.resolve(given)


def test_a_link_inside_gives_its_target_and_cannot_hide_a_refused_name(ws):
    (ws.root / "real.txt").write_text("x")
    (ws.root / "link").symlink_to("real.txt")
    (ws.root / ".env").write_text("KEY=1")
    (ws.root / "innocent.txt").symlink_to(".env")
    (ws.root / "id_rsa").symlink_to("real.txt")
    assert ws.resolve("link") == ws.root / "real.txt"
    for given in ("innocent.txt", "id_rsa"):
        with pytest.raises(PathRefused):
            ws.resolve(given)


def test_a_circle_of_links_is_reported_as_one(ws):
    (ws.root / "a").symlink_to("b")
    (ws.root / "b").symlink_to("a")
    with pytest.raises(PathRefused, match="circle"):
        ws.resolve("a")


@pytest.mark.parametrize(
    "given",
    [
        ".git/config",
        ".GIT/hooks/pre-commit",
        ".git",
        "sub/.Git/HEAD",
        ".g\u200cit/config",
        ".git./config",
        "git~1/config",
        ".env",
        ".ENV",
        ".env.local",
        "prod.env",
        "deploy/id_rsa",
        "x/server.PEM",
        ".netrc",
        "credentials",
        "credentials.json",
        "secrets.yml",
        ".ssh/config",
        ".aws/config",
        "a/.git/../../.git/x",
    ],
)
def test_gits_own_files_and_secrets_are_refused_however_they_are_written(ws, given):
    with pytest.raises(PathRefused):
        ws.resolve(given)


@pytest.mark.parametrize(
    "given", [".gitignore", ".github/x.md", ".env.example", "credentials.py", "secrets.py", "gitx"]
)
def test_names_that_only_resemble_them_are_not_refused(ws, given):
    assert ws.resolve(given) == ws.root / given


def test_the_runs_own_journal_is_refused_with_what_stands_next_to_it(ws):
    journal = ws.root / "runs/r1.db"
    own = Workspace(ws.root, private=[journal, ws.root / "runs/store"])
    for given in ("runs/r1.db", "runs/r1.db-wal", "runs/r1.db.lock", "runs/store/objects/aa"):
        with pytest.raises(PathRefused, match="record"):
            own.resolve(given)
    assert own.resolve("runs/other.txt") == ws.root / "runs/other.txt"


@pytest.mark.parametrize(
    "given",
    [
        ".rundry.toml",
        ".Rundry.TOML",
        ".envrc",
        ".bashrc",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        "Jenkinsfile",
        ".ci/run",
        ".vscode/tasks.json",
        ".husky/pre-push",
        "scripts/hooks/pre-commit",
        ".pre-commit-config.yaml",
        ".npmrc",
        "src/sitecustomize.py",
        ".devcontainer/devcontainer.json",
        ".hg/hgrc",
        ".cargo/config.toml",
        "sub/.cargo/config",
        ".gdbinit",
        ".lldbinit",
        ".mise.toml",
        "app.code-workspace",
        ".gitignore",
        "deep/er/.gitignore",
        "AGENTS.md",
        "sub/Agents.MD",
        "CLAUDE.md",
        ".cursorrules",
        ".github/copilot-instructions.md",
        ".github/agents/reviewer.md",
        ".claude/settings.local.json",
        ".aider.conf.yml",
        ".yarn/releases/yarn-4.cjs",
        ".pnp.cjs",
        ".dir-locals.el",
        "\uff0ehg/hgrc",
        ".venv/bin/activate",
        "sub/venv/Scripts/python.exe",
        "tools/bin/activate.fish",
        "node_modules/.bin/eslint",
        "vendor/bin/phpunit",
        ".clangd",
        ".luarc.json",
        ".ansible.cfg",
        ".terraform/providers/x",
        "gradle/wrapper/gradle-wrapper.jar",
        "sitecustomize/__init__.py",
        ".pnp.mjs",
        "lefthook.jsonc",
        ".miserc.toml",
        ".bsp/sbt.json",
        ".zshrc.zwc",
    ],
)
def test_what_runs_by_itself_is_asked_about_also_before_it_exists(ws, given):
    assert ws.caution(ws.resolve(given))


def test_each_row_of_auto_loaded_files_has_a_source_and_is_asked_about_at_any_depth(ws):
    for row in rows():
        assert row.source and all(row.source), row
        assert row.names or row.folders or row.paths, row
        below = f"{row.below[0]}/" if row.below else ""
        for name in (glob.replace("*", "x") for glob in [*row.names, *row.folders, *row.paths]):
            assert name == name.lower(), name
            for given in (f"{below}{name}", f"deep/er/{below}{name.upper()}"):
                assert ws.caution(ws.root / given), given
        for name in (*row.folders, *row.paths):
            assert ws.caution(ws.root / name.replace("*", "x") / "new.xyz"), name


@pytest.mark.parametrize(
    "given",
    [
        "src/a.py",
        "README.md",
        "src/hooks/useThing.ts",
        "tests/test_a.py",
        "ci.md",
        "Dockerfile",
        "Makefile",
        "package.json",
        "src/agents.py",
        "docs/claude.rst",
        "docs/agent/setup.md",
        ".github/README.md",
        ".editorconfig",
        "bin/tool",
        "src/vendor/lib.c",
        "vendor/pkg/bin/x",
        "gradle/libs.versions.toml",
        "src/activate",
    ],
)
def test_plain_files_need_no_caution(ws, given):
    assert ws.caution(ws.resolve(given)) is None


def test_a_link_is_judged_by_both_its_names(ws):
    (ws.root / "plain").write_text("")
    (ws.root / "alias").symlink_to("plain")
    (ws.root / ".envrc").symlink_to("plain")
    assert ws.caution(ws.root / "alias") is None
    assert ws.caution(ws.root / ".envrc")


def test_the_root_itself_may_be_reached_through_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    os.symlink("real", tmp_path / "alias")
    ws = Workspace(tmp_path / "alias")
    assert ws.root == tmp_path / "real"
    assert ws.resolve("x") == tmp_path / "real/x"
