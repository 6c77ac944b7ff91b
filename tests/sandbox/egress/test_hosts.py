import pytest

from rundry.agent.host.address_hosts import Target, read_host, read_target
from rundry.agent.sandbox.egress.allowed_hosts import HostList
from rundry.agent.sandbox.egress.proxy_requests import read_request

LIST = HostList(["pypi.org", "*.npmjs.org", "example.org:8443", "192.0.2.7", "[2001:db8::1]"])


@pytest.mark.parametrize(
    ("host", "port", "may"),
    [
        ("pypi.org", 443, True),
        ("pypi.org", 80, True),
        ("pypi.org", 22, False),
        ("pypi.org.evil.com", 443, False),
        ("evilpypi.org", 443, False),
        ("files.pypi.org", 443, False),
        ("registry.npmjs.org", 443, True),
        ("a.b.npmjs.org", 443, True),
        ("npmjs.org", 443, False),
        ("evilnpmjs.org", 443, False),
        ("example.org", 8443, True),
        ("example.org", 443, False),
        ("192.0.2.7", 443, True),
        ("192.0.2.8", 443, False),
        ("2001:db8::1", 443, True),
    ],
)
def test_a_host_is_allowed_by_its_whole_name_or_a_suffix_of_whole_labels(host, port, may):
    assert LIST.allows(Target(host, port)) is may


@pytest.mark.parametrize("entry", ["PyPI.org", " pypi.org ", "*.NPMJS.org", "x.org:1", "[::1]:80", "localhost:8080"])
def test_an_entry_is_kept_in_lower_case(entry):
    assert read_host(entry) == entry.strip().lower()


@pytest.mark.parametrize(
    "entry",
    ["", "*", "*.", "*.org", "a.*.org", "https://pypi.org", "pypi.org/simple", "a@b.org", "a b", "x.org:0",
     "x.org:70000", "x.org:", "a\0.org", "a%2eb.org", "-a.org", "a..org", ".a.org", "a." * 130 + "org"],
)  # fmt: skip
def test_what_is_not_a_host_is_refused_with_an_example(entry):
    with pytest.raises(ValueError, match=r"is not a host: write a name like"):
        read_host(entry)


@pytest.mark.parametrize(
    "asked",
    ["pypi.org", "pypi.org:x", "pypi.org\0.evil.com:443", "pypi.org%00:443", "pypi.org\n:443", "a@pypi.org:443", ":443",
     "pypi.org:443:443", "pypi.org:00000443", "pypi.org/:443", "pypi.org:0", "pypi.org:65536", "[::1:443",
     "p\u0443pi.org:443"],
)  # fmt: skip
def test_what_is_not_plainly_a_host_with_a_port_is_not_read(asked):
    assert read_target(asked) is None


def test_case_and_a_final_dot_make_no_other_host():
    assert read_target("PYPI.org.:443") == Target("pypi.org", 443)


def test_the_host_header_is_that_of_the_url_and_nothing_is_sent_twice():
    head = b"GET http://pypi.org/a?b HTTP/1.1\r\nHost: evil.com\r\nProxy-Authorization: x\r\nAccept: */*\r\n\r\n"
    request = read_request(head)
    assert request is not None and request.target == Target("pypi.org", 80)
    assert request.head == b"GET /a?b HTTP/1.1\r\nHost: pypi.org\r\nAccept: */*\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: pypi.org\r\n\r\n",
        b"GET https://pypi.org/ HTTP/1.1\r\n\r\n",
        b"GET http://a@pypi.org/ HTTP/1.1\r\n\r\n",
        b"GET http://pypi.org\\@evil.com/ HTTP/1.1\r\n\r\n",
        b"GET http://pypi.org/ HTTP/1.1\r\nA: b\n\nGET http://x/ HTTP/1.1\r\n\r\n",
        b"GET http://pypi.org/ HTTP/1.1\r\n folded: b\r\n\r\n",
        b"CONNECT pypi.org HTTP/1.1\r\n\r\n",
        b"CONNECT pypi.org:443 HTTP/2\r\n\r\n",
    ],
)
def test_a_request_that_two_parsers_could_read_in_two_ways_is_refused(head):
    assert read_request(head) is None
