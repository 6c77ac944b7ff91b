"""A tunnel of the proxy carries only what asks for the host that it was opened to."""

import datetime
import functools
import os
import socket
import socketserver
import ssl
import subprocess
import threading
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given, strategies as st

from rundry.agent.sandbox.egress.allowed_hosts import HostList
from rundry.agent.sandbox.egress.client_hello import hello_problem
from rundry.agent.sandbox.egress.proxy import Egress

FRONTED = "other-host.example"
_DAY = datetime.timedelta(days=1)


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder over TLS."""

    def log_message(self, *_):
        """Say nothing."""


class TlsServer(ThreadingHTTPServer):
    """Serves any name, as a content delivery network does, and remembers the names that clients asked for."""

    def __init__(self, folder, certificate):
        super().__init__(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        self.names = []
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        self.context.sni_callback = lambda _socket, name, _context: self.names.append(name)
        self.socket = self.context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, *_):
        """Say nothing: clients disconnect in these tests."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.DNSName(FRONTED)]
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(private + signed.public_bytes(pem))
    return path


@pytest.fixture
def server(tmp_path, certificate):
    (tmp_path / "x.txt").write_text("served")
    with TlsServer(tmp_path, certificate) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield serving
        serving.shutdown()


class Raw(socketserver.ThreadingTCPServer):
    """Sends a greeting, remembers what arrives, and answers each piece."""

    daemon_threads = True

    def __init__(self, greeting=b""):
        self.greeting, self.got = greeting, b""
        super().__init__(("127.0.0.1", 0), None)

    def finish_request(self, request, client_address):
        request.sendall(self.greeting)
        with suppress(OSError):
            while piece := request.recv(1000):
                self.got += piece
                request.sendall(b"<answer>")


@pytest.fixture
def raw(request):
    with Raw(getattr(request, "param", b"")) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield serving
        serving.shutdown()


class Proxy:
    """The proxy of a run, in the network of the tests, for the servers on these ports of this machine."""

    def __init__(self, *ports, host="localhost"):
        self.host, self.port = host, ports[0]
        self.egress = Egress(HostList([f"{host}:{port}" for port in ports]), [])
        self.url = self.egress.env["HTTPS_PROXY"]
        self.opened = []

    def close(self):
        for one in self.opened:
            one.close()
        self.egress.close()

    @property
    def target(self):
        return f"{self.host}:{self.port}"

    def tunnel(self, target=None):
        """Return a socket in a tunnel to the server."""
        opened = socket.create_connection(("127.0.0.1", int(self.url.rpartition(":")[2])), timeout=20)
        self.opened.append(opened)
        opened.sendall(f"CONNECT {target or self.target} HTTP/1.1\r\n\r\n".encode())
        got = b""
        while not got.endswith(b"\r\n\r\n"):
            got += opened.recv(1)
        assert b" 200 " in got
        return opened

    def refusals(self):
        return [line for line in self.egress.lines({}) if line.startswith("refused")]


@pytest.fixture
def proxy(server):
    it = Proxy(server.server_port)
    yield it
    it.close()


@pytest.fixture
def raw_proxy(raw):
    it = Proxy(raw.server_address[1])
    yield it
    it.close()


def rest(opened):
    got = b""
    with suppress(ConnectionError):
        while piece := opened.recv(1000):
            got += piece
    return got


def wait_for(raw, expected, opened):
    """Wait until the server got these bytes: it answers each piece."""
    while len(raw.got) < len(expected):
        assert opened.recv(8), raw.got
    assert raw.got == expected


def trusting():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def fetch(opened, name):
    with trusting().wrap_socket(opened, server_hostname=name) as secured:
        secured.sendall(b"GET /x.txt HTTP/1.0\r\n\r\n")
        return rest(secured)


class Pumped:
    """A TLS client whose bytes the test sends itself."""

    def __init__(self, name):
        self.to_client, self.to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = trusting().wrap_bio(self.to_client, self.to_server, server_hostname=name)

    def flight(self, received=b""):
        self.to_client.write(received)
        with suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self.to_server.read()


