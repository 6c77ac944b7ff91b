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
_NEW_USER, _NEW_MOUNTS, _NEW_PIDS = 0x10000000, 0x00020000, 0x20000000
_REMOUNT_BIND = 32 | 4096
_MISSING = 38
"""ENOSYS, with which the filter of system calls answers."""
_X32 = 0x40000000
_CALLS = {
    "x86_64": {"add_key": 248, "keyctl": 250, "perf": 298, "bpf": 321, "userfaultfd": 323},
    "aarch64": {"add_key": 217, "keyctl": 219, "perf": 241, "bpf": 280, "userfaultfd": 282},
}
"""Numbers of the system calls of the attacks. On other processors they are not tried, which counts as not held."""
_IO_URING_SETUP = 425
_USER_KEYRING, _SEARCH = -4, 10
"""KEY_SPEC_USER_KEYRING and KEYCTL_SEARCH of keyctl(2)."""
_USER_FAULTS_ONLY = 1
_MARK = b"changed"


class AttackTargets(dict[str, str]):
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


def control(t: AttackTargets) -> bool:
    """Write in the workspace. If this fails, the results of the other attacks are not valid."""
    return overwrite("inside")


def write_outside(t: AttackTargets) -> bool:
    """Write and create files outside."""
    return any_of(lambda: overwrite(t["outside"]), lambda: overwrite(t["outside"] + ".new"))


def truncate_outside(t: AttackTargets) -> bool:
    """Truncate a file outside."""
    os.truncate(t["cut"], 0)
    return True


def attributes_outside(t: AttackTargets) -> bool:
    """Change the mode and the times of a file outside."""
    return any_of(lambda: os.chmod(t["outside"], 0o640) is None, lambda: os.utime(t["outside"], (1, 1)) is None)  # noqa: PTH101


def write_protected(t: AttackTargets) -> bool:
    """Change files that the user's shell and git execute."""
    return any_of(lambda: overwrite(".envrc"), lambda: overwrite(".git/hooks/pre-commit"))


def write_programs(t: AttackTargets) -> bool:
    """Change and add a program of PATH."""
    return any_of(lambda: overwrite(t["program"]), lambda: overwrite(t["program"] + "2"))


def read_secret(t: AttackTargets) -> bool:
    """Read a hidden file, also after an attempt to unmount what hides it."""
    folder = os.path.dirname(t["hidden"])  # noqa: PTH120
    ctypes.CDLL(None).umount2(folder.encode(), _DETACH_MOUNT)
    return any_of(lambda: t.shows(t["hidden"]), lambda: t.shows(f"/proc/self/root{t['hidden']}"))


def read_temp(t: AttackTargets) -> bool:
    """Read a temp file of another program."""
    return t.shows(t["temp"])


def read_denied(t: AttackTargets) -> bool:
    """Read a denied file directly and through a link."""
    ways = [lambda: t.shows("denied"), lambda: os.link("denied", "hard") is None and t.shows("hard")]
    return any_of(*ways)


def write_denied(t: AttackTargets) -> bool:
    """Overwrite a denied file or replace it with another one."""
    return any_of(lambda: overwrite("denied"), lambda: os.rename("inside", "denied") is None)  # noqa: PTH104


def read_denied_in_git(t: AttackTargets) -> bool:
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


def kernel_files(t: AttackTargets) -> bool:
    """Open each file below /proc and /sys for writing, without those of the sandbox's own processes."""
    names = [name for name in os.listdir("/proc") if not name.isdigit() and not os.path.islink(f"/proc/{name}")]  # noqa: PTH208, PTH114
    return any(can_write_below(place) for place in (*(f"/proc/{name}" for name in names), "/sys")) or new_proc(t)


def can_write_below(place: str) -> bool:
    """Return whether one file can be opened for writing. Nothing is written."""
    waiting = [place]
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif not entry.is_symlink() and can_open(entry.path):
                        return True
        except NotADirectoryError:
            if can_open(path):
                return True
        except OSError:
            continue
    return False


