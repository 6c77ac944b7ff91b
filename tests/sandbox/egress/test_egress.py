"""Commands without a network reach the listed hosts, through the proxy of the run."""

import gc
import os
import shlex
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox

ASK = """
import os, socket, sys
place = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
asking = socket.create_connection((place[0], int(place[1])), timeout=10)
asking.sendall(sys.argv[1].encode().decode("unicode_escape").encode("latin-1"))
while piece := asking.recv(1000):
    sys.stdout.write(piece.decode("latin-1"))
"""


class Answer(BaseHTTPRequestHandler):
    """Says what it was asked for."""

    def do_GET(self):
        body = f"asked for {self.path} of {self.headers['Host']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def port():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


async def opened(*hosts: str) -> Sandbox:
    found = await Sandbox.detect(kinds=["bubblewrap"], hosts=hosts)
    if found.kind is None or (why := found.open_egress()):
        pytest.skip(found.why_none or why)
    return found


async def run(sandbox: Sandbox, ws, line: str) -> str:
    done = await sandbox.run(line, ws, cwd=ws, env=command_env(os.environ), timeout=30)
    return done.output.decode()


def proxies() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "rundry-egress"}


def asked(text: str) -> str:
    return f"python3 -c {shlex.quote(ASK)} {shlex.quote(text)}"


async def test_a_listed_host_is_reached_and_the_result_says_so(tmp_path, port):
    sandbox = await opened(f"127.0.0.1:{port}")
    place = f"127.0.0.1:{port}"
    said = await run(sandbox, tmp_path, asked(f"GET http://{place}/x HTTP/1.1\\r\\nHost: evil.com\\r\\n\\r\\n"))
    assert f"asked for /x of {place}" in said and f"[rundry: connected to {place}]" in said
    tunnel = rf"CONNECT {place} HTTP/1.1\r\n\r\nGET /y HTTP/1.0\r\nHost: {place}\r\n\r\n"
    said = await run(sandbox, tmp_path, asked(tunnel))
    assert "200 Connection established" in said and f"asked for /y of {place}" in said
    assert "rundry" not in await run(sandbox, tmp_path, "true")


async def test_no_other_host_is_reached(tmp_path, port):
    sandbox = await opened("pypi.org")
    for text in (f"GET http://127.0.0.1:{port}/ HTTP/1.1", f"CONNECT 127.0.0.1:{port} HTTP/1.1"):
        said = await run(sandbox, tmp_path, asked(rf"{text}\r\n\r\n"))
        assert "403 Forbidden" in said and "asked for" not in said
        assert f"[rundry: refused 127.0.0.1:{port}: not in [sandbox] hosts]" in said
    said = await run(sandbox, tmp_path, f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached")
    assert "reached" not in said
    said = await run(sandbox, tmp_path, asked(r"CONNECT pypi.org\0.evil.com:443 HTTP/1.1\r\n\r\n"))
    assert "refused a request that is not a plain HTTP proxy request" in said


async def test_a_tunnel_that_asks_for_another_host_is_refused_and_the_result_says_so(tmp_path, port):
    sandbox = await opened(f"localhost:{port}")
    line = f"curl -sS --proxy $HTTPS_PROXY --noproxy '' --connect-to ::localhost:{port} https://other.example/"
    said = await run(sandbox, tmp_path, line)
    assert f"[rundry: refused localhost:{port}: its TLS asks for other.example]" in said
    tunnel = rf"CONNECT localhost:{port} HTTP/1.1\r\n\r\nGET /y HTTP/1.1\r\nHost: other.example\r\n\r\n"
    said = await run(sandbox, tmp_path, asked(tunnel))
    assert "403 Forbidden" in said and "asked for" not in said
    assert f"[rundry: refused localhost:{port}: its HTTP request is not for this host]" in said


async def test_a_listed_name_that_leads_to_this_machine_is_refused(tmp_path, port):
    sandbox = await opened(f"127.1:{port}")  # a name for getaddrinfo(3), which leads to 127.0.0.1
    said = await run(sandbox, tmp_path, asked(rf"CONNECT 127.1:{port} HTTP/1.1\r\n\r\n"))
    assert f"[rundry: refused 127.1:{port}: it leads to an address that is not public]" in said


async def test_a_server_that_a_command_started_is_reached_without_the_proxy(tmp_path, port):
    sandbox = await opened("pypi.org")
    waiting = "for i in $(seq 100); do curl -sf localhost:8123 && break; sleep 0.1; done"
    line = f"python3 -m http.server 8123 >/dev/null 2>&1 & {waiting}"
    said = await run(sandbox, tmp_path, line)
    assert "Directory listing" in said and "refused" not in said


async def test_connections_at_the_same_time_are_bounded(tmp_path, port):
    sandbox = await opened(f"127.0.0.1:{port}")
    script = (
        "import os, socket\n"
        "place = os.environ['HTTPS_PROXY'].removeprefix('http://').split(':')\n"
        f"line = b'CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\n'\n"
        "held = []\n"
        "for _ in range(70):\n"
        "    one = socket.create_connection((place[0], int(place[1])), timeout=10)\n"
        "    one.sendall(line); held.append((one, one.recv(100)[9:12]))\n"
        "print([answer for _, answer in held].count(b'200'), [answer for _, answer in held].count(b'403'))\n"
    )
    said = await run(sandbox, tmp_path, f"python3 -c {shlex.quote(script)}")
    assert said.startswith("64 6\n"), said
    assert "refused a connection: more than 64 at the same time (6 times)" in said


async def test_the_proxy_ends_with_the_run(port):
    gc.collect()
    before = proxies()
    sandbox = await opened(f"127.0.0.1:{port}")
    assert len(proxies() - before) == 1
    del sandbox
    gc.collect()
    assert proxies() <= before


async def test_with_a_network_there_is_no_proxy(tmp_path):
    sandbox = await Sandbox.detect(kinds=["bubblewrap"], hosts=["pypi.org"], network=True)
    if sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    assert sandbox.open_egress() == ""
    assert "127.0.0.1" not in await run(sandbox, tmp_path, "echo $HTTPS_PROXY")


async def test_landlock_cannot_hold_a_list_of_hosts_and_says_so(tmp_path):
    sandbox = await Sandbox.detect(kinds=["landlock"], hosts=["pypi.org"])
    if sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    assert "works only with bubblewrap" in sandbox.open_egress()
    with socket.create_server(("127.0.0.1", 0)) as server:
        said = await run(sandbox, tmp_path, f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo reached")
    assert "reached" not in said
