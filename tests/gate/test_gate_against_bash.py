"""The policy's reading of a line compared with what bash makes of it."""

from __future__ import annotations

import subprocess

from hypothesis import HealthCheck, example, given, settings, strategies as st
from sampling import examples

_PIECES = [
    "echo", "echo ", "x", " ", "'", '"', "\\", "\n", "\t", ";", "&", "|", "&&", "||", "$", "(", ")", "`", "{", "}",
    "<", ">", "#", "!", "*", "[", "]", "=", ",", "~", "$(", "$((", "${", "$'", '$"', "<<", "touch P", "touch${IFS}P",
    "EOF", "a=b ", "then", "do", "if ", "fi", "[[ ", "]]", "2>", "&>", "\\\n", "-e", ":", "@", "%", "^", "?", "\r",
]  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), min_size=1, max_size=14).map("".join))
@example("echo x\\\n;touch P")
@example("echo 'a'\"b\"$'\\'';touch P #'")
@example('echo "a" #"\ntouch P')
@example("echo x#;touch P")
@example("echo x #;touch P\ntouch P")
@example("echo ((;touch P))")
@example("echo {x,;touch P}")
@example("echo <<EOF\nEOF\ntouch P")
@example("echo a\\;touch P")
@settings(max_examples=examples(600), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_line_that_an_echo_rule_lets_pass_never_makes_a_file(place, line):
    command = f"echo {line}"
    if place.judge_command(command, "echo").action != "allow":
        return
    subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", command],
        cwd=place.ws.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=5,
        check=False,
    )
    assert list(place.ws.root.iterdir()) == [], command


_ARGUMENTS = st.text(alphabet=st.sampled_from(list("ab \"'\\$`*;|&<>(){}[]!#~=\n\té")), max_size=10)


@given(st.lists(_ARGUMENTS, max_size=4), st.booleans())
@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
def test_quoted_words_reach_the_command_as_the_policy_read_them(words, single):
    from rundry.agent.shell.line_parser import parse_line

    def quote(word: str) -> str:
        if single:
            return "'" + word.replace("'", "'\"'\"'") + "'"
        return '"' + "".join("\\" + sign if sign in '"\\$`' else sign for sign in word) + '"'

    command = " ".join(["printf '%s\\0'", *map(quote, words)])
    line = parse_line(command)
    if line.doubts or not all(word.known for part in line.parts for word in part.words):
        return
    said = subprocess.run(["bash", "--noprofile", "--norc", "-c", command], capture_output=True, check=True).stdout
    assert [text.encode() for text in line.parts[0].texts[2:]] == said.split(b"\0")[: len(words)]
