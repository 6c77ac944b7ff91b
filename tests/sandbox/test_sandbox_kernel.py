"""What commands reach of the kernel and of other programs, apart from files and networks, in each sandbox."""

import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from fakes.visible_folders import visible_folder

from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox

WAYS = ["bubblewrap", "landlock"]


@pytest.fixture
def ws(tmp_path):
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def run(ws):
    async def run(way: str, line: str) -> tuple[int | None, str]:
        sandbox = await Sandbox.detect(kinds=[way])
        if sandbox.kind is None:
            pytest.skip(sandbox.why_none)
        done = await sandbox.run(line, ws, cwd=ws, env=command_env(os.environ), timeout=100)
        return done.exit_code, done.output.decode("utf-8", "replace")

    return run


def script(ws: Path, text: str) -> str:
    (ws / "try.py").write_text(text)
    return "python3 try.py"


OPENS_EVERYTHING = """
import os
tops = [f"/proc/{name}" for name in os.listdir("/proc") if not name.isdigit()]
waiting, found, tried = [top for top in [*tops, "/sys"] if not os.path.islink(top)], [], 0
while waiting:
    path = waiting.pop()
    if os.path.isdir(path):
        try:
            waiting += [f"{path}/{name}" for name in os.listdir(path) if not os.path.islink(f"{path}/{name}")]
        except OSError:
            pass
        continue
    tried += 1
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        found.append(path)
    except OSError:
        pass
print("tried", tried > 500, "writable", len(found), found[:5])
"""


@pytest.mark.parametrize("way", WAYS)
async def test_no_file_of_the_kernel_can_be_opened_for_writing(way, run, ws):
    assert "tried True writable 0 []" in (await run(way, script(ws, OPENS_EVERYTHING)))[1]


async def test_a_command_writes_the_files_of_its_own_processes(run):
    assert await run("bubblewrap", "echo 500 > /proc/self/oom_score_adj && echo x > /proc/$$/comm") == (0, "")


@pytest.mark.parametrize("way", WAYS)
async def test_a_command_sees_the_cgroup_that_limits_it(way, run):
    assert await run(way, "cat /proc/self/cgroup") == (0, Path("/proc/self/cgroup").read_text())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "around",
    [
        "mount -o remount,rw,bind /proc/sys",
        "umount -l /proc/sys",
        "unshare -Urmpf sh -c 'mount -t proc proc /proc; echo x > /proc/sys/kernel/core_pattern'",
        "unshare -Urm sh -c 'umount -l /proc/sys; echo x > /proc/sys/kernel/core_pattern'",
        "mkdir p; mount -t proc proc p; mount --bind /proc p",
    ],
)
async def test_no_other_mount_leads_to_the_files_of_the_kernel(way, around, run):
    place = Path("/proc/sys/kernel/core_pattern")
    before = place.read_text()
    try:
        await run(
            way, f"{around}; echo {before.strip()}x > {place}; echo {before.strip()}x > p/sys/kernel/core_pattern"
        )
        assert place.read_text() == before
    finally:
        if place.read_text() != before:
            place.write_text(before)


