"""Restrict this process, then execute the command: `python -I -S restrict_process.py SETTINGS COMMAND...`.

This is the last step of every sandbox. SETTINGS is a JSON object:
- `landlock`: what Landlock allows: `write` (writable files and folders), `places` (readable ones), `hide` (unreadable
  places inside these), `keep` (hidden places that cannot be written either), `read` (readable places inside hidden
  ones). `{}`: the sandbox has mounts, and Landlock, if the kernel has it, only refuses to write to FIFOs outside of the
  writable ones.
- `apart`: whether the command gets a PID namespace and mounts of its own. The first process of the namespace is outside
  of Landlock and only waits. All processes in it end with the command. `hidden`: folders that are empty there.
- `cwd`: the folder in which the command starts, because entering a layer leads to the root. Empty
  means that of the process.
- `network`: whether the command uses the network of this machine, or one of its own without a way out.
- `processes`: the largest number of processes. `filter`: the seccomp program, in hexadecimal digits; may be empty.
- `report`: a descriptor to which one byte is written just before the command starts; -1: none.

If the rules of `landlock` cannot be applied, the command does not run. Does not import other modules of rundry.
"""

import ctypes
import json
import os
import resource
import select
import stat
import struct
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls, the same on every architecture."""
_VERSION, _PATH_BENEATH = 1, 1
_SET_PDEATHSIG, _SET_SECCOMP, _DROP_FROM_BOUNDING_SET, _SET_NO_NEW_PRIVS, _SIGKILL = 1, 22, 24, 38, 9  # linux/prctl.h
_FILTER, _INSTRUCTION = 2, 8
"""SECCOMP_MODE_FILTER, and the bytes of a `struct sock_filter`."""
_NEW_MOUNTS, _NEW_USER, _NEW_PROCESSES = 0x00020000, 0x10000000, 0x20000000  # linux/sched.h
_READ_ONLY, _RECURSIVE, _PRIVATE, _NO_SUID_DEVICES_PROGRAMS = 1, 1 << 14, 1 << 18, 2 | 4 | 8  # linux/mount.h
_ADMIN = 21
"""CAP_SYS_ADMIN."""
_SIGINT = 2
_KEPT_CAPABILITIES = frozenset({0, 1, 3, 4, 6, 7, 10})
"""Capabilities that root keeps: for files, users and low ports. Others allow mounts and access to other processes."""
_MOVES_FILES = 2
"""The first ABI that can allow moving a file from one folder to another."""
NOT_HELD = 126
"""Exit code if the command did not run."""

WRITE_FILE, READ_FILE = 1 << 1, 1 << 2
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_MAKE_AND_REMOVE = sum(1 << bit for bit in range(4, 13))
_OF_FILES = WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""The rights that a rule for a file may contain."""
_TCP = 1 << 0 | 1 << 1
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1


def handled(abi: int, *, network: bool) -> tuple[int, int, int]:
    """Return the rights that need a rule: for files, the network and other processes (landlock(7))."""
    files = WRITE_FILE | READ_FILE | _MAKE_AND_REMOVE
    files |= (REFER if abi >= 2 else 0) | (TRUNCATE if abi >= 3 else 0) | (IOCTL_DEV if abi >= 5 else 0)
    tcp = _TCP if abi >= 4 and not network else 0
    return files, tcp, _ABSTRACT_SOCKETS | _SIGNALS if abi >= 6 else 0


def ruleset_bytes(abi: int, *, network: bool) -> bytes:
    """Return `struct landlock_ruleset_attr` in the length that this ABI knows; the kernel refuses a longer one."""
    known = 1 if abi < 4 else 2 if abi < 6 else 3
    return struct.pack(f"={known}Q", *handled(abi, network=network)[:known])


def rule_bytes(allowed: int, folder: int) -> bytes:
    """Return a packed `struct landlock_path_beneath_attr` that grants the rights for an open folder."""
    return struct.pack("=Qi", allowed, folder)


def places_to_read(hide: list[str], beneath: str) -> list[str]:
    """Return the folders and files below a folder, without the hidden ones.

    They are listed one by one, because no rule can revoke what another rule grants. Links are left out: the caller
    lists their targets.
    """
    below = [path for path in hide if path == beneath or path.startswith(beneath.rstrip("/") + "/")]
    if not below:
        return [beneath]
    if beneath in below:
        return []
    found: list[str] = []
    try:
        with os.scandir(beneath) as entries:
            for entry in entries:
                if not entry.is_symlink():
                    found += places_to_read(below, entry.path)
    except OSError:
        pass  # the folder cannot be read anyway
    return found


