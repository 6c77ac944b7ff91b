"""The scripts that a shell loads, and the form in which it gets its words.

zsh and fish load click's scripts. click's script for bash does not complete behind `:` and `=`, and shows no meanings.
"""

from __future__ import annotations

import os
from typing import Any

import click
from click.shell_completion import (
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

VARIABLE = "_RUNDRY_COMPLETE"
"""The environment variable that makes the command print words instead of running."""
_BASH = """\
%(complete_func)s() {
    local kind value about width=0 index
    local -a values=() abouts=()
    COMPREPLY=()
    while IFS=$'\\t' read -r kind value about; do
        case $kind in
            dir) while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -d -- "$2")
                 compopt -o filenames 2>/dev/null; return ;;
            file) while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "$2")
                  compopt -o filenames 2>/dev/null; return ;;
            *) values+=("$value"); abouts+=("$about")
               (( ${#value} > width )) && width=${#value} ;;
        esac
    done < <(RUNDRY_LINE="${COMP_LINE:0:COMP_POINT}" RUNDRY_BREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    for index in "${!values[@]}"; do
        if (( ${#values[@]} > 1 && COMP_TYPE != 37 )) && [[ -n ${abouts[index]} ]]; then
            printf -v value "%%-${width}s  %%s" "${values[index]}" "${abouts[index]}"
            COMPREPLY+=("${value:0:${COLUMNS:-80}-4}")
        else
            COMPREPLY+=("${values[index]}")
        fi
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null || complete -F %(complete_func)s %(prog_name)s
"""
"""Shows what each word means while there are several, as zsh and fish do. Needs bash 3.2."""


class _WholeWords(ShellComplete):
    """Offers `--gate=ask` behind `--gate=a`, where click offers `ask`. A shell replaces the whole word."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        """Return the words that fit at the cursor."""
        found = super().get_completions(args, incomplete)
        option, sign, _ = incomplete.partition("=")
        if not (sign and option.startswith("--")):
            return found
        return [
            CompletionItem(f"{option}={item.value}", help=item.help) if item.type == "plain" else item for item in found
        ]


class ZshWords(_WholeWords, ZshComplete):
    """Completion in zsh."""


class FishWords(_WholeWords, FishComplete):
    """Completion in fish."""


class BashWords(_WholeWords):
    """Completion in bash that knows words with `:` and `=`, at which bash splits the line."""

    name = "bash"
    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words of the line, and the one at the cursor."""
        line = os.environ["RUNDRY_LINE"]
        words = split_arg_string(line)[1:]
        if not words or line[-1:].isspace():
            return words, ""
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return a line for the script, with only the part of the word that bash replaces."""
        value, (_, incomplete) = str(item.value), self.get_completion_args()
        breaks = set(os.environ.get("RUNDRY_BREAKS", "")) & {":", "="}
        kept = max((incomplete.rfind(sign) + 1 for sign in breaks), default=0)
        if value.startswith(incomplete[:kept]):
            value = value[kept:]
        return f"{item.type}\t{value}\t{' '.join((item.help or '').split())}"


_SHELLS = (BashWords, ZshWords, FishWords)


def prepare(cli: click.Group) -> None:
    """Make click complete with our bash script and our words. Called only while a shell asks for words."""
    from .completion_words import offer_words

    for words in _SHELLS:
        add_completion_class(words)
    offer_words(cli)


def script(cli: click.Group, shell: str) -> str:
    """Return the script for `bash`, `zsh` or `fish`."""
    words = next(words for words in _SHELLS if words.name == shell)
    return words(cli, {}, "rundry", VARIABLE).source()
