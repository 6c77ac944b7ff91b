"""Whether layers work is tried in the workspace itself, changes nothing there, and a refusal says how to lift it."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rundry.agent.layers.fitness import Fitness, fitness_of
from rundry.agent.layers.layer import Layer
from rundry.agent.layers.namespaces import Namespaces, NamespacesRefused
from rundry.agent.layers.remedies import Machine, Refusal, remedy_for

from .conftest import NOBODY, SYSTEM_PYTHON, AsUser, Bench, apart, mount

NEW_USER = 0x10000000
PROJECT = """
mkdir -p src/deep .git/refs && echo one > src/one && echo two > src/deep/two && echo ref > .git/HEAD && ln -s src link
printf x > 'a name with spaces' && chmod 444 src/one && mkfifo pipe && chmod 500 src/deep && touch -d 2001-01-01 src .
"""


def fit(ws: Path, state: Path, why_no_sandbox: str = "") -> Fitness:
    own = SYSTEM_PYTHON if os.geteuid() else None
    return fitness_of(ws, state, interpreter=own, why_no_sandbox=why_no_sandbox)


def fill(ws: Path) -> None:
    ws.mkdir(exist_ok=True)
    subprocess.run(["sh", "-ec", PROJECT], cwd=ws, check=True)


def everything(folder: Path) -> list[tuple[object, ...]]:
    """Return all that a user, git or make could see, change times included."""
    found = list[tuple[object, ...]]()
    for path in (folder, *sorted(folder.rglob("*"))):
        at = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(at.st_mode) and os.access(path, os.R_OK) else b""
        found.append((str(path), at.st_ino, at.st_mode, at.st_size, at.st_mtime_ns, at.st_ctime_ns, data))
    return found


@pytest.fixture(autouse=True)
def needs_namespaces() -> None:
    try:
        Namespaces().close()
    except NamespacesRefused as refused:
        pytest.skip(f"no layers here: {refused}")


def check_fit(folder: Path) -> None:
    ws, state = folder / "ws", folder / "home" / "state"
    fill(ws)
    before = everything(folder)
    found = fit(ws, state)
    assert found.place is not None and found.place.is_relative_to(state) and not found.is_inside, found
    assert found.stacks
    assert (found.step, found.why, found.remedy.text) == ("", "", "")
    assert everything(ws) == before[1:], "nothing of the user's is changed"
    assert not (folder / "home").exists(), "and nothing is left"
    (folder / "other").mkdir()
    assert fit(folder / "other", state).place != found.place, "each workspace has a folder of its own"
    (folder / "to-ws").symlink_to(ws)
    assert fit(folder / "to-ws", state).place == found.place


def test_a_plain_workspace_has_layers_and_is_not_touched(tmp_path: Path):
    check_fit(tmp_path)


def test_a_plain_workspace_of_an_ordinary_user_has_layers_and_is_not_touched(as_user: AsUser):
    as_user(check_fit)


def test_an_empty_workspace_has_layers(tmp_path: Path):
    (tmp_path / "ws").mkdir()
    assert fit(tmp_path / "ws", tmp_path / "state").place is not None


def check_git_folder(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        ws, state = folder / "ws", Path(elsewhere) / "state"
        ws.mkdir()
        none = fit(ws, state)
        assert (none.place, none.step) == (None, "place") and f"not on the file system of {ws}" in none.why
        assert none.remedy.commands == (f"git -C {ws} init",)
        subprocess.run(["git", "init", "-q", str(ws)], check=True)
        before = everything(ws)
        found = fit(ws, state)
        assert found.place == ws / ".git/rundry" and found.is_inside and not found.stacks, found
        now = everything(ws)
        git = next(number for number, row in enumerate(before) if row[0] == str(ws / ".git"))
        assert now[git][2:4] == before[git][2:4]
        assert now[:git] + now[git + 1 :] == before[:git] + before[git + 1 :], "only the times of .git"
        (ws / ".git/rundry").symlink_to("/tmp")
        assert "not a folder that you alone can write to" in fit(ws, state).why
        (ws / ".git/rundry").unlink()
        (ws / ".git/rundry").mkdir()
        (ws / ".git/rundry").chmod(0o777)
        assert fit(ws, state).place is None


def test_the_git_folder_is_the_place_if_rundrys_own_folder_is_on_another_file_system(tmp_path: Path):
    check_git_folder(tmp_path)


def test_the_git_folder_is_the_place_for_an_ordinary_user_too(as_user: AsUser):
    as_user(check_git_folder)


def test_the_git_folder_of_a_linked_working_tree_is_tried_too(tmp_path: Path):
    main, ws, state = tmp_path / "main", tmp_path / "ws", tmp_path / "state"
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(main)]
    subprocess.run(["git", "init", "-q", str(main)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", "--detach", str(ws)], check=True)
    before = everything(main), everything(ws)
    found = fit(ws, state)
    assert found.place is not None and found.stacks, found
    assert (everything(main), everything(ws)) == before
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        found = fit(ws, Path(elsewhere))
        assert found.place == main / ".git/rundry" and found.is_inside and not found.stacks, found
        moved = Path(elsewhere) / "main"
        shutil.copytree(main, moved)
        (ws / ".git").write_text(f"gitdir: {moved}/.git/worktrees/ws\n")
        assert fit(ws, state).step == "place", "the git folder is on another file system"


def test_the_place_in_a_workspace_that_contains_rundrys_own_folder_must_be_hidden(tmp_path: Path):
    found = fit(tmp_path, tmp_path / "state")
    assert found.place is not None and found.is_inside


def test_a_folder_that_is_mounted_from_the_same_file_system_is_not_the_place():
    def act(folder: Path) -> None:
        ws, state, real = folder / "ws", folder / "state", folder / "real"
        for one in (ws, state, real):
            one.mkdir()
        mount("--bind", str(real), str(state))
        found = fit(ws, state)
        assert (found.step, found.place) == ("place", None), found
        mount("--bind", str(folder / "ws"), str(ws))
        assert fit(ws, state).step == "place"

    apart(act)


def test_a_mount_inside_the_workspace_is_named_and_one_next_to_it_or_below_another_mount_is_not():
    def act(folder: Path) -> None:
        ws, state = folder / "ws", folder / "state"
        for one in (ws / "a b\n", ws / "deep/er", folder / "ws2", folder / "outer/ws/in"):
            one.mkdir(parents=True)
        mount("-t", "tmpfs", "none", str(folder / "ws2"))
        assert fit(ws, state).place is not None
        mount("-t", "tmpfs", "none", str(ws / "deep/er"))
        mount("-t", "tmpfs", "none", str(ws / "a b\n"))
        found = fit(ws, state)
        assert found.step == "mounts in the workspace" and found.place is None
        assert str(ws / "deep/er") in found.why and str(ws / "a b\n") in found.why
        assert "without mounts" in found.remedy.text
        assert fit(ws / "deep", state).step == "mounts in the workspace"
        outer = folder / "outer"
        mount("-t", "tmpfs", "none", str(outer / "ws/in"))
        mount("-t", "tmpfs", "none", str(outer))
        (outer / "ws").mkdir()
        assert fit(outer / "ws", outer / "state").place is not None, "what is covered is not in the workspace"

    apart(act)


def test_a_workspace_in_the_overlay_of_a_container_is_refused_with_its_type():
    def act(folder: Path) -> None:
        for one in ("lower/ws", "upper", "work", "root"):
            (folder / one).mkdir(parents=True)
        options = ",".join(f"{one}dir={folder / one}" for one in ("lower", "upper", "work"))
        mount("-t", "overlay", "none", "-o", options, str(folder / "root"))
        found = fit(folder / "root/ws", folder / "root/state")
        assert (found.step, found.place) == ("overlay", None), found
        assert "file system" in found.remedy.text

    apart(act)


INSIDE = """import sys
from pathlib import Path
from rundry.agent.layers.fitness import fitness_of
found = fitness_of(Path(sys.argv[1]), Path(sys.argv[2]))
print(found.place, found.step, found.remedy.text, sep="|")
"""


def test_a_workspace_inside_a_layer_is_refused_by_name_and_the_layer_still_works(bench: Bench):
    fill(bench.ws)
    layer = bench.layer()
    for state in (bench.folder / "state", bench.ws / "state"):
        argv = [*layer.words, sys.executable, "-c", INSIDE, str(bench.ws), str(state)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        place, step, remedy = done.stdout.strip().split("|")
        assert (place, bool(step), bool(remedy)) == ("None", True, True), done
    assert bench.run(layer, "echo x > made").returncode == 0
    assert "made" in [one.path for one in layer.effects()[0]]


def test_files_of_a_group_that_commands_cannot_have_are_named(as_user: AsUser):
    def prepare(folder: Path) -> None:
        (folder / "ws/src").mkdir(parents=True)
        (folder / "ws/src/shared").write_text("x")
        for path in (folder / "ws", folder / "ws/src", folder / "ws/src/shared"):
            os.chown(path, NOBODY, 4321 if path.name == "shared" else NOBODY)
        (folder / "ws/src/shared").chmod(0o664)

    def act(folder: Path) -> None:
        found = fit(folder / "ws", folder / "state")
        assert (found.step, found.place) == ("copy of a file", None), found
        assert "src/shared belongs to the group 4321" in found.why
        assert found.remedy.commands == ("sg 4321 -c rundry", f"chgrp -R {NOBODY} {folder / 'ws'}")
        (folder / "ws/src/shared").chmod(0o444)
        assert fit(folder / "ws", folder / "state").place is not None, "what the user cannot write is not copied"

    as_user(act, prepare)


@pytest.mark.parametrize(
    ("setting", "step"),
    [
        ("max_user_namespaces", "user namespace"),
        ("max_mnt_namespaces", "mount namespace"),
        ("max_pid_namespaces", "PID"),
    ],
)
def test_a_limit_of_the_kernel_is_named_with_the_command_that_lifts_it(as_user: AsUser, setting: str, step: str):
    def act(folder: Path) -> None:
        user = os.geteuid()
        assert not ctypes.CDLL(None).unshare(NEW_USER)
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{user} {user} 1")):
            Path(f"/proc/self/{name}").write_text(text)
        Path(f"/proc/sys/user/{setting}").write_text("0")  # holds in this namespace and those below
        (folder / "ws").mkdir()
        found = fit(folder / "ws", folder / "state")
        assert found.place is None and found.step.startswith(step), found
        assert found.remedy.commands[0] == f"sudo sysctl -w user.{setting}=15000", found
        assert not (folder / "state").exists()

    as_user(act)


def test_commands_without_a_sandbox_have_no_layers(tmp_path: Path):
    found = fit(tmp_path, tmp_path / "state", "no sandbox: bubblewrap is not installed (apt install bubblewrap)")
    assert (found.place, found.step) == (None, "sandbox") and "apt install bubblewrap" in found.why


def test_what_a_killed_trial_left_is_removed_by_a_later_one(tmp_path: Path):
    ws, state = tmp_path / "ws", tmp_path / "state"
    ws.mkdir()
    place = fit(ws, state).place
    assert place is not None
    for name in ("fit-old", "fit-new"):
        (place / name / "w/work").mkdir(parents=True)
        (place / name / "w/work").chmod(0)
    os.utime(place / "fit-old", (1, 1))
    (place / "layer-1").mkdir()
    os.utime(place / "layer-1", (1, 1))
    assert fit(ws, state).place == place
    assert sorted(os.listdir(place)) == ["fit-new", "layer-1"]


def test_layers_work_in_the_place_that_was_found(tmp_path: Path):
    ws = tmp_path / "ws"
    ws.mkdir()
    subprocess.run(["git", "init", "-q", str(ws)], check=True)
    fill(ws)
    (ws / ".git/HEAD").write_text("ref: refs/heads/main\n")
    for state in (tmp_path / "state", Path(tempfile.mkdtemp(dir="/dev/shm"))):
        place = fit(ws, state).place
        assert place is not None
        with Namespaces() as namespaces:
            layer = Layer(place / "1", ws).mount(namespaces)
            subprocess.run([*layer.words, "sh", "-c", f"cd {ws}; echo x > made; rm src/one; sync"], check=True)
            assert [one.path for one in layer.effects()[0]] == ["made", "src/one"]
            layer.drop()
        shutil.rmtree(state, ignore_errors=True)


def machine(root: Path, files: dict[str, str], *, system: str = "linux", release: str = "6.8.0-45-generic") -> Machine:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Machine(root, system, release)


APPARMOR = {"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}
CLONE = {"proc/sys/kernel/unprivileged_userns_clone": "0\n"}
DENIED = Refusal("private mounts", "Permission denied", errno.EACCES)
FORBIDDEN = Refusal("user namespace", "Operation not permitted", errno.EPERM)


@pytest.mark.parametrize(
    ("refusal", "files", "said"),
    [
        (DENIED, APPARMOR, "sudo apparmor_parser -r /etc/apparmor.d/rundry"),
        (FORBIDDEN, APPARMOR, "kernel.apparmor_restrict_unprivileged_userns=0"),
        (FORBIDDEN, {**CLONE, **APPARMOR}, "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        (FORBIDDEN, {"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "0\n"}, "SELinux, a seccomp filter"),
        (
            FORBIDDEN,
            {".dockerenv": "", **APPARMOR},
            "docker run --cap-add SYS_ADMIN --security-opt apparmor=unconfined",
        ),
        (FORBIDDEN, {"run/.containerenv": ""}, "podman run --security-opt unmask=ALL"),
        (Refusal("overlay", "No such device", errno.ENODEV), {}, "sudo modprobe overlay"),
        (Refusal("overlay", "Invalid argument", errno.EINVAL), {}, "(ext3)"),
        (Refusal("overlay", "Invalid argument", errno.EINVAL), {".dockerenv": ""}, "(ext3)"),
        (Refusal("nsenter", "it is not installed"), {}, "sudo apt install util-linux"),
        (Refusal("place", "/x: Read-only file system", errno.EROFS), {}, ""),
    ],
)
def test_a_refusal_has_the_commands_of_its_cause(tmp_path: Path, refusal: Refusal, files: dict[str, str], said: str):
    found = remedy_for(refusal, machine(tmp_path, files), Path("/my ws"), Path("/state"), "ext3")
    assert said in "\n".join((found.text, *found.commands))
    assert bool(found.text) == bool(said)


def test_other_systems_and_old_kernels_are_named(tmp_path: Path):
    elsewhere = remedy_for(FORBIDDEN, machine(tmp_path, {}, system="darwin"), tmp_path, tmp_path, "apfs")
    assert "Linux" in elsewhere.text and not elsewhere.commands
    invalid = Refusal("overlay", "Invalid argument", errno.EINVAL)
    old = remedy_for(invalid, machine(tmp_path, {}, release="5.10.0-30-amd64"), tmp_path, tmp_path, "ext4")
    assert "5.11" in old.text
    image = remedy_for(invalid, machine(tmp_path, {"run/.containerenv": ""}), tmp_path, tmp_path, "overlay")
    assert "container's own file system" in image.text and image.commands == ("podman run -v FOLDER:FOLDER ...",)
    new = remedy_for(invalid, machine(tmp_path, {}, release="5.11.0"), tmp_path, tmp_path, "nfs4")
    assert "(nfs4)" in new.text


def test_the_first_command_for_apparmor_writes_a_profile_for_this_python(tmp_path: Path):
    found = remedy_for(DENIED, machine(tmp_path, APPARMOR), tmp_path, tmp_path, "ext4")
    written = subprocess.run(["sh", "-c", found.commands[0].partition(" | ")[0]], capture_output=True, check=True)
    lines = written.stdout.decode().splitlines()
    assert lines[0] == "abi <abi/4.0>," and lines[2:] == ["  userns,", "}"]
    assert lines[1] == f'profile rundry "{os.path.realpath(sys.executable)}" flags=(unconfined) {{'
