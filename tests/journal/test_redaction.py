from __future__ import annotations

import base64
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given, settings, strategies as st
from journal.canaries import CANARY, PEM, PLAIN, SHAPES
from sampling import examples

from rundry.agent.journal.redact import Redactor
from rundry.agent.journal.stream_redactor import StreamRedactor

HARMLESS = [
    "task-1 and disk-usage and sk-circle-fade-dot-container",
    "https://example.com:8080/path?user=a:b",
    "eyJust a word, AKIA, ghp_, hf_hub_download, xox",
    "git@github.com:owner/repo.git and mailto:me@example.com",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "a plain sentence: nothing to see here.",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
]


@pytest.mark.parametrize("key", SHAPES, ids=lambda key: key[:8])
def test_what_looks_like_a_key_is_hidden_and_the_length_stays(key: str) -> None:
    redact = Redactor([])
    for text in (key, f"key={key}", f'"{key}"', f"see {key}, please\nnext", f"x: {key}\\n"):
        hidden = redact(text)
        assert key not in hidden
        assert key[-8:] not in hidden
        assert len(hidden) == len(text)
        assert hidden.replace("*", "") == text.replace(key, "")


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert Redactor(["another-secret-value"])(text) is text


def test_a_password_in_a_url_is_hidden_and_its_user_is_not() -> None:
    assert Redactor([])("postgres://me:hunter2@db:5432/x") == "postgres://me:*******@db:5432/x"


def test_a_private_key_is_hidden_line_by_line_also_when_its_end_is_missing() -> None:
    redact = Redactor([])
    hidden = redact(f"before\n{PEM}\nafter")
    assert "MII" not in hidden and "Q==" not in hidden
    assert hidden.startswith("before\n-----BEGIN RSA PRIVATE KEY-----\n****")
    assert hidden.endswith("\n-----END RSA PRIVATE KEY-----\nafter")
    assert hidden.count("\n") == PEM.count("\n") + 2
    cut = redact(PEM.rpartition("\nQ==")[0] + "\n, and so on")
    assert "MII" not in cut and cut.endswith(", and so on")
    assert redact("-----BEGIN PRIVATE KEY----- starts it") == "-----BEGIN PRIVATE KEY----- starts it"


@pytest.mark.parametrize("secret", [CANARY, PLAIN])
def test_a_known_value_is_hidden_in_every_spelling(secret: str) -> None:
    redact = Redactor([secret])
    raw = secret.encode()
    for text in (secret, quote(secret), quote(secret, safe="")):
        assert redact(f"a {text} b") == f"a {'*' * len(text)} b"
    for before in range(4):
        for after in range(4):
            packed = base64.b64encode(b"u" * before + raw + b"v" * after).decode()
            hidden = redact(packed)
            assert len(hidden) == len(packed)
            assert hidden.count("*") >= len(raw) * 4 // 3 - 3
            urlsafe = base64.urlsafe_b64encode(b"u" * before + raw + b"v" * after).decode()
            assert redact(urlsafe).count("*") == hidden.count("*")


def test_too_short_values_tear_no_holes() -> None:
    assert Redactor(["a", "no", "", "  "])("a no-go") == "a no-go"
    assert Redactor(["pass1", "pass12"])("pass1 pass12") == "pass1 ******"


def test_the_environment_tells_which_values_are_secret() -> None:
    env = {
        "OPENAI_API_KEY": "not-shaped-like-a-key-1",
        "MY_SERVICE_TOKEN": "tok.en/9876543",
        "DB_PASSWORD": "correct horse 1",
        "DATABASE_URL": "postgres://u:p%40ssw0rd!@host/db",
        "ODDLY_NAMED": "value-of-the-remap",
        "PWD": "/home/me/project",
        "POSTGRES_PASSWORD": "postgres",
        "SSH_KEY": "/home/me/.ssh/id_ed25519",
        "MAX_TOKENS": "20000000000",
        "API_TOKEN": "12345678901",
        "LM_API_KEY": "lm-studio",
    }
    redact = Redactor.from_env(env, ["ODDLY_NAMED"])
    for secret in ("not-shaped-like-a-key-1", "tok.en/9876543", "correct horse 1", "p@ssw0rd!", "value-of-the-remap"):
        assert redact(f"[{secret}]") == f"[{'*' * len(secret)}]"
    for name in ("PWD", "POSTGRES_PASSWORD", "SSH_KEY", "MAX_TOKENS", "API_TOKEN", "LM_API_KEY"):
        assert redact(env[name]) == env[name], name


