"""Attack the sandbox from the inside: `python -I -S -c TEXT TARGETS`, one attack for each guarantee.

TARGETS is a JSON object: the targets that the stage prepared outside (stage.py). Prints a JSON object: for each attack,
true if it succeeded and false if the system refused it. An attack that failed in another way is left out.
Does not import other modules of rundry.
"""

import ctypes
import json
import os
import signal
import socket
import sys
import zlib
from collections.abc import Callable

_PTRACE_SEIZE, _PTRACE_DETACH, _DETACH_MOUNT = 0x4206, 17, 2
_MARK = b"changed"


class Target(dict[str, str]):
    """The prepared targets, by name."""

    @property
    def pid(self) -> int:
        """Return the pid of a process outside of the sandbox."""
        return int(self["pid"])

    def shows(self, path: str) -> bool:
        """Return whether the file can be read and contains the secret."""
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs 5 ms here
            return self["secret"].encode() in file.read(100_000)


def overwrite(path: str) -> bool:
    """Replace the content of a file."""
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(_MARK)
    return True


def any_of(*attacks: Callable[[], bool]) -> bool:
    """Run all attacks, and return whether one of them succeeded."""
    found = False
    for attack in attacks:
        try:
            found = attack() or found
        except OSError:
            continue
    return found


def control(t: Target) -> bool:
    """Write in the workspace. If this fails, the results of the other attacks are not valid."""
    return overwrite("inside")


def write_outside(t: Target) -> bool:
    """Write and create files outside."""
    return any_of(lambda: overwrite(t["outside"]), lambda: overwrite(t["outside"] + ".new"))


def truncate_outside(t: Target) -> bool:
    """Truncate a file outside."""
    os.truncate(t["cut"], 0)
    return True


def attributes_outside(t: Target) -> bool:
    """Change the mode and the times of a file outside."""
    return any_of(lambda: os.chmod(t["outside"], 0o640) is None, lambda: os.utime(t["outside"], (1, 1)) is None)  # noqa: PTH101


def write_protected(t: Target) -> bool:
    """Change files that the user's shell and git execute."""
    return any_of(lambda: overwrite(".envrc"), lambda: overwrite(".git/hooks/pre-commit"))


def write_programs(t: Target) -> bool:
    """Change and add a program of PATH."""
    return any_of(lambda: overwrite(t["program"]), lambda: overwrite(t["program"] + "2"))


def read_secret(t: Target) -> bool:
    """Read a hidden file, also after an attempt to unmount what hides it."""
    folder = os.path.dirname(t["hidden"])  # noqa: PTH120
    ctypes.CDLL(None).umount2(folder.encode(), _DETACH_MOUNT)
    return any_of(lambda: t.shows(t["hidden"]), lambda: t.shows(f"/proc/self/root{t['hidden']}"))


def read_temp(t: Target) -> bool:
    """Read a temp file of another program."""
    return t.shows(t["temp"])


def read_denied(t: Target) -> bool:
    """Read a denied file directly and through a link."""
    ways = [lambda: t.shows("denied"), lambda: os.link("denied", "hard") is None and t.shows("hard")]
    return any_of(*ways)


def write_denied(t: Target) -> bool:
    """Overwrite a denied file or replace it with another one."""
    return any_of(lambda: overwrite("denied"), lambda: os.rename("inside", "denied") is None)  # noqa: PTH104


def read_denied_in_git(t: Target) -> bool:
    """Read the denied content from the objects of the repository."""
    for folder, _, files in os.walk(".git"):
        for name in files:
            try:
                with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123
                    if t["secret"].encode() in zlib.decompress(file.read()):
                        return True
            except (OSError, zlib.error):
                continue
    return False


def unix_socket(t: Target) -> bool:
    """Connect to a service outside."""
    return connects(socket.AF_UNIX, t["socket"])


def abstract_socket(t: Target) -> bool:
    """Connect to a service outside through an abstract socket, which has no file."""
    return connects(socket.AF_UNIX, "\0" + t["abstract"])


