from __future__ import annotations

import pyte

from rundry.tui.text.first_frame import FrameColors, Typed, draw


def test_keys_before_the_app_are_kept_as_text():
    typed = Typed()
    typed.feed(b"fix it")
    typed.feed(b"\x7fs\r")
    typed.feed("n\u00e4ch".encode()[:3])
    typed.feed("n\u00e4ch".encode()[3:])
    assert typed.take_sent() == ["fix is"]
    assert typed.take_sent() == []
    assert typed.take_draft() == "n\u00e4ch"


def test_escape_sequences_are_not_text_and_a_paste_is_one_draft():
    typed = Typed()
    typed.feed(b"a\x1b[A\x1bOP\x1b[<0;3;4Mb")
    typed.feed(b"\x1b[200~one\rtwo\x1b[201~")
    assert typed.sent == []
    assert typed.draft == "abone\ntwo"


def test_ctrl_j_breaks_the_line_and_ctrl_u_and_ctrl_w_take_back():
    typed = Typed()
    typed.feed(b"a b\x17c\nd")
    assert typed.draft == "ac\nd"
    typed.feed(b"\x15")
    assert typed.draft == ""


def test_the_frame_has_the_header_and_the_box_where_the_app_will_have_them():
    for columns, rows in ((120, 40), (80, 24), (30, 10)):
        screen = pyte.Screen(columns, rows)
        stream = pyte.Stream(screen)
        typed = Typed(draft="hello")
        stream.feed(draw("a task " * 20, "qwen3:8b", typed, (columns, rows), FrameColors(bright="38;2;1;2;3")))
        assert screen.display[0].startswith(" rundry  a task")
        assert screen.display[rows - 2].startswith(" › hello")
        assert (screen.cursor.y, screen.cursor.x) == (rows - 2, 8)


def test_what_was_sent_before_the_app_stands_above_the_box():
    screen = pyte.Screen(80, 24)
    pyte.Stream(screen).feed(draw("", "", Typed(sent=["first", "second"]), (80, 24), FrameColors()))
    assert [screen.display[19].strip(), screen.display[20].strip()] == ["› first", "› second"]
