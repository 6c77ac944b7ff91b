"""Open a listening socket in this network namespace and hand it to the parent: `python -I -S listen_child.py FD`."""

import socket
import sys

_WAITING = 128
"""Maximum number of connections that wait to be accepted."""


def main() -> None:
    """Open the socket and send it over the descriptor that `argv` names."""
    with (
        socket.socket(fileno=int(sys.argv[1])) as parent,
        socket.create_server(("127.0.0.1", 0), backlog=_WAITING) as server,
    ):
        socket.send_fds(parent, [b"x"], [server.fileno()])


if __name__ == "__main__":
    main()
