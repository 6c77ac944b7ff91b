"""Paths whose links others replace meanwhile."""

from __future__ import annotations

import threading

from rundry.agent.host.real_paths import real_path


def test_a_path_is_followed_while_its_link_comes_and_goes(tmp_path):
    place, target, done = tmp_path / "a", tmp_path / "b", threading.Event()
    target.write_text("b")

    def other_program():
        while not done.is_set():
            place.symlink_to("b")
            place.unlink()
            place.write_text("a")
            place.unlink()

    thread = threading.Thread(target=other_program)
    thread.start()
    try:
        found = {real_path(place) for _ in range(20_000)}
    finally:
        done.set()
        thread.join()
    assert found == {place, target}