def abi_here() -> int:
    """Return the Landlock ABI of this kernel; 0 if it has no Landlock, or Landlock is disabled."""
    if sys.platform != "linux":
        return 0
    found = _call(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    return max(0, found)


def restrict(settings: dict[str, object], rules: dict[str, object], abi: int) -> None:
    """Restrict this process and its future children with Landlock alone. Raises OSError."""
    network = bool(settings["network"])
    files = handled(abi, network=network)[0]
    ruleset = _new_ruleset(ruleset_bytes(abi, network=network))
    hide = _texts(rules, "hide")
    shown = [path for place in _texts(rules, "places") for path in places_to_read(hide, place)]
    for path in shown + _texts(rules, "read"):
        _allow(ruleset, path, READ_FILE)
    for path in (part for place in _texts(rules, "write") for part in places_to_read(_texts(rules, "keep"), place)):
        _allow_all(ruleset, path, files, hide)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    for capability in set(range(64)) - _KEPT_CAPABILITIES:  # it fails for users without capabilities
        libc.prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)
    _apply(ruleset)


def restrict_to_mounts(abi: int, *, network: bool) -> None:
    """Refuse writing to what is not on a writable mount. Raises OSError.

    The mounts refuse it already for files and folders, but not for FIFOs. With the network of this machine, its
    abstract sockets are refused, too.
    """
    rights = WRITE_FILE | REFER  # without a rule, Landlock refuses to move a file to another folder
    known = (rights, 0, _ABSTRACT_SOCKETS if network else 0)
    ruleset = _new_ruleset(struct.pack("=3Q", *known) if abi >= 6 else struct.pack("=Q", rights))
    _allow(ruleset, "/", REFER)
    for path in writable_mounts():
        _allow(ruleset, path, rights)
    _apply(ruleset)


def writable_mounts() -> list[str]:
    """Return the mount points of this process that can be written (proc_pid_mountinfo(5))."""
    found: list[str] = []
    with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123 - pathlib costs 5 ms here
        for line in file:
            fields = line.split(b" ")
            if b"rw" in fields[5].split(b","):
                found.append(_without_escapes(fields[4]))
    return found


def _without_escapes(path: bytes) -> str:
    for byte in (b" ", b"\t", b"\n", b"\\"):
        path = path.replace(b"\\%03o" % byte[0], byte)
    return os.fsdecode(path)


def refuse_calls(program: bytes) -> bool:
    """Install the seccomp filter, which children inherit. Return whether the kernel accepted it."""
    if not program:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    words = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // _INSTRUCTION, ctypes.addressof(words))
    return libc.prctl(_SET_SECCOMP, _FILTER, header, 0, 0) == 0


def _new_ruleset(attributes: bytes) -> int:
    return _checked(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))