def can_open(path: str) -> bool:
    """Return whether a file can be opened for writing."""
    try:
        return opens(path, os.O_WRONLY)
    except OSError:
        return False


def new_proc(t: AttackTargets) -> bool:
    """Become root of a new user namespace, and write to the kernel's files through another mount of /proc."""
    return bool(t["kernel"]) and in_child(lambda: reaches_kernel_files(t["kernel"].split("\n")))


def reaches_kernel_files(paths: list[str]) -> bool:
    """Make the mounts writable, then mount /proc again, and try these files after each step."""
    libc, uid, gid = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
    if libc.unshare(_NEW_USER | _NEW_MOUNTS | _NEW_PIDS):
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        try:
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123
                file.write(text)
        except OSError:
            continue
    for path in paths:
        top = "/".join(path.split("/")[:3]).encode()
        libc.mount(None, top, None, _REMOUNT_BIND, None)
        libc.umount2(top, _DETACH_MOUNT)
    if any(can_open(path) for path in paths):
        return True

    def mounted() -> bool:
        return libc.mount(b"proc", b"/proc", b"proc", 0, None) == 0 and any(can_open(path) for path in paths)

    return in_child(mounted)  # the first child is in the new PID namespace


def in_child(attack: Callable[[], bool]) -> bool:
    """Run an attack in a child process, and return whether it succeeded."""
    pid = os.fork()
    if not pid:
        try:
            os._exit(0 if attack() else 1)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def keyrings(t: AttackTargets) -> bool:
    """Find a key in the keyring of the user, and add one."""
    name = t["key"].encode()
    found = succeeds("keyctl", _SEARCH, _USER_KEYRING, b"user", name, 0)
    return found or succeeds("add_key", b"user", name + b"2", b"x", 1, _USER_KEYRING)


def io_uring(t: AttackTargets) -> bool:
    """Make a ring, with which files are opened and written without system calls of their own."""
    return is_there(_IO_URING_SETUP, 1, ctypes.create_string_buffer(256))


def userfaultfd(t: AttackTargets) -> bool:
    """Handle page faults in user space, with which attackers win races in the kernel."""
    return succeeds("userfaultfd", _USER_FAULTS_ONLY)


def bpf(t: AttackTargets) -> bool:
    """Try to load programs into the kernel. Any answer but ENOSYS counts: the kernel decides what a user may do."""
    return any(is_there(number, 0, None, 0) for number in numbers("bpf"))


def perf(t: AttackTargets) -> bool:
    """Try to measure other programs. Any answer but ENOSYS counts: the kernel decides what a user may do."""
    return any(is_there(number, None, 0, -1, -1, 0) for number in numbers("perf"))


def numbers(name: str) -> list[int]:
    """Return the numbers of a system call: that of this processor, and that of x32 on x86_64."""
    machine = os.uname().machine
    number = _CALLS[machine][name]
    return [number, number | _X32] if machine == "x86_64" else [number]


def succeeds(name: str, *arguments: object) -> bool:
    """Return whether a system call succeeds."""
    return any(called(number, *arguments)[0] >= 0 for number in numbers(name))


def is_there(number: int, *arguments: object) -> bool:
    """Return whether the kernel knows a system call, whatever it answers."""
    return called(number, *arguments) != (-1, _MISSING)


