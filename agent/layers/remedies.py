"""Find how a person can remove what prevents layers, by its cause on this machine."""

from __future__ import annotations

import errno
import grp
import os
import platform
import shlex
import sys
from pathlib import Path

import msgspec

from .namespaces import NamespacesRefused

_OF_NAMESPACES = ("user namespace", "mount namespace", "private mounts", "overlay", "PID namespace")
_OF_FILE_SYSTEMS = ("overlay", "exchange", "lease", "in use", "seal")
_OLDEST = (5, 11)
"""The first Linux in which a user can mount an overlay."""
_NAMESPACES = 15_000
"""A usual limit of namespaces of a user."""


class Remedy(msgspec.Struct, frozen=True):
    """What a person can do."""

    text: str = ""
    """A sentence, or empty if nothing is known."""
    commands: tuple[str, ...] = ()
    """Command lines with which to do it."""


class LayerRefused(Exception):
    """No layer could be opened in the middle of a run. The message says why, and how a person can fix it."""

    def __init__(self, error: NamespacesRefused | OSError, base: Path) -> None:
        """`base`: the layers' folder."""
        why = " ".join(str(error).split())
        super().__init__(". ".join([f"no layer could be opened ({why})", *how_to_fix(error, base)]))


_ALWAYS = {
    "nsenter": Remedy("Install util-linux.", ("sudo apt install util-linux",)),
    "mounts in the workspace": Remedy("Start rundry in a folder without mounts, or mount them elsewhere."),
}
"""Remedies of steps that have one cause."""


class Refusal(Exception):
    """A step that layers need, and that is refused here."""

    def __init__(self, step: str, why: str, code: int = 0, owner: tuple[int, int] | None = None) -> None:
        """`code`: number of the error. `owner`: user and group of the file that could not be copied."""
        super().__init__(f"{step}: {why}")
        self.step, self.why, self.code, self.owner = step, why, code, owner


class Machine:
    """A machine, as its files describe it."""

    def __init__(self, root: Path = Path("/"), system: str = sys.platform, release: str = platform.release()) -> None:
        """`root`: where its files begin. `release`: of the kernel."""
        self._root, self.system, self._release = root, system, release

    def setting(self, name: str) -> str:
        """Return a setting of the kernel, such as `user.max_user_namespaces`, or empty if there is none."""
        try:
            return (self._root / "proc/sys" / name.replace(".", "/")).read_text("ascii").strip()
        except (OSError, ValueError):
            return ""

    @property
    def container(self) -> str:
        """`docker`, `podman`, or empty."""
        if (self._root / "run/.containerenv").exists():
            return "podman"
        return "docker" if (self._root / ".dockerenv").exists() else ""

    @property
    def is_old(self) -> bool:
        """Whether its kernel is older than overlays of users."""
        parts = [int(part) for part in self._release.split("-")[0].split(".")[:2] if part.isdigit()]
        return tuple(parts) < _OLDEST


def remedy_for(refusal: Refusal, machine: Machine, workspace: Path, state: Path, kind: str) -> Remedy:
    """Return how to lift a refusal. `kind`: type of the workspace's file system, or empty if unknown."""
    step, code = refusal.step, refusal.code
    if machine.system != "linux":
        return Remedy("Layers are a feature of Linux: they work in a virtual machine with Linux.")
    if step in _ALWAYS:
        return _ALWAYS[step]
    if refusal.owner is not None:
        return _owner(*refusal.owner, workspace)
    if step in _OF_NAMESPACES and code in (errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EUSERS):
        return _permission(machine, state)
    if step == "place" and code == errno.EXDEV:
        return _same_file_system(workspace, state)
    if step == "overlay" and code == errno.ENODEV:
        return Remedy("Load the module of overlays.", ("sudo modprobe overlay",))
    return _file_system(machine, kind) if step in _OF_FILE_SYSTEMS else Remedy()