def hello_of(name, *more):
    """Return the ClientHello of a real client in one record, with further extensions."""
    record = Pumped(name).flight()
    message = record[5:]
    at = 4 + 2 + 32
    at += 1 + message[at]
    at += 2 + int.from_bytes(message[at : at + 2])
    at += 1 + message[at]
    extra = b"".join(kind.to_bytes(2) + len(content).to_bytes(2) + content for kind, content in more)
    extensions = extra + message[at + 2 :]
    body = message[4:at] + len(extensions).to_bytes(2) + extensions
    return in_record(b"\1" + len(body).to_bytes(3) + body)


def in_record(content):
    return b"\x16\x03\x01" + len(content).to_bytes(2) + content


def environment(tmp_path):
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}


def command(*argv, cwd, given=""):
    return subprocess.run(
        argv, cwd=cwd, env=environment(cwd), input=given, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("name", ["localhost", "LocalHost", "localhost."])
def test_tls_for_the_host_of_the_tunnel_passes(server, proxy, name):
    assert b"served" in fetch(proxy.tunnel(), name)
    assert [asked.lower().rstrip(".") for asked in server.names] == ["localhost"] and not proxy.refusals()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (FRONTED, f"its TLS asks for {FRONTED}"),
        ("localhost.evil.example", "its TLS asks for localhost.evil.example"),
        ("ocalhost", "its TLS asks for ocalhost"),
        (None, "its TLS names no server (SNI)"),
    ],
)
def test_tls_for_another_host_or_none_is_refused_before_the_server_sees_it(server, proxy, name, why):
    with pytest.raises(ssl.SSLError, match=r"(?i)access.denied"):
        fetch(proxy.tunnel(), name)
    assert proxy.refusals() == [f"refused {proxy.target}: {why}"]
    assert server.names == []


def test_a_listed_address_needs_no_name_but_allows_no_other(server):
    proxy = Proxy(server.server_port, host="127.0.0.1")
    assert b"served" in fetch(proxy.tunnel(), None)
    assert b"served" in fetch(proxy.tunnel(), "127.0.0.1")
    with pytest.raises(ssl.SSLError):
        fetch(proxy.tunnel(), FRONTED)
    assert proxy.refusals() == [f"refused {proxy.target}: its TLS asks for {FRONTED}"]
    proxy.close()


@pytest.mark.parametrize(("record", "piece"), [(1, 7), (3, 1), (100, 5000), (10_000, 1)])
@pytest.mark.parametrize("name", ["localhost", FRONTED])
def test_a_hello_in_any_pieces_is_read_whole(server, proxy, record, piece, name):
    opened, client = proxy.tunnel(), Pumped(name)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    message = client.flight()[5:]
    data = b"".join(in_record(message[at : at + record]) for at in range(0, len(message), record))
    with suppress(ConnectionError):
        for at in range(0, len(data), piece):
            opened.sendall(data[at : at + piece])
    first = opened.recv(5)
    assert (first[0] == 0x16) is (name == "localhost")
    assert server.names == (["localhost"] if name == "localhost" else [])


def test_a_second_hello_that_the_server_asks_for_is_checked_too(server, proxy):
    server.context.set_ecdh_curve("secp384r1")  # the clients offer X25519 first
    assert b"served" in fetch(proxy.tunnel(), "localhost")
    assert not proxy.refusals()
    server.names.clear()
    opened, client = proxy.tunnel(), Pumped("localhost")
    opened.sendall(client.flight())
    second = b""
    while not second:
        second = client.flight(opened.recv(5000))
    assert second.count(b"localhost") == 1
    opened.sendall(second.replace(b"localhost", b"evil.host"))
    assert rest(opened).endswith(bytes.fromhex("15 0301 0002 0231"))
    assert proxy.refusals() == [f"refused {proxy.target}: its TLS asks for evil.host"]
    assert "evil.host" not in server.names


@pytest.mark.parametrize("kind", [0xFE0D, 0xFE0A, 0xFFCE])
def test_encrypted_client_hello_is_refused_although_its_outer_name_fits(raw, raw_proxy, kind):
    opened = raw_proxy.tunnel()
    opened.sendall(hello_of("localhost", (kind, b"\0\0\1\0\1\7\0\x20" + bytes(32) + b"\0\x10" + bytes(16))))
    assert rest(opened) == bytes.fromhex("15 0301 0002 0231")
    assert "Encrypted Client Hello" in raw_proxy.refusals()[0] and raw.got == b""