def called(number: int, *arguments: object) -> tuple[int, int]:
    """Make a system call. Return its result and the error."""
    libc = ctypes.CDLL(None, use_errno=True)
    ctypes.set_errno(0)
    words = [ctypes.c_long(part) if isinstance(part, int) else part for part in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    return result, ctypes.get_errno()


def other_families(t: AttackTargets) -> bool:
    """Make sockets that no network namespace separates: AF_VSOCK and AF_ALG."""
    return any_of(*(lambda family=family: is_made(family) for family in (socket.AF_VSOCK, socket.AF_ALG)))


def is_made(family: int) -> bool:
    """Return whether a socket of this family can be made."""
    kind = socket.SOCK_SEQPACKET if family == socket.AF_ALG else socket.SOCK_STREAM
    with socket.socket(family, kind):
        return True


def limits(t: AttackTargets) -> bool:
    """Set the limits of a process outside to what they are."""
    import resource

    now = resource.prlimit(t.pid, resource.RLIMIT_CORE)
    resource.prlimit(t.pid, resource.RLIMIT_CORE, now)
    return True


def priority(t: AttackTargets) -> bool:
    """Set the priority of a process outside to what it is, and the processors that it uses."""
    return any_of(
        lambda: os.setpriority(os.PRIO_PROCESS, t.pid, os.getpriority(os.PRIO_PROCESS, t.pid)) is None,
        lambda: os.sched_setaffinity(t.pid, os.sched_getaffinity(t.pid)) is None,
    )


def fifo(t: AttackTargets) -> bool:
    """Write to a FIFO that a program outside reads."""
    return opens(t["fifo"], os.O_WRONLY)


def unix_socket(t: AttackTargets) -> bool:
    """Connect to services outside, by each name that their sockets have."""
    return any_of(*(lambda path=path: connects(socket.AF_UNIX, path) for path in t["sockets"].split("\n")))


def abstract_socket(t: AttackTargets) -> bool:
    """Connect to a service outside through an abstract socket, which has no file."""
    return connects(socket.AF_UNIX, "\0" + t["abstract"])


def tcp(t: AttackTargets) -> bool:
    """Connect to a server on this machine."""
    return connects(socket.AF_INET, ("127.0.0.1", int(t["tcp"])))


def udp(t: AttackTargets) -> bool:
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


def terminal(t: AttackTargets) -> bool:
    """Open another terminal of the user for reading, writing or both."""
    return any_of(*(lambda mode=mode: opens(t["terminal"], mode) for mode in (os.O_RDWR, os.O_RDONLY, os.O_WRONLY)))


def controlling_terminal(t: AttackTargets) -> bool:
    """Open the terminal that rundry runs in."""
    return any_of(lambda: opens("/dev/tty", os.O_RDWR), lambda: opens("/dev/tty", os.O_RDONLY))


def opens(path: str, mode: int) -> bool:
    """Open a device without waiting for it."""
    os.close(os.open(path, mode | os.O_NOCTTY | os.O_NONBLOCK))
    return True


def send_signal(t: AttackTargets) -> bool:
    """Try to end a process outside the sandbox."""
    os.kill(t.pid, signal.SIGUSR1)
    return True


def trace(t: AttackTargets) -> bool:
    """Attach to a process outside."""
    libc = ctypes.CDLL(None, use_errno=True)
    nothing = ctypes.c_void_p(0)
    if libc.ptrace(_PTRACE_SEIZE, t.pid, nothing, nothing) != 0:
        return False
    libc.ptrace(_PTRACE_DETACH, t.pid, nothing, nothing)
    return True


def environment(t: AttackTargets) -> bool:
    """Read the environment and the files of a process outside."""
    place = f"/proc/{t.pid}"
    return any_of(lambda: t.shows(f"{place}/environ"), lambda: t.shows(f"{place}/root{t['hidden']}"))


def command_lines(t: AttackTargets) -> bool:
    """Read the arguments of a process outside."""
    return t.shows(f"/proc/{t.pid}/cmdline")


def shared_memory(t: AttackTargets) -> bool:
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
    "kernel_files": kernel_files,
    "keyrings": keyrings,
    "io_uring": io_uring,
    "userfaultfd": userfaultfd,
    "bpf": bpf,
    "perf": perf,
    "other_families": other_families,
    "limits": limits,
    "priority": priority,
    "fifo": fifo,
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
    target = AttackTargets(json.loads(sys.argv[1]))
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
