"""What the model sends to tools, and what tools read: arguments, edit blocks, pages, images, results of tests."""

from __future__ import annotations

import json
from contextlib import suppress

from rundry.agent.models.images.image_headers import other_format, read_header
from rundry.agent.tools.edit_blocks.match_block import Replacement, find_block
from rundry.agent.tools.parse import parse_arguments
from rundry.agent.tools.tool_table import TOOLS
from rundry.agent.tools.web.page_markup import UnreadablePage
from rundry.agent.tools.web.readable_page import readable_content
from rundry.agent.verdict.counting.count_tests import count_failing, count_tests

from ..target import Target

NAMES = sorted(TOOLS)


def arguments(data: bytes) -> None:
    """The first byte picks the tool."""
    tool = NAMES[data[0] % len(NAMES)] if data else "read_file"
    raw = data[1:].decode(errors="surrogateescape" if data[:1] > b"\x7f" else "replace")
    parsed = parse_arguments(tool, raw)
    assert (parsed.arguments is None) == (parsed.error is not None)
    if parsed.raw is not None:
        json.dumps(parsed.raw)
    if parsed.error is not None:
        parsed.error.encode()


def edit_block(data: bytes) -> None:
    """File, old text and new text with NUL bytes between them."""
    text, old, new = [*data.decode(errors="replace").split("\0"), "", "", ""][:3]
    place = find_block(text, old, new) if old else None  # an empty old text is refused before
    if isinstance(place, Replacement):
        assert 0 <= place.start <= place.end <= len(text)
        same = _without_endings(old) in _without_endings(text)
        assert place.notes or same, "it was found with a tolerance that is not reported"


def _without_endings(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def page(data: bytes) -> None:
    with suppress(UnreadablePage):
        found = readable_content(data, "https://example.org/a/")
        found.text.encode()


def image(data: bytes) -> None:
    header = read_header(data)
    assert header is None or (header.width >= 0 and header.height >= 0)
    other_format(data)


def test_output(data: bytes) -> None:
    text = data.decode(errors="replace")
    counted = count_tests(text)
    failing = count_failing(text)
    assert counted is None or (counted.ran or 0) >= 0
    assert failing is None or failing >= 0


CODE = b"def f(a):\n    if a:\n        return 1\n    return 2\n"
OUTPUTS = (
    b"tests/test_a.py::test_b PASSED [ 50%]\ntests/test_a.py::test_c FAILED\n==== 1 failed, 1 passed in 0.1s ====\n",
    b'<testsuites><testsuite tests="2" failures="1"><testcase classname="a" name="b"/></testsuite></testsuites>',
    b"=== RUN   TestA\n--- PASS: TestA (0.00s)\nok  \tx\t0.1s\n",
    b'{"Action":"pass","Package":"x","Test":"TestA"}\n',
    b"TAP version 14\n1..2\nok 1 - a\nnot ok 2 - b\n# tests 2\n# fail 1\n",
    b"test a ... ok\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n",
    b"Tests:       1 failed, 2 passed, 3 total\n",
    b"  2 passing (10ms)\n  1 failing\n",
    b"Ran 3 tests in 0.1s\n\nFAILED (failures=1)\n",
)
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\x02\0\0\0"
JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0\0\x11\x08\0\x08\0\x08\x03\x01\x22\0"
WEBP = b"RIFF\x24\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x07\0\0\x07\0\0"
TARGETS = {
    "tool-arguments": Target(
        arguments,
        (
            b'\x02{"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}',
            b'\x00```json\n{"path": "a", "start_line": "3"}\n```',
            b"\x05{'path': 'a', 'content': '''x\ny'''}",
            b'\x07{"command": "echo \\"a\\"", "timeout": 1e3, "cwd": "/"}',
        ),
        (b"null", b"1e999", b"NaN", b"{" * 300, b"\\ud800", b'"\\', b"\0", b"'", b"```", b'{"":', b"-0", b"9" * 400),
    ),
    "edit-block": Target(
        edit_block,
        (
            CODE + b"\0    if a:\n        return 1\n\0    if not a:\n        return 3\n",
            CODE + b"\0if a:\n    return 1\0if b:\n    return 1",
            b"a\r\nb\r\nc\0a\nb\0x\ny",
            b"a\n\0\r\0\0x",
            b"a\n\0\r\0x",
            CODE + b"\x003| return 1\x003| return 5",
        ),
        (b"\0", b"\t", b"\r\n", b"\n\n", b"    ", b"...", b"<<<<<<< SEARCH\n", b"\xe2\x80\xa8", b"\x0c", b"12| "),
    ),
    "web-page": Target(
        page,
        (b"<html><head><title>x</title></head><body><h1>a</h1><p>b <a href='/c'>c</a></p><table><tr><td>1</table>",),
        (
            b"<![CDATA[",
            b"<svg>",
            b"<table>",
            b"&#x110000;",
            b"<a href='http://[::1'>",
            b"<pre>",
            b"\xff\xfe",
            b"<li>" * 99,
        ),
    ),
    "image": Target(image, (PNG, JPEG, WEBP, b"GIF89a\x08\0\x08\0"), (b"\xff", b"\0\0", b"VP8L", b"VP8 ", b"IHDR")),
    "test-output": Target(test_output, OUTPUTS, (b"9" * 30, b"\n", b"passed", b"<testcase ", b"]]>", b"&#0;", b"ok ")),
}