def test_a_long_hello_with_unknown_extensions_passes(raw, raw_proxy):
    hello = hello_of("localhost", (0x0A0A, b""), (0x1234, bytes(9000)), (0xDADA, b"\0"))
    opened = raw_proxy.tunnel()
    opened.sendall(hello)
    wait_for(raw, hello, opened)
    assert not raw_proxy.refusals()


DAMAGED = {
    "two names": hello_of(None, (0, b"\0\x18\0\0\x09localhost\0\0\x09evil.host")),
    "two extensions": hello_of("localhost", (0, b"\0\x0c\0\0\x09evil.host")),
    "an empty list": hello_of(None, (0, b"\0\0")),
    "another kind of name": hello_of(None, (0, b"\0\x0c\1\0\x09localhost")),
    "a name with a zero": hello_of(None, (0, b"\0\x0f\0\0\x0clocalhost\0.x")),
    "bytes after the hello": in_record(hello_of("localhost")[5:] + b"\1"),
    "another message": in_record(b"\x0e\0\0\0"),
    "an empty record": in_record(b"") + hello_of("localhost"),
    "an alert between": in_record(hello_of("localhost")[5:9]) + b"\x15\x03\x01\0\2\1\0" + hello_of("localhost"),
    "too long": b"".join(in_record(b"\1\xff\xff\xff" + bytes(16_000)) for _ in range(3)),
    "a record that is too long": b"\x16\x03\x01\xff\xff",
    "no TLS version": b"\x16\x09\x01\0\5hello",
    "the hello of SSL 2": b"\x80\x2e\x01\x03\x03\0\x15\0\0\0\x10" + bytes(37),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_a_hello_that_two_parsers_could_read_in_two_ways_is_refused(raw, raw_proxy, data):
    opened = raw_proxy.tunnel()
    opened.sendall(data)
    assert rest(opened) in (bytes.fromhex("15 0301 0002 0231"), b"")  # empty: a reset overtook the alert
    assert len(raw_proxy.refusals()) == 1 and raw.got == b""


def test_curl_passes_and_cannot_ask_for_another_host(server, proxy, certificate, tmp_path):
    usual = ("curl", "-sS", "--cacert", certificate, "--proxy", proxy.url, "--noproxy", "")
    done = command(*usual, f"https://{proxy.target}/x.txt", cwd=tmp_path)
    assert done.stdout == "served", done
    done = command(*usual, "--connect-to", f"::{proxy.target}", f"https://{FRONTED}/x.txt", cwd=tmp_path)
    assert done.returncode != 0 and "denied" in done.stderr
    assert proxy.refusals() == [f"refused {proxy.target}: its TLS asks for {FRONTED}"]


@pytest.mark.parametrize(
    ("options", "passes"),
    [(["-servername", "localhost"], True), (["-servername", FRONTED], False), (["-noservername"], False)],
)
@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_openssl_passes_with_the_name_of_the_host_only(proxy, tmp_path, options, passes, version):
    place = proxy.url.removeprefix("http://")
    argv = ("openssl", "s_client", "-proxy", place, "-connect", proxy.target, "-quiet", version, *options)
    done = command(*argv, cwd=tmp_path, given="GET /x.txt HTTP/1.0\r\n\r\n")
    assert ("served" in done.stdout, "access denied" in done.stderr) == (passes, not passes), done
    assert bool(proxy.refusals()) is not passes


def test_git_clones_over_https(proxy, certificate, tmp_path):
    for line in (
        "git init -q -b main made",
        "git -C made -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m first",
        "git clone -q --bare made served.git",
        "git -C served.git update-server-info",
    ):
        assert command(*line.split(), cwd=tmp_path).returncode == 0
    settings = ("-c", f"http.proxy={proxy.url}", "-c", f"http.sslCAInfo={certificate}")
    done = command("git", *settings, "clone", "-q", f"https://{proxy.target}/served.git", "cloned", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "first" in command("git", "-C", "cloned", "log", "--format=%s", cwd=tmp_path).stdout
    assert not proxy.refusals() and "connected to" in proxy.egress.lines({})[0]


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",
        b"SSH-2.0-x\r\n",
        b"003fgit-upload-pack /path.git\0host=localhost\0\0version=2\0",
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        b"EHLO me\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"\xff\xfb\x1f",
    ],
)
def test_other_protocols_to_a_listed_port_pass(raw, raw_proxy, said):
    opened = raw_proxy.tunnel()
    opened.sendall(said)
    wait_for(raw, said, opened)
    assert not raw_proxy.refusals()


