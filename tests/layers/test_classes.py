"""Each effect of a layer gets the class that decides what happens to it, whatever the command did to look harmless."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as some

from rundry.agent.host.auto_loaded import rows
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.layers.effect_classes import ClassedEffect, Group, classify
from rundry.agent.layers.layer_effects import Effect, Side
from rundry.agent.layers.surroundings import read_surroundings

from .conftest import Bench

ENV = {"HOME": "/nonexistent", "PATH": os.environ["PATH"]}
FILE = Side(type="file", digest="new", size=3)
TAG = "printf 'Signature: 8a477f597d28d172789f06886806bc55\\n'"


def shell(folder: Path, script: str) -> None:
    base = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    done = subprocess.run(["sh", "-ec", script], cwd=folder, env=base, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def added(path: str) -> Effect:
    """A new file, link (`a -> b`) or folder (`a/`)."""
    name, arrow, target = path.partition(" -> ")
    kind = "link" if arrow else "folder" if name.endswith("/") else "file"
    after = Side(type=kind, digest=target or "new", size=3)
    return Effect(path=name.rstrip("/"), kind="added", before=None, after=after)


def changed(path: str, **side: object) -> Effect:
    before = Side(**{"type": "file", "digest": "old", "size": 3, **side})  # type: ignore[arg-type]
    return Effect(path=path, kind="changed", before=before, after=FILE)


def sort(
    ws: Path, effects: list[Effect], env: Mapping[str, str] = ENV, made: frozenset[str] = frozenset(), room: int = 0
) -> list[Group]:
    targets = {one.path: one.after.digest.encode() for one in effects if one.after and one.after.type == "link"}
    workspace = Workspace(ws)
    return classify(
        effects, read_surroundings(workspace, effects, lambda path, _: targets[path], env, made=made, room=room)
    )


def kinds(groups: list[Group]) -> dict[str, str]:
    return {entry.effect.path: group.kind for group in groups for entry in group.entries}


def why(groups: list[Group], path: str) -> str:
    return next(entry.why for group in groups for entry in group.entries if entry.effect.path == path)


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    place.mkdir()
    shell(
        place,
        """git init -q -b main; mkdir -p src tools data config; echo x > data/d.db
        echo x > src/a.py; echo x > tools/watch
        printf 'data/\\nbuild/\\ntarget/\\ndist/\\n*.local\\n.vscode/\\n' > .gitignore
        git add src tools .gitignore; git commit -qm one""",
    )
    return place


def test_each_row_of_the_table_is_protected_new_and_changed_also_where_git_ignores_it(ws: Path):
    paths = list[str]()
    for row in rows():
        below = f"{row.below[0]}/" if row.below else ""
        names = [glob.replace("*", "x") for glob in (*row.names, *row.folders, *row.paths)]
        paths += [f"{place}{below}{name}" for name in names for place in ("", "data/", "build/Deep/")]
        paths += [f"data/{glob.replace('*', 'x')}/inner" for glob in (*row.folders, *row.paths)]
    # below an ignored folder, `.gitignore` says nothing to git
    paths = [path for path in dict.fromkeys(paths) if "/" not in path or not path.endswith(".gitignore")]
    for make in (added, changed):
        groups = sort(ws, [make(path) for path in paths])
        assert set(kinds(groups).values()) == {"install", "protected"}  # a whole environment is one install
        assert [entry.effect.path for group in groups for entry in group.entries if not entry.why] == []


@pytest.mark.parametrize(
    "path",
    [".ENVRC", "sub/.Vscode/tasks.json", ".env", ".env.production", ".env-local",
     "deploy/id_ed25519", "a/.ssh/config", "Agents.MD",
     "x/\uff0eenvrc", ".envrc. ", ".g\u200cit/config", "sub/.GIT/hooks/pre-commit", "a/GIT~1/config", "src/.hg/hgrc",
     "deep/er/sitecustomize.py", "lib/evil.pth", ".venv/bin/python", "node_modules/.bin/x", "vendor/bin/phpunit"],
)  # fmt: skip
def test_names_are_protected_in_any_case_and_anywhere(tmp_path: Path, path: str):
    ws = tmp_path / "plain"
    ws.mkdir()
    (group,) = sort(ws, [added(path)])
    assert group.kind in ("protected", "install") and group.entries[0].why, group


@pytest.mark.parametrize(
    ("setup", "effect", "reason"),
    [
        ("git config include.path ../tools/settings", "tools/settings", "include.path"),
        ("git config include.path ../tools/settings; touch tools/settings", "tools/settings", "settings"),
        ("git config includeIf.onbranch:x.path ../config/more", "config/more", "settings"),
        ("echo '[core]\n fsmonitor = tools/mon' > config/more; git config includeIf.onbranch:x.path ../config/more",
         "tools/mon", "core.fsmonitor"),
        ("echo '[include]\n path = deeper' > config/one; git config include.path ../config/one", "config/deeper", ""),
        ("git config core.fsmonitor tools/watch", "tools/watch", "core.fsmonitor"),
        ("git config core.fsmonitor ./tools/not-yet", "tools/not-yet", "core.fsmonitor"),
        ("git config core.fsmonitor \"$PWD/tools/watch\"", "tools/watch", "core.fsmonitor"),
        ("git config core.hooksPath tools", "tools/any", "core.hookspath"),
        ("git config core.hooksPath later", "later/anything", "core.hookspath"),
        ("git config filter.x.clean 'python3 tools/clean.py %f'", "tools/clean.py", "filter.x.clean"),
        ("git config filter.x.process 'sh -c \"cd tools && ./watch\"'", "tools/watch", "filter.x.process"),
        ("git config filter.x.clean 'python3 clean.py'", "clean.py", "filter.x.clean"),
        ("git config diff.x.textconv ./tools/conv", "tools/conv", "diff.x.textconv"),
        ("git config merge.x.driver 'tools/merge %O %A %B'", "tools/merge", "merge.x.driver"),
        ("git config alias.go '!f() { tools/go \"$@\"; }; f'", "tools/go", "alias.go"),
        ("git config alias.go '!$(git rev-parse --show-toplevel)/tools/watch'", "tools/watch", "alias.go"),
        ("git config core.sshCommand 'ssh -F config/ssh'", "config/ssh", "core.sshcommand"),
        ("git config credential.helper '!./tools/cred'", "tools/cred", "credential.helper"),
        ("git config gpg.program tools/gpg", "tools/gpg", "gpg.program"),
        ("git config core.attributesFile config/attrs", "config/attrs", "core.attributesfile"),
        ("git config submodule.m.update '!tools/up'", "tools/up", "submodule.m.update"),
        ("ln -s tools t; git config core.fsmonitor t/watch", "tools/watch", "core.fsmonitor"),
        ("git config core.hooksPath Tools", "TOOLS/any", "core.hookspath"),
        ("git init -q data/sub; git -C data/sub config core.fsmonitor ../../tools/watch; touch data/sub/x",
         "tools/watch data/sub/x", "core.fsmonitor"),
        ("git init -q --bare data/b.git; git -C data/b.git config core.fsmonitor ../../tools/watch",
         "tools/watch data/b.git/description", "core.fsmonitor"),
        ("mkdir -p .git/modules/m/objects .git/modules/m/refs; cp .git/HEAD .git/modules/m; mkdir -p lib/m;"
         "git config -f .git/modules/m/config core.worktree ../../../lib/m;"
         "git config -f .git/modules/m/config core.hooksPath hk", "lib/m/hk/post-checkout", ""),
        ("ln -s ../../tools/hook.sh .git/hooks/pre-commit", "tools/hook.sh", "pre-commit"),
        ("printf '#!/bin/sh\\nexec python3 tools/watch --all' > .git/hooks/post-merge", "tools/watch", "post-merge"),
        ("ln -s config/env .envrc", "config/env", ".envrc"),
        ("ln -s config .vscode", "config/tasks.json", ".vscode"),
        ("mkdir .cursor; ln -s ../config .cursor/rules", "config/rules.md", ".cursor/rules"),
        ("mkdir .claude; ln -s ../docs/AI.md .claude/CLAUDE.md", "docs/AI.md", "CLAUDE.md"),
        ("echo 'source_env config/env.sh' > .envrc; touch config/env.sh", "config/env.sh", ".envrc"),
        ("mkdir .husky; echo 'node tools/watch' > .husky/pre-commit", "tools/watch", ".husky/pre-commit"),
        ("git config core.fsmonitor 'python3 -m tools.watch'", "tools/watch/__main__.py", "core.fsmonitor"),
        ("echo 'exec python3 -B -m pytest -q' > .git/hooks/pre-push", "pytest.py", "pre-push"),
        ("echo 'PATH_add bin' > .envrc", "bin/ls", ".envrc"),
        ("echo 'export PATH=\"$PWD/later:$PATH\"' > .envrc", "later/ls", ".envrc"),
        ("printf '[env]\n_.source = \"config/env.sh\"\n_.path = [\"./own\"]\n' > mise.toml; touch config/env.sh",
         "config/env.sh own/x", "mise.toml"),
        ("mkdir -p far/away; ln -s ../../config/env far/away/.envrc; git add far", "config/env", "far/away/.envrc"),
        ("mkdir -p far/.vscode; ln -s ../../config/t.json far/.vscode/tasks.json; git add -f far", "config/t.json", ""),
    ],
)  # fmt: skip
def test_what_is_named_by_what_is_already_there_is_protected(ws: Path, setup: str, effect: str, reason: str):
    assert kinds(sort(ws, [changed("tools/watch"), added("config/other")])) == {
        "tools/watch": "ordinary",
        "config/other": "ordinary",
    }, "the case shows nothing: they are protected anyway"
    shell(ws, setup)
    paths = effect.split(" ")
    groups = sort(ws, [*map(added, paths), added("src/free.py")])
    found = kinds(groups)
    assert found[paths[0]] == "protected" and reason in why(groups, paths[0]).lower().replace("claude.md", "CLAUDE.md")
    assert found["src/free.py"] == "ordinary"


@pytest.mark.parametrize(
    ("setup", "path"),
    [
        ("git config branch.main.description 'see src/a.py'", "src/a.py"),
        ("git config remote.origin.url src/a.py", "src/a.py"),
        ("git config safe.directory \"$PWD/src\"", "src/a.py"),
        ("git config alias.lint '!ruff check src'", "src/a.py"),
        ("git config core.editor 'src --wait'", "src/a.py"),
        ("echo 'ruff check src' > .git/hooks/pre-commit", "src/a.py"),
        ("echo 'python tools/watch' > .git/hooks/pre-commit.sample", "tools/watch"),
        ("echo 'export PYTHONPATH=src' > .envrc", "src/a.py"),
        ("git config credential.helper store; git config core.editor vi", "store"),
        ("git config user.name src; git config core.bare false; git config merge.tool src", "src/a.py"),
    ],
)  # fmt: skip
def test_what_git_only_names_stays_ordinary(ws: Path, setup: str, path: str):
    shell(ws, setup)
    assert kinds(sort(ws, [changed(path)])) == {path: "ordinary"}


def test_the_users_own_settings_and_environment_count_too(ws: Path, tmp_path: Path):
    (tmp_path / ".gitconfig").write_text("[core]\n\thooksPath = tools\n\texcludesFile = ~/ignored\n")
    (tmp_path / "ignored").write_text("notes/\n!src/\n")
    (ws / ".git/info/exclude").write_text("secret-plans\n")
    env = {**ENV, "HOME": str(tmp_path), "BASH_ENV": f"{ws}/config/rc", "PATH": f"bin:{ENV['PATH']}"}
    paths = ["tools/pre-push", "config/rc", "bin/git", "notes/a", "secret-plans", "src/b"]
    assert list(kinds(sort(ws, [added(path) for path in paths], env)).values()) == [
        *["protected"] * 3, "ordinary", "ignored_new", "ignored_new"
    ]  # fmt: skip


def test_settings_that_git_cannot_read_let_everything_ask(ws: Path):
    with (ws / ".git/config").open("a") as config:
        config.write("[core\n")
    (group,) = sort(ws, [changed("src/a.py"), added("data/new"), added("node_modules/x/y.js")])
    assert group.kind == "protected" and "bad config line" in group.entries[0].why


def test_where_git_is_not_installed_its_files_are_read_without_it(ws: Path, monkeypatch: pytest.MonkeyPatch):
    (ws / "config/more").write_text('[core]\n fsmonitor = "tools/watch"\n')
    shell(ws, "git config include.path ../config/more; git config core.hooksPath tools/hooks")
    shell(ws, "mkdir target; touch target/kept Cargo.toml; git add -f target/kept")
    monkeypatch.setenv("PATH", "/nonexistent")
    effects = [changed(path) for path in ("tools/watch", "config/more", "tools/hooks/x", "target/kept", "src/a.py")]
    groups = sort(ws, effects, {"HOME": "/nonexistent"})
    found = kinds(groups)
    assert [found[effect.path] for effect in effects] == [*["protected"] * 3, "ordinary", "ordinary"]
    (ws / ".git/index").write_bytes(b"DIRC broken")
    assert set(kinds(sort(ws, effects, {"HOME": "/nonexistent"})).values()) == {"protected"}


def test_folders_of_path_are_protected_existing_or_not_with_what_their_links_lead_to(ws: Path):
    shell(ws, "mkdir bin; ln -s ../tools/watch bin/watch; ln -s bin b")
    env = {**ENV, "PATH": f"{ws}/bin:{ws}/later:b:{ENV['PATH']}"}
    found = kinds(sort(ws, [added("bin/git"), added("later/ls"), changed("tools/watch"), added("bin2/x")], env))
    assert [*found.values()] == ["protected"] * 3 + ["ordinary"]
    runs = Effect(path="ls", kind="added", before=None, after=Side(type="file", digest="x", executable=True))
    for path in (f".:{ENV['PATH']}", f"{ENV['PATH']}:", str(ws)):
        groups = sort(ws, [runs, added("notes"), added("src/x")], {**ENV, "PATH": path})
        assert kinds(groups)["ls"] == "protected" and kinds(groups)["notes"] == "ordinary"


def test_rundrys_own_record_and_the_scripts_of_its_hooks_are_protected(ws: Path):
    workspace = Workspace(ws, private=[ws / "state"], hook_scripts=["tools/watch"])
    effects = [added("state/journal.db"), changed("tools/watch")]
    groups = classify(effects, read_surroundings(workspace, effects, lambda *_: b"", ENV))
    assert set(kinds(groups).values()) == {"protected"} and "hook of this run" in why(groups, "tools/watch")


def test_names_are_shown_in_one_line(ws: Path):
    shell(ws, """mkdir "$(printf 'a\\nb')"; ln -s ../config/x "$(printf 'a\\nb/.envrc')"; git add .""")
    groups = sort(ws, [added("config/x"), added("n\nm/node_modules/x"), added("e\x1b[2J/.git/config")])
    shown = [group.title for group in groups] + [entry.why for group in groups for entry in group.entries]
    assert all(line.isprintable() for line in shown) and "\\012" in "".join(shown)
    assert kinds(groups)["config/x"] == "protected"


def test_a_link_in_place_of_a_folder_is_protected_if_something_named_lies_below_it(ws: Path):
    shell(ws, "git config core.fsmonitor tools/watch; mkdir -p src/evil")
    link = Effect(
        path="tools", kind="changed", before=Side(type="folder"), after=Side(type="link", digest="src/evil", size=8)
    )
    plain = msgspec_replace(link, "src2")
    gone = Effect(path="tools/watch", kind="deleted", before=FILE, after=None)
    groups = sort(ws, [link, plain, gone])
    assert kinds(groups) == {"tools": "protected", "src2": "ordinary", "tools/watch": "protected"}


def msgspec_replace(effect: Effect, path: str) -> Effect:
    return Effect(path=path, kind="added", before=None, after=effect.after)


@pytest.mark.parametrize(
    ("below", "effects"),
    [
        ("", ["r/HEAD", "r/objects/", "r/refs/", "r/config"]),
        ("", ["r/HEAD", "r/objects/pack/x", "r/refs/heads/main"]),
        ("", ["r/HEAD -> ../src/x", "r/objects -> ../src", "r/refs/"]),
        ("mkdir -p r/objects r/refs", ["r/HEAD"]),
        ("mkdir -p r/objects; echo > r/HEAD", ["r/refs/"]),
        ("", ["r/HEAD", "r/commondir", "r/config.worktree"]),
        ("mkdir r; echo x > r/commondir", ["r/HEAD"]),
        ("git init -q --bare r", ["r/config", "r/hooks/post-update", "r/objects/aa/bb"]),
        ("git init -q --bare data/r", ["data/r/config"]),
        ("", ["data/r/head", "data/r/Objects/", "data/r/REFS/"]),
        ("mkdir objects refs; rm -rf .git", ["HEAD"]),
    ],
)
def test_a_folder_that_becomes_a_bare_repository_asks(ws: Path, below: str, effects: list[str]):
    shell(ws, below or "true")
    found = kinds(sort(ws, [*map(added, effects), added("src/b.py")]))
    assert found.pop("src/b.py") == "ordinary"
    assert set(found.values()) == {"protected"}


def test_parts_of_a_repository_that_are_none_are_ordinary(ws: Path):
    effects = [added("r/HEAD"), added("r/objects/"), added("r/config"), added("lib/refs/"), added("lib/objects/x")]
    assert set(kinds(sort(ws, effects)).values()) == {"ordinary"}
    shell(ws, "mkdir objects refs")  # next to `.git`, which git takes first
    assert set(kinds(sort(ws, [added("HEAD"), added("refs/x")])).values()) == {"ordinary"}


def test_git_folders_that_existed_are_left_to_the_import_and_new_ones_ask_as_a_whole(ws: Path):
    shell(ws, "git init -q sub; git init -q other; mv other/.git hidden; echo 'gitdir: ../hidden' > other/.git")
    shell(ws, "git worktree add -q linked 2>/dev/null")
    groups = sort(
        ws,
        [added(".git/refs/heads/x"), changed("sub/.git/index"), changed("hidden/refs/heads/main"),
         changed(".git/config"), added("hidden/hooks/update"), added(".git/modules/a/b/config"),
         changed(".git/info/exclude"),
         added("other/x"), changed("linked/.git"), changed("other/.git"), added("new/.git/"), added("new/.git/config"),
         added("mod/.git"), added("l/.git -> ../hidden"), added(".GIT/config")],
    )  # fmt: skip
    assert {group.folder for group in groups if group.kind == "git"} == {".git", "sub/.git", "hidden"}
    found = kinds(groups)
    asks = ["linked/.git", "other/.git", "mod/.git", "l/.git", ".GIT/config", ".git/config", "hidden/hooks/update"]
    asks += [".git/modules/a/b/config", ".git/info/exclude"]
    assert {found[path] for path in asks} == {"protected"} and found["other/x"] == "ordinary"
    (new,) = [group for group in groups if group.folder == "new/.git"]
    assert new.kind == "protected" and len(new.entries) == 2
    bare = ws.parent / "none"
    bare.mkdir()
    assert kinds(sort(bare, [added(".git/HEAD")])) == {".git/HEAD": "protected"}


LINKS = [
    ("up -> ..", True), ("up -> src/../..", True), ("deep/l -> ../../x", True), ("src/l -> ../tools/watch", False),
    ("abs -> /etc/passwd", True), ("in -> WS/src", False), ("near -> WS-other/x", True), ("self -> self", True),
    ("a/b -> ../src/./a.py", False), ("dead -> nowhere", False), ("e -> ext/x", True), ("root -> .", False),
    ("magic -> /proc/self/cwd/src", True),
]  # fmt: skip


@pytest.mark.parametrize(("link", "leads_out"), LINKS)
def test_a_link_asks_if_it_leads_out(ws: Path, link: str, leads_out: bool):
    shell(ws, "ln -s /outside ext")
    effect = added(link.replace("WS", str(ws)))
    assert kinds(sort(ws, [effect]))[effect.path] == ("protected" if leads_out else "ordinary")


def test_links_are_followed_among_the_effects_and_each_alone(ws: Path):
    shell(ws, "ln -s src/deep/er ladder; mkdir -p src/deep/er")
    chain = [
        added("one -> two/x"),
        added("two -> tools/.."),
        added("three -> one"),
        added("four -> up/a"),
        added("up -> .."),
    ]
    found = kinds(sort(ws, chain))
    assert {path for path, kind in found.items() if kind == "protected"} == {"four", "up"}
    replaced = Effect(path="ladder", kind="changed", before=Side(type="link", digest="x"), after=Side(type="folder"))
    assert kinds(sort(ws, [added("l -> ladder/../../x")]))["l"] == "ordinary"
    assert kinds(sort(ws, [replaced, added("l -> ladder/../../x")]))["l"] == "protected"


def test_an_install_is_one_group_with_what_runs_by_itself_named(ws: Path):
    shell(ws, "mkdir -p node_modules/old vendor/a packages/p; touch composer.json packages/p/node_modules")
    shell(ws, "printf 'node_modules\\nvendor\\n' >> .gitignore; mkdir -p .venv/bin; touch .venv/pyvenv.cfg")
    groups = sort(
        ws,
        [added("node_modules/a/index.js"), added("node_modules/.bin/a -> ../a/index.js"), changed("vendor/a/x.php"),
         added("node_modules/a/node_modules/b/.npmrc"), added(".venv/lib/evil.pth"), changed(".venv/bin/activate"),
         added(".venv/bin/python -> /usr/bin/python3"), added("env/"), added("env/pyvenv.cfg"), added("env/bin/pip"),
         added("web/node_modules/x/y.js"), added("node_modules/.cache/v/1"), added("node_modules/a/b.pyc"),
         added("elsewhere/lib/x.py")],
    )  # fmt: skip
    installs = {group.folder: group for group in groups if group.kind == "install"}
    assert set(installs) == {"node_modules", "vendor", ".venv", "env", "web/node_modules"}
    assert (
        len(installs["node_modules"].entries) == 3 and "2 of them run by themselves" in installs["node_modules"].title
    )
    assert all(entry.why for entry in installs[".venv"].entries)
    found = kinds(groups)
    assert found["node_modules/.cache/v/1"] == "built" and found["node_modules/a/b.pyc"] == "bytecode"
    assert found["elsewhere/lib/x.py"] == "ordinary"


def test_an_install_that_this_run_made_is_removed_as_one(ws: Path):
    paths = [".venv/pyvenv.cfg", ".venv/bin/activate", ".venv/lib/x.py"]
    shell(ws, "mkdir -p .venv/bin .venv/lib; touch " + " ".join(paths))
    gone = [Effect(path=path, kind="deleted", before=FILE, after=None) for path in paths]
    gone += [
        Effect(path=path, kind="deleted", before=Side(type="folder"), after=None) for path in (".venv", ".venv/lib")
    ]
    for made in (frozenset[str](), frozenset({*paths, ".venv", ".venv/bin", ".venv/lib"})):
        (group,) = sort(ws, gone, made=made)
        assert (group.kind, group.folder) == ("install", ".venv")


def test_a_folder_does_not_become_a_dependency_folder_by_what_a_command_puts_there(ws: Path):
    effects = [added("data/pyvenv.cfg"), changed("data/d.db"), added("go.mod"), changed("vendor/x.go")]
    shell(ws, "mkdir vendor; touch vendor/x.go")
    found = kinds(sort(ws, effects))
    assert found["data/d.db"] == "ignored_existed" and found["vendor/x.go"] == "ordinary"
    shell(ws, "touch data/pyvenv.cfg go.mod")  # a command of this run did this
    made = frozenset({"data/pyvenv.cfg", "go.mod"})
    later = kinds(sort(ws, [changed("data/d.db"), changed("vendor/x.go")], made=made))
    assert later == {"data/d.db": "ignored_existed", "vendor/x.go": "ordinary"}
    assert kinds(sort(ws, [changed("vendor/x.go")])) == {"vendor/x.go": "install"}


def test_what_git_ignores_follows_its_rules_before_the_command(ws: Path):
    shell(
        ws,
        "mkdir -p keep; touch keep/x a.local; git add -f a.local; git commit -qm more; mkdir -p data/b; touch data/b/y",
    )
    effects = [
        changed(".gitignore"), changed("keep/x"), added("keep/z"), changed("a.local"), added("b.local"),
        changed("data/d.db"), added("data/new"),
        Effect(path="data/b", kind="deleted", before=Side(type="folder"), after=None),
        Effect(path="data/b/y", kind="deleted", before=FILE, after=None), added("src/__pycache__/"), added("x.py[cod]"),
    ]  # fmt: skip
    found = kinds(sort(ws, effects, made=frozenset({"data/mine"})))
    assert found == {
        ".gitignore": "protected", "keep/x": "ordinary", "keep/z": "ordinary", "a.local": "ordinary",
        "b.local": "ignored_new", "data/d.db": "ignored_existed", "data/new": "ignored_new",
        "data/b": "ignored_existed", "data/b/y": "ignored_existed", "src/__pycache__": "bytecode",
        "x.py[cod]": "ordinary",
    }  # fmt: skip
    mine = frozenset({"data/d.db", "data/b/y"})
    again = kinds(sort(ws, effects, made=mine))
    assert again["data/d.db"] == again["data/b/y"] == "ignored_new" and again["data/b"] == "ignored_existed"


@pytest.mark.parametrize(
    ("paths", "title"),
    [
        (["data/a", "data/b", "data/c/"], "2 new ignored files (data/a and 1 more)"),
        (["data/c/"], "1 new ignored folder (data/c)"),
    ],
)
def test_new_ignored_files_are_counted_and_empty_folders_only_without_one(ws: Path, paths: list[str], title: str):
    (group,) = sort(ws, [added(path) for path in paths])
    assert group.kind == "ignored_new" and group.title == title


def test_a_tracked_file_is_never_built_or_part_of_an_install(ws: Path):
    shell(ws, "mkdir -p target/debug vendor/a; touch target/debug/kept target/debug/app vendor/a/own.go vendor/a/x.go")
    shell(ws, "touch Cargo.toml go.mod; git add -f target/debug/kept vendor/a/own.go; git commit -qm vendored")
    effects = [
        changed("target/debug/kept"),
        changed("target/debug/app"),
        changed("vendor/a/own.go"),
        changed("vendor/a/x.go"),
    ]
    assert [*kinds(sort(ws, effects)).values()] == ["install", "ordinary", "ordinary", "built"]
    shell(ws, "rm target/debug/kept")
    assert kinds(sort(ws, [added("target/debug/kept")])) == {"target/debug/kept": "ordinary"}
    shell(ws, "git init -q sub; cd sub; mkdir build; touch build.gradle build/t build/u; git add -f build/t")
    shell(ws / "sub", "echo build > .gitignore")
    found = kinds(sort(ws, [changed("sub/build/t"), changed("sub/build/u")]))
    assert found == {"sub/build/t": "ordinary", "sub/build/u": "built"}


OUTPUT = [
    ("touch Cargo.toml; mkdir target", "target/debug/x"),
    ("touch package.json next.config.mjs; mkdir .next; echo .next >> .gitignore", ".next/server/x.js"),
    ("touch build.gradle.kts; mkdir build", "build/classes/A.class"),
    ("mkdir build; touch build/CMakeCache.txt", "build/CMakeFiles/x.o"),
    ("touch vite.config.ts; mkdir dist", "dist/index.html"),
    ("touch package.json tsconfig.json; mkdir dist", "dist/index.js"),
    ("mkdir .pytest_cache", ".pytest_cache/v/lastfailed"),
    ("mkdir src/__pycache__", "src/__pycache__/x.pyc"),
    ("touch .coverage", ".coverage"),
    ("mkdir -p data/c; " + TAG + " > data/c/CACHEDIR.TAG", "data/c/blob"),
]


@pytest.mark.parametrize(("setup", "path"), OUTPUT)
def test_output_of_a_program_that_existed_is_built_and_cannot_be_undone(ws: Path, setup: str, path: str):
    shell(ws, setup)
    gone = Effect(path=path, kind="deleted", before=FILE, after=None)
    (group,) = sort(ws, [gone], room=1 << 30)
    assert group.kind == "built" and not group.entries[0].undo
    assert "not reviewed" in group.title


@pytest.mark.parametrize(
    ("setup", "path"),
    [
        ("mkdir dist; touch pyproject.toml", "dist/release-1.0.tar.gz"),
        ("mkdir target", "target/notes"),
        ("mkdir build", "build/mine"),
        ("mkdir -p data/c; ln -s /tmp/tag data/c/CACHEDIR.TAG", "data/c/blob"),
        ("mkdir -p data/c; echo no signature > data/c/CACHEDIR.TAG", "data/c/blob"),
    ],
)
def test_what_only_has_such_a_name_asks(ws: Path, setup: str, path: str):
    shell(ws, setup)
    assert kinds(sort(ws, [changed(path)])) == {path: "ignored_existed"}


def test_no_command_marks_older_files_as_output(ws: Path):
    shell(ws, "mkdir target; touch target/own")
    plant = [added("data/CACHEDIR.TAG"), added("Cargo.toml"), changed("target/own"), changed("data/d.db")]
    found = kinds(sort(ws, plant))
    assert found["data/CACHEDIR.TAG"] == "protected"
    assert found["target/own"] == found["data/d.db"] == "ignored_existed"
    shell(ws, TAG + " > data/CACHEDIR.TAG; touch Cargo.toml")
    made = frozenset({"data/CACHEDIR.TAG", "Cargo.toml", "target/mine"})
    effects = [changed("target/own"), changed("data/d.db"), changed("target/mine")]
    assert [*kinds(sort(ws, effects, made=made)).values()] == ["ignored_existed", "ignored_existed", "built"]
    new = kinds(sort(ws, [added("data/c/"), added("data/c/CACHEDIR.TAG"), added("data/c/blob")]))
    assert set(new.values()) == {"built"}


PLANTS = [
    ".gitignore", ".git/info/exclude", "CACHEDIR.TAG", "Cargo.toml", "go.mod", "composer.json", "package.json",
    "setup.py", "next.config.js", "vite.config.ts", "tsconfig.json", "build.gradle", "x.csproj", "mkdocs.yml",
    "pubspec.yaml", "mix.exs",
    *(f"{folder}/{name}" for folder in ("data", "target", "dist", "build", "vendor", "bin", "env", "site", "src")
      for name in ("CACHEDIR.TAG", "pyvenv.cfg", "CMakeCache.txt", "meson-info", ".gitignore", "lib", "conda-meta")),
]  # fmt: skip
OLDER = [
    f"{folder}/own" for folder in ("data", "target", "dist", "build", "vendor", "bin", "env", "site", "src", "deps")
]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plants=some.sets(some.sampled_from(PLANTS), min_size=1, max_size=25), is_ignored=some.booleans())
def test_nothing_that_a_run_writes_makes_the_class_of_an_older_file_weaker(
    tmp_path_factory: pytest.TempPathFactory, plants: set[str], is_ignored: bool
):
    ws = tmp_path_factory.mktemp("ws")
    shell(ws, "git init -q; mkdir -p " + " ".join(path.removesuffix("/own") for path in OLDER))
    for path in OLDER:
        (ws / path).write_text("mine")
    if is_ignored:
        (ws / ".gitignore").write_text("/*/\n")
    older = [changed(path) for path in OLDER]
    plain = kinds(sort(ws, older))
    assert set(plain.values()) == {"ignored_existed" if is_ignored else "ordinary"}
    at_once = kinds(sort(ws, [*older, *map(added, sorted(plants))]))
    kept = (ws / ".gitignore").read_text() if is_ignored else ""
    for path in plants - {".gitignore", ".git/info/exclude"}:
        (ws / path).write_text("Signature: 8a477f597d28d172789f06886806bc55")
    later = kinds(sort(ws, older, made=frozenset(plants)))
    assert kept == ((ws / ".gitignore").read_text() if is_ignored else "")
    for path, kind in plain.items():
        assert at_once[path] == later[path] == kind, path


def test_a_cache_may_say_that_it_is_ignored_and_nothing_else_may(ws: Path):
    shell(ws, "mkdir lib .ruff_cache bin; touch lib/mine bin/mine pyproject.toml")
    usual = [".pytest_cache/", ".pytest_cache/.gitignore", ".ruff_cache/.gitignore", "data/sub/.gitignore"]
    assert set(kinds(sort(ws, [added(path) for path in usual])).values()) == {"built", "ignored_new"}
    assert kinds(sort(ws, [added("htmlcov/.gitignore")])) == {"htmlcov/.gitignore": "ordinary"}, "it is not ignored"
    asks = [
        ".gitignore",
        "lib/.gitignore",
        "bin/x.csproj",
        "bin/.gitignore",
        "new/.gitignore",
        ".ruff_cache/.gitattributes",
    ]
    found = kinds(sort(ws, [*map(added, asks), added("app.csproj")]))
    assert {path for path, kind in found.items() if kind == "protected"} == {*asks} - {"bin/x.csproj"}


def test_byte_code_is_dropped_wherever_it_lies_and_may_be_deleted(ws: Path):
    shell(ws, "mkdir src/__pycache__; touch src/__pycache__/a.pyc; git add -f src/__pycache__; mkdir node_modules")
    effects = [
        added("src/b.pyc"),
        changed("src/__pycache__/a.pyc"),
        added("node_modules/x/c.pyo"),
        added("a/__pycache__/x.py"),
    ]
    assert set(kinds(sort(ws, [*effects, added("l.pyc -> src/a.py")])).values()) == {"bytecode"}
    gone = Effect(path="src/__pycache__/b.pyc", kind="deleted", before=FILE, after=None)
    assert kinds(sort(ws, [gone])) == {"src/__pycache__/b.pyc": "built"}


def test_a_file_that_names_a_git_folder_asks_also_if_it_is_deleted(ws: Path):
    shell(ws, "mkdir .git/modules; git init -q --separate-git-dir=.git/modules/sub sub; touch sub/x")
    named = Side(type="file", digest="old", size=3)
    gone = Effect(path="sub/.git", kind="deleted", before=named, after=None)
    groups = sort(ws, [gone, Effect(path="sub/x", kind="deleted", before=FILE, after=None)])
    assert kinds(groups) == {"sub/.git": "protected", "sub/x": "ordinary"}
    assert "which repository git uses" in why(groups, "sub/.git")


def test_hard_links_and_executables_ask_as_for_an_edit(ws: Path):
    linked = Effect(path="src/a.py", kind="changed", before=FILE, after=FILE, links=3)
    program = changed("tools/watch", executable=True)
    groups = sort(ws, [linked, program])
    assert why(groups, "src/a.py") == "it is a hard link: it has 2 other names elsewhere"
    assert why(groups, "tools/watch") == "it is executable"
    assert kinds(sort(ws, [program], made=frozenset({"tools/watch"}))) == {"tools/watch": "ordinary"}
    gone = Effect(path="src/a.py", kind="deleted", before=FILE, after=None, links=2)
    assert kinds(sort(ws, [gone])) == {"src/a.py": "ordinary"}


def test_an_undo_is_promised_as_long_as_there_is_room_for_what_is_displaced(ws: Path):
    mb = 1 << 20
    effects = [
        changed("a", size=5 * mb), changed("b", size=6 * mb), changed("c", size=100), changed("d", size=4 * mb),
        added("e"), changed("f", size=90 * mb, digest="new"),
    ]  # fmt: skip
    (group,) = sort(ws, effects, room=10 * mb)
    assert [entry.undo for entry in group.entries] == [True, False, True, True, True, True]


def test_each_effect_is_in_exactly_one_group(ws: Path):
    effects = [*map(added, (".envrc", "src/x", "data/n", "target/y", "x.pyc", ".git/refs/x", "node_modules/q/w"))]
    entries: list[ClassedEffect] = [entry for group in sort(ws, effects) for entry in group.entries]
    assert sorted(entry.effect.path for entry in entries) == sorted(effect.path for effect in effects)


REAL = """git init -q sub; echo x > .envrc; ln -s .. up; mkdir -p node_modules/a; echo > node_modules/a/i.js
cp .git/HEAD fake; echo y >> src/a.py; echo y >> data/d.db; echo > data/new
printf 'src/\\n' >> .gitignore; mkdir src/__pycache__; echo > src/__pycache__/a.pyc; git config alias.x '!x'
cp /bin/true .git/hooks/pre-push; git update-ref refs/heads/b HEAD"""
REAL_KINDS = {
    "sub/.git/config": "protected", ".envrc": "protected", "up": "protected", "node_modules/a/i.js": "install",
    "fake/HEAD": "protected", ".git/config": "protected", ".git/hooks/pre-push": "protected",
    "src/a.py": "ordinary", "data/d.db": "ignored_existed",
    "data/new": "ignored_new", ".gitignore": "protected", "src/__pycache__/a.pyc": "bytecode",
}  # fmt: skip


def check_real(bench: Bench) -> None:
    shell(
        bench.ws,
        "git init -q; mkdir -p src data fake/objects fake/refs; echo x > src/a.py; echo x > data/d.db",
    )
    shell(bench.ws, "echo data/ > .gitignore; git add .; git commit -qm one")
    layer = bench.layer()
    done = bench.run(layer, f"export HOME=/nonexistent; {REAL}")
    assert done.returncode == 0, done.stderr
    effects, _ = layer.effects()
    workspace = Workspace(bench.ws)
    with layer.written() as source:
        found = kinds(classify(effects, read_surroundings(workspace, effects, source.load, ENV)))
    assert {path: found[path] for path in REAL_KINDS} == REAL_KINDS
    assert ".git/refs/heads/b" not in found, "refs are rows of their own"
    layer.drop()


def test_the_effects_of_a_real_command_are_sorted(bench: Bench):
    check_real(bench)


def test_the_effects_of_a_real_command_are_sorted_for_an_ordinary_user(
    as_user: Callable[[Callable[[Path], None]], None],
):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        check_real(bench)
        bench.close()

    as_user(act)
