"""Commands in different layers share the run's network, and get no descriptor of the runner."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rundry.agent.layers.namespaces import Cover, Namespaces, NamespacesRefused

from .conftest import Bench

SERVER = """import socket
server = socket.create_server(("127.0.0.1", 8123))
print("up", flush=True)
server.accept()[0].send(b"hello")"""
CLIENT = 'import socket; print(socket.create_connection(("127.0.0.1", 8123), 5).recv(9))'


def test_commands_in_two_layers_meet_on_the_networks_loopback_and_not_on_the_machines(bench: Bench):
    bench.namespaces.make_network()
    one, other = bench.layer(), bench.layer()
    with subprocess.Popen([*one.words, "python3", "-c", SERVER], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None and server.stdout.readline() == b"up\n"
        inside = subprocess.run([*other.words, "python3", "-c", CLIENT], capture_output=True, text=True, check=False)
        assert inside.stdout == "b'hello'\n", inside.stderr
    outside = subprocess.run(["python3", "-c", CLIENT], capture_output=True, text=True, check=False)
    assert "refused" in outside.stderr


def test_a_command_in_a_layer_gets_no_descriptor_of_the_runner(bench: Bench):
    bench.namespaces.make_network()
    layer = bench.layer()
    done = bench.run(layer, "for one in /proc/self/fd/*; do readlink $one; done; true")
    assert done.returncode == 0 and not [
        line for line in done.stdout.splitlines() if ":[" in line and "pipe" not in line
    ]
    assert str(bench.ws) not in done.stdout


def test_a_path_with_the_marks_of_mount_options_is_mounted(tmp_path: Path):
    folder = tmp_path / "a b,c:d\\e"
    folder.mkdir()
    bench = Bench(folder)
    assert [one.path for one in bench.effects("echo x > made")] == ["made"]
    assert os.listdir(bench.ws) == []
    bench.close()


def test_a_refusal_names_its_step(bench: Bench):
    with pytest.raises(NamespacesRefused, match="overlay: No such file"):
        bench.namespaces.mount(bench.folder, [Cover(bench.ws, ["missing"], "u", "w")])
    assert bench.effects("echo x > made"), "it still answers"
    with pytest.raises(NamespacesRefused, match="python"):
        Namespaces(bench.folder / "no-python")