def test_a_variable_that_is_not_utf8_is_not_an_error() -> None:
    assert Redactor.from_env({"X_TOKEN": "caf\udce9-token-1234"})("plain") == "plain"


def pieces() -> st.SearchStrategy[str]:
    whole = [*SHAPES, *HARMLESS, PEM, CANARY, PLAIN, "http://a:b@c", "日本語のテキスト", *"\n :@-/", "://"]
    parts = [*whole, *(t[: len(t) // 2] for t in whole), *(t[1:] for t in whole)]
    return st.lists(st.sampled_from(parts), max_size=8).map("".join)


@settings(max_examples=examples(300), deadline=None)
@given(text=pieces(), cuts=st.lists(st.integers(0, 400), max_size=12))
def test_a_stream_hides_what_the_whole_text_would_hide_however_it_is_cut(text: str, cuts: list[int]) -> None:
    stream = StreamRedactor(redact := Redactor([CANARY, PLAIN]))
    places = sorted({0, len(text), *(c for c in cuts if c < len(text))})
    shown = [stream.feed(text[a:b]) for a, b in pairwise(places)]
    assert "".join(shown) + stream.flush() == redact(text)


def test_a_key_right_after_a_known_value_is_hidden_wherever_the_stream_is_cut() -> None:
    redact = Redactor(["canaryAbc123Xyz789"])
    text = "canaryAbc123Xyz789sk-proj-AbCdEfGhIjKlMnOpQrSt12"
    for cut in range(len(text) + 1):
        stream = StreamRedactor(redact)
        assert stream.feed(text[:cut]) + stream.feed(text[cut:]) + stream.flush() == "*" * len(text), cut


@pytest.mark.parametrize("key", [*SHAPES, PEM, CANARY, PLAIN, "http://me:pass-word@host/"], ids=lambda key: key[:8])
def test_a_key_that_comes_letter_by_letter_is_never_shown(key: str) -> None:
    redact = Redactor([CANARY, PLAIN])
    stream = StreamRedactor(redact)
    text = f"the key is {key} and so on. "
    shown = "".join(stream.feed(letter) for letter in text)
    assert shown + stream.flush() == redact(text) != text


@pytest.mark.parametrize(
    "text", ["An ordinary answer, word by word. ", "こんにちは、世界。続きます。", "x = [1, 2, 3]\n"]
)
def test_ordinary_text_is_kept_back_for_no_more_than_its_last_word(text: str) -> None:
    stream = StreamRedactor(Redactor([CANARY, PLAIN]))
    shown = 0
    for fed, letter in enumerate(text * 5, 1):
        shown += len(stream.feed(letter))
        assert fed - shown <= 12


def test_a_word_without_an_end_is_not_kept_back_for_ever_and_a_key_in_it_stays_hidden() -> None:
    stream = StreamRedactor(Redactor([]))
    assert len("".join(stream.feed("x" * 1000) for _ in range(5))) >= 4990
    stream.flush()
    shown = stream.feed("eyJ" + "a" * 10_000) + stream.feed("a" * 10_000) + stream.feed("b" * 50 + " end ")
    assert shown.endswith(" end ")
    held = StreamRedactor(Redactor([]))
    key = "sk-" + "A1" * 10_000
    assert set("".join(held.feed(key[n : n + 500]) for n in range(0, len(key), 500)) + held.feed(" ")) == {"*", " "}
