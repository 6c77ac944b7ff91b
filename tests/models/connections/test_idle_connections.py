"""Servers that close an idle connection while the next request is on its way: a request is sent again, unseen."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from rundry.agent.models.ask_servers import ServerInfo
from rundry.agent.models.endpoint import NO_KEY, Endpoint
from rundry.agent.models.server_tokenizer import ask_tokenizer
from rundry.agent.protocol import Message, ModelFault, Request

_ANSWER = b"".join(
    f"data: {json.dumps({'choices': [choice]})}\n\n".encode()
    for choice in (
        {"index": 0, "delta": {"content": "hello"}},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    )
) + b"data: [DONE]\n\n"  # fmt: skip


class Server:
    """Keeps connections, announces nothing, and closes them as told. Each connection has a thread."""

    def __init__(
        self,
        *,
        idle: float = 20.0,
        closes_at: int = 0,
        path: str = "/chat/completions",
        after: bytes = b"",
        resets: bool = False,
    ) -> None:
        """`idle`: seconds without a request after which it closes.

        `closes_at`: closes when the request to `path` with this number has arrived, counted on each connection from 1,
        and sends `after` before.
        """
        self._idle, self._closes_at, self._path, self._after, self._resets = idle, closes_at, path, after, resets
        self.requests = list[str]()
        self.connections = 0
        self.closed = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(self._idle)
        with connection, suppress(TimeoutError, ConnectionError):
            served = 0
            while request := _request(connection):
                served += self._path in request
                self.requests.append(request)
                if self._path in request and served == self._closes_at:
                    connection.sendall(self._after)
                    break
                kind = "text/event-stream" if "chat" in request else "application/json"
                body = _ANSWER if "chat" in request else b'{"tokens": [1, 2, 3]}'
                head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                connection.sendall(head.encode() + body)
            if self._resets:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.closed.set()


def _request(connection: socket.socket) -> str:
    """Return the request line of the next request after its whole body has arrived; empty at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return ""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head.partition(b"\r\n")[0].decode()


@pytest.fixture
def serving() -> Iterator[list[Server]]:
    servers = list[Server]()
    yield servers
    for server in servers:
        server.stop()


def _chats(server: Server) -> int:
    return sum("chat" in request for request in server.requests)


async def test_a_server_that_closes_after_a_second_of_idling_is_asked_again_immediately(opened, serving):
    serving.append(server := Server(idle=1.0))
    asked = await opened(f"{server.base}/v1", context=4096)
    await asked.ask()
    server.closed.clear()
    assert server.closed.wait(20)  # the event loop is busy meanwhile, so it does not see the end of the connection
    await asked.ask()
    assert asked.text == "hello"


@pytest.mark.parametrize("resets", [False, True], ids=["closes", "resets"])
async def test_a_request_that_crosses_the_end_of_its_connection_is_sent_once_more(opened, serving, resets):
    serving.append(server := Server(closes_at=2, resets=resets))
    asked = await opened(f"{server.base}/v1", context=4096)
    await asked.ask()
    before = _chats(server)
    await asked.ask()
    assert (asked.text, _chats(server) - before) == ("hello", 2)


async def test_the_repeat_uses_a_new_connection_although_others_are_kept(opened, serving):
    serving.append(server := Server(closes_at=2))
    one = await opened(f"{server.base}/v1", context=4096)
    streams = [
        one.model.stream(Request(messages=[Message(role="user", text="go")], tools=[], max_tokens=500))
        for _ in range(3)
    ]
    for stream in streams:
        await anext(stream)
    for stream in streams:
        async for _ in stream:
            pass
    before = server.connections, _chats(server)
    await one.ask()
    assert one.text == "hello"
    assert (server.connections - before[0], _chats(server) - before[1]) == (1, 2)


async def test_a_small_request_to_a_server_is_repeated_too(opened, serving):
    serving.append(server := Server(closes_at=2, path="/tokenize"))
    await opened(f"{server.base}/v1", context=4096)
    base = f"{server.base}/v1"
    at = Endpoint(provider="openai", model="fake", api_base=base, key=NO_KEY, key_names=(), local=True)
    info = ServerInfo(kind="llama.cpp", api_base=f"{server.base}/v1")
    sizes = await ask_tokenizer(info, at)
    assert sizes is not None
    assert sizes.text == 3


async def test_a_server_that_closes_a_new_connection_too_is_a_fault(opened, serving):
    serving.append(server := Server(closes_at=1))
    asked = await opened(f"{server.base}/v1", context=4096)
    for requests in (2, 3):  # the first call begins on the connection that was kept from the opening
        with pytest.raises(ModelFault) as caught:
            await asked.ask()
        assert (caught.value.kind, caught.value.retryable, _chats(server)) == ("server", True, requests)


async def test_an_answer_that_has_begun_is_not_asked_for_again(opened, serving):
    begun = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + _ANSWER[:60]
    serving.append(server := Server(closes_at=2, after=begun))
    asked = await opened(f"{server.base}/v1", context=4096)
    await asked.ask()
    before = _chats(server)
    with pytest.raises(ModelFault):
        await asked.ask()
    assert _chats(server) - before == 1