CALLS = """
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
numbers = {"x86_64": (248, 249, 250, 298, 321, 323), "aarch64": (217, 218, 219, 241, 280, 282)}[platform.machine()]
for number in (*numbers, 425, 426, 427):
    for each in (number, number | 0x40000000):
        result = libc.syscall(ctypes.c_long(each), *[ctypes.c_long(0)] * 6)
        if (result, ctypes.get_errno()) != (-1, errno.ENOSYS):
            print("answered", each, result, ctypes.get_errno())
print("end")
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="no filter for this processor")
@pytest.mark.parametrize("way", WAYS)
async def test_calls_that_no_namespace_separates_are_not_there(way, run, ws):
    assert await run(way, script(ws, CALLS)) == (0, "end\n")


I386 = """
#include <stdio.h>
static long call(long number, long a) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(0L), "d"(0L) : "memory");
    return result;
}
int main(void) {
    long numbers[] = {286, 287, 288, 336, 357, 374, 425, 426, 427};
    for (int n = 0; n < 9; n++) printf("%ld ", call(numbers[n], 0));
    printf("pid %d socketcall %ld vsock %ld unix %d\\n", call(20, 0) > 0, call(102, 1), call(359, 40), 1);
    return 0;
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64" or shutil.which("gcc") is None, reason="needs gcc on x86_64")
@pytest.mark.parametrize("way", WAYS)
async def test_calls_of_the_32_bit_abi_are_not_there_either(way, run, ws):
    (ws / "i386.c").write_text(I386)
    code, said = await run(way, "gcc -o i386 i386.c && ./i386")
    if code == 139:
        pytest.skip("this kernel has no 32-bit ABI")
    assert said == "-38 " * 9 + "pid 1 socketcall -38 vsock -97 unix 1\n"


@pytest.mark.parametrize("way", WAYS)
async def test_sockets_that_leave_the_network_namespace_cannot_be_made(way, run, ws):
    families = "import socket\nfor family in (40, 38, 17, 31, 44):\n    try: print(family, socket.socket(family))\n"
    said = (await run(way, script(ws, families + "    except OSError as error: print(error.errno)\n")))[1]
    assert said.split() == ["97"] * 5


@pytest.fixture
def bystander():
    with subprocess.Popen(["sleep", "3600.7"]) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("way", WAYS)
async def test_the_limits_of_a_process_outside_cannot_be_changed(way, run, ws, bystander):
    before = resource.prlimit(bystander.pid, resource.RLIMIT_CPU)
    await run(way, f"prlimit --pid {bystander.pid} --cpu=1:1 --nofile=0:0")
    assert resource.prlimit(bystander.pid, resource.RLIMIT_CPU) == before
    assert (await run(way, "ulimit -c 0 && prlimit --core=0 sh -c 'ulimit -c'"))[1] == "0\n"


@pytest.fixture
def outside(pytestconfig):
    """A folder that commands see, and that is neither the workspace nor a temp folder."""
    with tempfile.TemporaryDirectory(dir=visible_folder(pytestconfig.rootpath), prefix=".test-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("way", WAYS)
async def test_no_fifo_outside_can_be_written(way, run, outside, ws):
    fifo = outside / "fifo"
    os.mkfifo(fifo)
    os.mkfifo(ws / "own")
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        _, said = await run(way, f"timeout 5 sh -c 'echo forged > {fifo}'; cat own & echo mine > own; wait")
        assert said.endswith("mine\n")
        assert os.read(reading, 10) == b""
    finally:
        os.close(reading)


CONNECTS = (
    "import os, socket, sys\nos.chdir(sys.argv[1])\nfor name in os.listdir('.'):\n"
    "    try: socket.socket(socket.AF_UNIX).connect(name)\n    except OSError: continue\n    print('reached', name)\n"
)


async def test_no_name_of_a_socket_of_a_service_leads_to_it(run, outside, ws, monkeypatch):
    servers = [socket.socket(socket.AF_UNIX) for _ in range(5)]
    monkeypatch.chdir(outside)
    for server, name in zip(servers, ("relative", "first", "linked"), strict=False):
        server.bind(name)
        server.listen()
    Path("first").rename("renamed")
    os.link("linked", "link")
    servers[3].bind(str(outside / "absolute"))
    servers[3].listen()
    line = script(ws, CONNECTS)
    said = (await run("bubblewrap", f"{line} {outside}; echo end"))[1]
    assert "reached" not in said and said.endswith("end\n")
    sandbox = await Sandbox.detect(kinds=["bubblewrap"])
    waiting = f"touch up; until [ -e made ]; do sleep 0.05; done; {line} {outside}; echo end"
    import asyncio

    task = asyncio.create_task(sandbox.run(waiting, ws, cwd=ws, env=command_env(os.environ), timeout=100))
    while not (ws / "up").exists():
        await asyncio.sleep(0.02)
    servers[4].bind(str(outside / "later"))
    servers[4].listen()
    (ws / "made").touch()
    assert b"reached" not in (await task).output
    for server in servers:
        server.close()


async def test_a_socket_of_a_service_that_stays_reachable_is_named(ws):
    sandbox = await Sandbox.detect(kinds=["bubblewrap"])
    if sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(ws / "service.sock"))
        server.listen()
        await sandbox.probe(ws)
        found = {one.name: one for one in sandbox.missing()}
        assert "service.sock" in found["unix_socket"].line and "service.sock" in found["unix_socket"].short
    (ws / "service.sock").unlink()
    await sandbox.probe(ws)
    assert "unix_socket" not in {one.name for one in sandbox.missing()}


LEAKS = "#include <stdlib.h>\nint main(void) { void *volatile p = malloc(7); p = 0; return 0; }\n"
FORKS = """
import multiprocessing, socket, asyncio
def double(n): return n * 2
def test_pool():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(double, [1, 2]) == [2, 4]
def test_pair():
    left, right = socket.socketpair()
    left.send(b"x")
    assert right.recv(1) == b"x"
def test_asyncio():
    async def main():
        process = await asyncio.create_subprocess_exec("echo", "hi", stdout=asyncio.subprocess.PIPE)
        return await process.communicate()
    assert asyncio.run(main())[0] == b"hi\\n"
"""
NODE = (
    "const net = require('net'), fs = require('fs');"
    "const s = net.createServer(c => c.end('hi')).listen('./n.sock', () =>"
    " net.connect('./n.sock').on('data', d => { console.log(String(d)); s.close(); }));"
    "fs.promises.readFile('/etc/hostname').then(() => 0);"
)
JAVA = 'class Hello { public static void main(String[] a) { System.out.println("hello"); } }\n'
COMMIT = "git -c user.name=a -c user.email=b commit -q --allow-empty -m one"
PROGRAMS = {
    "gcc -g -fsanitize=leak -o leak leak.c && ./leak": ("7 byte(s) leaked", ("gcc",)),
    "gcc -g -o plain leak.c && gdb -batch -ex 'break main' -ex run -ex bt ./plain": ("Breakpoint 1, main", ("gdb",)),
    f"{sys.executable} -m pytest -q -p no:cacheprovider test_forks.py": ("3 passed", ()),
    "node server.js": ("hi", ("node",)),
    "javac Hello.java && java Hello": ("hello", ("javac",)),
    "strace -f -e trace=execve true": ("exited with 0", ("strace",)),
    f"git init -q r && cd r && {COMMIT} && git log --format=%s": ("one", ("git",)),
    "perl -e 'print 6 * 7'": ("42", ("perl",)),
    "awk 'BEGIN { print 6 * 7 }'; find /usr/share/zoneinfo -name Paris | head -1": ("42", ("awk",)),
    "locale -a; date; getent passwd root": ("root", ("getent",)),
    "cargo init -q --vcs none --name c c && cd c && cargo run -q --offline": ("Hello, world!", ("cargo",)),
    "mkdir g && cd g && printf 'package main\\nfunc main() { println(42) }\\n' > m.go && go run m.go": ("42", ("go",)),
}


def works(name: str) -> bool:
    """Return whether the program is installed, and not only the launcher of a toolchain that is missing."""
    argv = [name, "version" if name == "go" else "--version"]
    return shutil.which(name) is not None and not subprocess.run(argv, capture_output=True, check=False).returncode


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("line", PROGRAMS)
async def test_tools_of_developers_work(way, line, run, ws):
    expected, needed = PROGRAMS[line]
    for name in needed:
        if not works(name):
            pytest.skip(f"{name} does not work here")
    (ws / "leak.c").write_text(LEAKS)
    (ws / "test_forks.py").write_text(FORKS)
    (ws / "server.js").write_text(NODE)
    (ws / "Hello.java").write_text(JAVA)
    _, said = await run(way, line)
    assert expected in said