def tcp(t: Target) -> bool:
    """Connect to a server on this machine."""
    return connects(socket.AF_INET, ("127.0.0.1", int(t["tcp"])))


def udp(t: Target) -> bool:
    """Send a datagram to a server on this machine. The stage checks whether it arrives."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        sending.sendto(_MARK, ("127.0.0.1", int(t["udp"])))
    return False


def connects(family: int, address: object) -> bool:
    """Return whether a connection can be made."""
    with socket.socket(family, socket.SOCK_STREAM) as connecting:
        connecting.settimeout(0.5)
        connecting.connect(address)  # pyright: ignore[reportArgumentType]
    return True


def terminal(t: Target) -> bool:
    """Open another terminal of the user for reading, writing or both."""
    return any_of(*(lambda mode=mode: opens(t["terminal"], mode) for mode in (os.O_RDWR, os.O_RDONLY, os.O_WRONLY)))


def controlling_terminal(t: Target) -> bool:
    """Open the terminal that rundry runs in."""
    return any_of(lambda: opens("/dev/tty", os.O_RDWR), lambda: opens("/dev/tty", os.O_RDONLY))


def opens(path: str, mode: int) -> bool:
    """Open a device without waiting for it."""
    os.close(os.open(path, mode | os.O_NOCTTY | os.O_NONBLOCK))
    return True


def send_signal(t: Target) -> bool:
    """Try to end a process outside the sandbox."""
    os.kill(t.pid, signal.SIGUSR1)
    return True


def trace(t: Target) -> bool:
    """Attach to a process outside."""
    libc = ctypes.CDLL(None, use_errno=True)
    nothing = ctypes.c_void_p(0)
    if libc.ptrace(_PTRACE_SEIZE, t.pid, nothing, nothing) != 0:
        return False
    libc.ptrace(_PTRACE_DETACH, t.pid, nothing, nothing)
    return True


def environment(t: Target) -> bool:
    """Read the environment and the files of a process outside."""
    place = f"/proc/{t.pid}"
    return any_of(lambda: t.shows(f"{place}/environ"), lambda: t.shows(f"{place}/root{t['hidden']}"))


def command_lines(t: Target) -> bool:
    """Read the arguments of a process outside."""
    return t.shows(f"/proc/{t.pid}/cmdline")


def shared_memory(t: Target) -> bool:
    """Open the POSIX or System V shared memory of a process outside."""
    libc = ctypes.CDLL(None, use_errno=True)
    return any_of(lambda: t.shows(t["shm"]), lambda: libc.shmget(int(t["shmkey"]), 0, 0) >= 0)


# The most destructive attack comes last, because the others need unchanged files.
ATTACKS = {
    "control": control,
    "read_secret": read_secret,
    "read_temp": read_temp,
    "read_denied": read_denied,
    "read_denied_in_git": read_denied_in_git,
    "unix_socket": unix_socket,
    "abstract_socket": abstract_socket,
    "tcp": tcp,
    "udp": udp,
    "terminal": terminal,
    "controlling_terminal": controlling_terminal,
    "trace": trace,
    "environment": environment,
    "command_lines": command_lines,
    "shared_memory": shared_memory,
    "signal": send_signal,
    "truncate_outside": truncate_outside,
    "attributes_outside": attributes_outside,
    "write_outside": write_outside,
    "write_protected": write_protected,
    "write_programs": write_programs,
    "write_denied": write_denied,
}


def main() -> None:
    """Run every attack that the stage prepared."""
    target = Target(json.loads(sys.argv[1]))
    prepared = set(target["prepared"].split())
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    found: dict[str, bool] = {}
    for name, attack in ATTACKS.items():
        if name not in prepared:
            continue
        try:
            found[name] = attack(target)
        except OSError:
            found[name] = False
        except Exception as error:  # noqa: BLE001 - one attack that fails must not hide the others
            print(f"{name}: {error!r}", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