def how_to_fix(error: NamespacesRefused | OSError, base: Path) -> list[str]:
    """Return how a person can fix layers that worked before: sentences without a full stop.

    `base`: the layers' folder.
    """
    step, code = (error.step, error.code) if isinstance(error, NamespacesRefused) else ("", error.errno or 0)
    if step.endswith("namespace") and code in (errno.ENOSPC, errno.EUSERS):
        raised = f"sudo sysctl -w user.max_mnt_namespaces={_NAMESPACES}"
        return [f"A limit of namespaces is reached: end programs that use them, such as containers, or run `{raised}`"]
    if code in (errno.ENOSPC, errno.EDQUOT):
        return [f"Free some space on the disk of {base}"]
    if code in (errno.EMFILE, errno.ENFILE):
        return ["Too many files are open: end other programs, or start rundry again after `ulimit -n 65536`"]
    if code in (errno.ENOMEM, errno.EAGAIN):
        return ["There is too little memory, or there are too many processes: end other programs"]
    if step == "forker":
        return ["End the run and continue it with `rundry resume`"]
    return [f"`rundry doctor` says what layers need; they lie in {base}"]


def _owner(user: int, group: int, workspace: Path) -> Remedy:
    place = shlex.quote(str(workspace))
    if user != os.geteuid():
        return Remedy("Give the files to your own user.", (f"sudo chown -R {os.geteuid()}:{os.getegid()} {place}",))
    return Remedy(
        "Start rundry with that group as your first one, or give the files to your own group.",
        (f"sg {group_name(group)} -c rundry", f"chgrp -R {os.getegid()} {place}"),
    )


def group_name(number: int) -> str:
    """Return the name of a group, or its number."""
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _permission(machine: Machine, state: Path) -> Remedy:
    for name in ("user.max_user_namespaces", "user.max_mnt_namespaces", "user.max_pid_namespaces"):
        if machine.setting(name) == "0":
            return _set(name, str(_NAMESPACES))
    if machine.setting("kernel.unprivileged_userns_clone") == "0":
        return _set("kernel.unprivileged_userns_clone", "1")
    if machine.container:
        return _container(machine, state)
    if machine.setting("kernel.apparmor_restrict_unprivileged_userns") == "1":
        return _app_armor()
    return Remedy(
        "Something on this machine forbids user namespaces, such as SELinux, a seccomp filter or a container."
    )


def _set(name: str, value: str) -> Remedy:
    lines = (
        f"sudo sysctl -w {name}={value}",
        f"echo {name}={value} | sudo tee /etc/sysctl.d/60-rundry.conf",
    )
    return Remedy(f"The setting {name} forbids it. The second command keeps the change after a restart.", lines)


def _app_armor() -> Remedy:
    python = os.path.realpath(sys.executable)
    profile = ("abi <abi/4.0>,", f'profile rundry "{python}" flags=(unconfined) {{', "  userns,", "}")
    return Remedy(
        "AppArmor forbids it (Ubuntu 24.04). A profile allows it to the Python that runs rundry; without one, "
        "`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` allows it to all programs.",
        (
            f"printf '%s\\n' {shlex.join(profile)} | sudo tee /etc/apparmor.d/rundry",
            "sudo apparmor_parser -r /etc/apparmor.d/rundry",
        ),
    )


def _container(machine: Machine, state: Path) -> Remedy:
    volume = f"-v rundry:{shlex.quote(str(state))}"
    if machine.container == "podman":
        return Remedy(
            "Podman forbids it. Start the container with these options.",
            (f"podman run --security-opt unmask=ALL --security-opt label=disable {volume} ...",),
        )
    seccomp = "" if os.geteuid() == 0 else "--security-opt seccomp=unconfined "
    return Remedy(
        "Docker forbids it. Start the container with these options (in devcontainer.json: `runArgs`).",
        (
            "docker run --cap-add SYS_ADMIN --security-opt apparmor=unconfined --security-opt systempaths=unconfined "
            f"{seccomp}{volume} ...",
        ),
    )


def _same_file_system(workspace: Path, state: Path) -> Remedy:
    return Remedy(
        f"Make a git repository, so that rundry can use its folder, or have {state} on the file system of {workspace}.",
        (f"git -C {shlex.quote(str(workspace))} init",),
    )


def _file_system(machine: Machine, kind: str) -> Remedy:
    if machine.is_old:
        return Remedy("Layers need Linux 5.11 or newer.")
    if kind == "overlay" and machine.container:
        return Remedy(
            "The workspace lies on the container's own file system. Start the container with it on a volume.",
            (f"{machine.container} run -v FOLDER:FOLDER ...",),
        )
    words = f" ({kind})" if kind else ""
    return Remedy(
        f"The file system of the workspace{words} does not have what layers need. ext4, XFS and Btrfs have it."
    )