@pytest.mark.parametrize("raw", [b"220 ready\r\n"], indirect=True)
def test_a_server_may_speak_first_and_the_client_is_checked_after_it(raw, raw_proxy):
    opened = raw_proxy.tunnel()
    assert opened.recv(100) == b"220 ready\r\n"
    opened.sendall(b"QUIT\r\n")
    assert opened.recv(8) == b"<answer>"
    opened = raw_proxy.tunnel()
    assert opened.recv(100) == b"220 ready\r\n"
    before = raw.got
    opened.sendall(hello_of(FRONTED))
    rest(opened)
    assert raw.got == before and len(raw_proxy.refusals()) == 1


def test_a_plain_request_in_a_tunnel_is_carried_once_for_its_own_host(raw, raw_proxy):
    opened = raw_proxy.tunnel()
    opened.sendall(f"GET /a HTTP/1.1\r\nHost: {raw_proxy.target}\r\nConnection: keep-alive\r\nA: b\r\n\r\n".encode())
    head = f"GET /a HTTP/1.1\r\nHost: {raw_proxy.target}\r\nA: b\r\nConnection: close\r\n\r\n"
    wait_for(raw, head.encode(), opened)
    assert not raw_proxy.refusals()


@pytest.mark.parametrize(
    "head",
    [
        f"GET / HTTP/1.1\r\nHost: {FRONTED}\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: localhost\r\nHost: {FRONTED}\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: localhost\r\n host: {FRONTED}\r\n\r\n",
        f"GET http://{FRONTED}/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        f"\r\n\r\nGET / HTTP/1.1\r\nHost: {FRONTED}\r\n\r\n",
        f" get\t/ http/1.1\r\nHost: {FRONTED}\r\n\r\n",
        f"GET /\0 HTTP/1.1\r\nHost: {FRONTED}\r\n\r\n",
        f"GET http://{FRONTED}/\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_a_plain_request_for_another_host_is_refused(raw, raw_proxy, head):
    opened = raw_proxy.tunnel()
    opened.sendall(head.encode())
    assert rest(opened).startswith(b"HTTP/1.1 403 Forbidden")
    assert raw_proxy.refusals() == [f"refused {raw_proxy.target}: its HTTP request is not for this host"]
    assert raw.got == b""


def test_curl_reaches_a_plain_server_through_a_tunnel(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path)) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        (tmp_path / "x.txt").write_text("served")
        proxy = Proxy(serving.server_port)
        usual = ("curl", "-sS", "--proxytunnel", "--proxy", proxy.url, "--noproxy", "")
        url = f"http://{proxy.target}/x.txt"
        assert command(*usual, url, cwd=tmp_path).stdout == "served"
        assert "rundry: refused" in command(*usual, "-H", f"Host: {FRONTED}", url, cwd=tmp_path).stdout
        proxy.close()
        serving.shutdown()


A_HELLO = hello_of("xn--bcher-kva.example")[5:]


def problem(message, host="xn--bcher-kva.example"):
    return hello_problem(message, host, is_address=False)


def test_international_names_are_compared_as_a_labels():
    assert problem(A_HELLO) is None
    assert problem(A_HELLO, "bücher.example") is not None
    assert problem(hello_of("bücher.example")[5:]) is None


@given(st.binary(max_size=300))
def test_no_bytes_are_taken_for_a_hello(data):
    assert problem(data) is not None
    assert problem(b"\1" + len(data).to_bytes(3) + data) is not None


@given(st.data())
def test_a_damaged_hello_is_refused_or_still_asks_for_the_host(data):
    assert problem(A_HELLO[: data.draw(st.integers(0, len(A_HELLO) - 1))]) is not None
    damaged = bytearray(A_HELLO)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    assert problem(bytes(damaged)) is not None or b"xn--bcher-kva.example" in bytes(damaged).lower()