def _apply(ruleset: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    _checked(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)


def _allow_all(ruleset: int, path: str, files: int, hide: list[str]) -> None:
    """Grant write access to a path, and read access to everything in it that is not hidden.

    A rule for a folder applies to everything in it, so the folders around a hidden place get no read access: a command
    cannot read what it creates directly in one of them.
    """
    inside = [place for place in hide if place.startswith(path.rstrip("/") + "/")]
    if not inside:
        _allow(ruleset, path, files)
        return
    _allow(ruleset, path, files & ~READ_FILE)
    for part in places_to_read(inside, path):
        _allow(ruleset, part, READ_FILE)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # the path does not exist: there is nothing to grant
    try:
        mode = os.fstat(folder).st_mode
        if not stat.S_ISLNK(mode):
            rule = rule_bytes(rights if stat.S_ISDIR(mode) else rights & _OF_FILES, folder)
            _checked(ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(folder)


def _texts(settings: dict[str, object], name: str) -> list[str]:
    value = settings.get(name)
    return [str(item) for item in value] if isinstance(value, list) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _call(number: int, *arguments: object) -> int:
    result = ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments)
    return int(result)


def _checked(number: int, *arguments: object) -> int:
    result = _call(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return result


def _run_apart(hidden: list[str]) -> None:
    """Continue as a child of the first process of a new PID namespace. Raises OSError.

    Only the command returns from here. This process waits outside for its exit code, and passes it on.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if not _may_mount():
        _enter_user_namespace(libc)
    _no_error(libc.unshare(_NEW_MOUNTS | _NEW_PROCESSES), "no PID namespace")
    reading, writing = os.pipe()
    first = os.fork()
    if first:
        os.close(writing)
        _keep_only(libc, reading)
        said = os.read(_KEPT, 1)
        os._exit(said[0] if said else _code(os.waitpid(first, 0)[1]))
    os.close(reading)
    libc.prctl(_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    waiting = select.poll()
    waiting.register(writing, 0)
    if waiting.poll(0):  # nobody reads: the parent ended before that call
        os._exit(NOT_HELD)
    is_private = libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None)
    for place in hidden:
        _no_error(is_private, "no mounts of its own")
        flags = _READ_ONLY | _NO_SUID_DEVICES_PROGRAMS
        _no_error(libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", flags, b"mode=0755"), place)
    # Where a container refuses it, the command sees the processes of the container, as without a namespace.
    libc.mount(b"proc", b"/proc", b"proc", _NO_SUID_DEVICES_PROGRAMS, None)
    command = os.fork()
    if command:
        _keep_only(libc, writing)
        _wait_for_all(command)
    os.close(writing)
    os.setsid()


_KEPT = 3
"""The descriptor that waiting processes keep, besides the standard ones."""


def _keep_only(libc: ctypes.CDLL, descriptor: int) -> None:
    """Close all other descriptors, and let nothing but SIGKILL end the first process (its own namespace sends none)."""
    if descriptor != _KEPT:
        os.dup2(descriptor, _KEPT, inheritable=False)
    os.closerange(_KEPT + 1, 1 << 16)
    libc.signal(_SIGINT, None)


def _wait_for_all(command: int) -> None:
    """Pass the exit code of the command on, and wait for the others: the death of the parent ends them."""
    while True:
        try:
            ended, status = os.wait()
        except ChildProcessError:
            os._exit(0)
        if ended == command:
            os.write(_KEPT, bytes([_code(status)]))


def _code(status: int) -> int:
    """Return the exit code of a process, as a shell does: 128 + n if signal n ended it."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _may_mount() -> bool:
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
        held = next(line.split()[1] for line in status if line.startswith("CapEff"))
    return bool(int(held, 16) >> _ADMIN & 1)


def _enter_user_namespace(libc: ctypes.CDLL) -> None:
    """Enter a user namespace in which the user has their own id, and no other exists."""
    user, group = os.geteuid(), os.getegid()
    _no_error(libc.unshare(_NEW_USER), "no user namespace")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(text)


def _no_error(result: int, words: str) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, f"{words}: {os.strerror(code)}")


def _limit_processes(processes: int, *, counts_others: bool) -> None:
    """Limit the number of processes. `counts_others`: the kernel counts all processes of the user."""
    try:
        if counts_others:
            with open("/proc/loadavg", encoding="ascii") as file:  # noqa: PTH123 - pathlib costs 5 ms here
                processes += int(file.read().split()[3].partition("/")[2])
        _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
        limit = processes if hard == resource.RLIM_INFINITY else min(hard, processes)
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
    except (OSError, ValueError, IndexError):
        pass  # the limit stops accidents only: without it, the time-out of the command remains


def main() -> None:
    """Apply all restrictions, then replace this process with the command."""
    settings, command = json.loads(sys.argv[1]), sys.argv[2:]
    rules, abi = settings["landlock"], abi_here()
    try:
        if settings["apart"]:
            _run_apart(_texts(settings, "hidden"))
        if settings["cwd"]:
            os.chdir(settings["cwd"])
        if rules and abi < 1:
            raise OSError("this kernel has no Landlock")
        if rules:
            restrict(settings, rules, abi)
        elif abi >= _MOVES_FILES:
            restrict_to_mounts(abi, network=bool(settings["network"]))
    except OSError as error:
        print(f"rundry: the sandbox could not be set up, nothing was run: {error}", file=sys.stderr)
        sys.exit(NOT_HELD)
    _limit_processes(int(settings["processes"]), counts_others=bool(rules))
    refuse_calls(bytes.fromhex(settings["filter"]))  # the probe of the sandbox reports what a kernel without it allows
    if settings["report"] >= 0:
        os.write(settings["report"], b"1")
        os.close(settings["report"])
    try:
        os.execvp(command[0], command)
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        print(f"{command[0]}: {'not found' if is_missing else error.strerror}", file=sys.stderr)
        sys.exit(127 if is_missing else NOT_HELD)


if __name__ == "__main__":
    main()
