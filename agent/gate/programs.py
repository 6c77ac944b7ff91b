"""Programs and options that run, write or send more than their name says, whatever rule allows the command.

The lists are of published holes of other agents' allow lists (ATTACKS A.3 to A.7, A.27) and of what manual pages say.
A program that is not named here is taken for what its rule says.
"""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


NEVER: dict[str, str] = {
    name: why
    for why, names in {
        "it changes the shell for what follows": """eval source . exec trap alias unalias set shopt export declare
            typeset local readonly unset read mapfile readarray let enable bind complete compgen hash builtin pushd
            popd umask ulimit coproc""",
        "it runs with other rights": "sudo su doas pkexec runuser setpriv chroot nsenter unshare gosu sg newgrp capsh",
        "it can send data elsewhere": """ping ping6 nslookup dig host whois traceroute tracepath curl wget http https nc
            ncat netcat socat telnet ftp sftp ssh scp rsync openssl getent resolvectl drill delv kdig mtr nmap logger
            mail mailx mutt msmtp sendmail tftp lftp aria2c axel wget2 xh lynx w3m links elinks ssh-keyscan ssh-copy-id
            sshfs mount finger rsh rlogin xdg-open open""",
        "it can run any other command": """awk gawk mawk nawk parallel watch script expect at batch crontab entr
            zsh fish ksh csh tcsh busybox toybox gdb lldb strace ltrace perf valgrind systemd-run screen tmux dtach
            flock taskset chrt numactl setarch linux32 linux64 unbuffer start-stop-daemon run-parts xvfb-run fakeroot
            proot bwrap firejail prlimit ssh-agent dbus-run-session watchexec nodemon m4 dc gnuplot sqlite3 psql mysql
            tclsh wish ipython irb pry rename prename""",
        "it can open other programs": "man info less more most vi vim nvim view nano emacs pico tig",
        "what it reads decides which files it changes": "patch ed ex cpio pax unzip unrar 7z 7za bsdtar sponge",
    }.items()
    for name in names.split()
}
"""Programs that ask whatever rule there is."""

SHELLS = frozenset({"sh", "bash", "dash"})
INTERPRETERS: dict[str, frozenset[str]] = {
    "python": words("-c -i --"),
    "Rscript": words("-e"),
    "julia": words("-e -E -L -i -p --eval --print --load"),
    "elixir": words("-e -r --eval --require"),
    "groovy": words("-e -p -n"),
    "osascript": words("-e"),
    "guile": words("-c -e -l"),
    "node": words("-e -p -r -i --eval --print --require --import --loader --experimental-loader --env-file"),
    "perl": words("-e -E -i -n -p -M -x -d"),
    "ruby": words("-e -i -n -p -r -x -C -S"),
    "php": words("-r -B -R -E -F -d -S -a -c -z"),
    "lua": words("-e -l -i"),
    "deno": words("eval repl"),
    "bun": words("-e --eval -p --print repl -r --preload"),
}
PYTHON_PLAIN = re.compile(r"-[bBdEhIOPqsSuvVx]+|--version|--help|-[WX].+")
PYTHON_CODE = words("timeit pdb code trace profile cProfile runpy asyncio sqlite3 webbrowser http.server")
"""Modules that run what the command line or standard input says, or that send."""

RISKY: dict[str, frozenset[str]] = {
    "rg": words("--pre --hostname-bin --search-zip -z"),
    "sort": words("--compress-program --output -o --temporary-directory -T"),
    "shuf": words("-o --output"),
    "iconv": words("-o --output"),
    "xmllint": words("-o --output --shell"),
    "xsltproc": words("-o --output"),
    "pandoc": words("--filter -F --lua-filter -L -o --output --pdf-engine --extract-media -d --defaults"),
    "find": words("-exec -execdir -ok -okdir -delete -fls -fprint -fprint0 -fprintf"),
    "fd": words("-x -X --exec --exec-batch"),
    "tar": words("""--to-command --checkpoint-action --use-compress-program -I --rsh-command --rmt-command
        --info-script -F --new-volume-script"""),
    "zip": words("-T -TT --unzip-command"),
    "tree": words("-o -R"),
    "file": words("-C --compile"),
    "test": words("-v"),
    "[": words("-v"),
    "printf": words("-v"),
    "date": words("-s --set"),
    "yq": words("-i --inplace"),
    "diff": words("-l --paginate"),
    "split": words("--filter"),
    "make": words("--eval -E -f --file --makefile -C --directory -I --include-dir"),
    "go": words("-exec -toolexec -vettool -o -overlay -modfile -C -ldflags -gccgoflags -pkgdir -w"),
    "cargo": words("--config -Z -C --manifest-path --target-dir"),
    "rustc": words("-C --codegen -o --out-dir -Z"),
    "gcc": words("-B -fplugin -wrapper -specs -o"),
    "clang": words("-B -fplugin -Xclang -o"),
    "cmake": words("-P -E -C --build --install"),
    "ninja": words("-f -C -t"),
    "just": words("-f --justfile -d --working-directory --shell --set -c --command"),
    "gradle": words("-I --init-script -b --build-file -c --settings-file -p --project-dir"),
    "mvn": words("-f --file -s --settings"),
    "rake": words("-e -E -f --rakefile -r --require -R --rakelibdir -I"),
    "rspec": words("-r --require -O --options -o --out -I"),
    "phpunit": words("--bootstrap -c --configuration -d"),
    "pylint": words("--init-hook --load-plugins --rcfile --output"),
    "flake8": words("--config --append-config --output-file"),
    "eslint": words("-c --config -f --format -o --output-file --rulesdir --plugin --parser -r"),
    "prettier": words("--config --plugin"),
    "jest": words("-c --config --globalSetup --globalTeardown --testRunner --runner --reporters --setupFilesAfterEnv"),
    "vitest": words("-c --config -r --root --dir"),
    "mocha": words("-r --require --import --config -R --reporter --loader --file"),
    "tox": words("-c --conf -x --override --workdir --root"),
    "nox": words("-f --noxfile"),
    "npm": words("--script-shell --prefix -C --node-options --globalconfig --userconfig"),
    "pnpm": words("--script-shell --prefix -C --dir --shell-emulator"),
    "yarn": words("--cwd --use-yarnrc"),
    "pytest": words(
        "-p -c --config-file -o --override-ini --rootdir --confcutdir --basetemp --pastebin --junitxml --junit-xml"
        " --log-file --import-mode --debug"
    ),
    "ruff": words("--config --output-file -o"),
    "mypy": words("--python-executable --config-file --install-types"),
    "env": words("-S --split-string"),
}
GIT_RISKY = words(
    """-c --config-env --exec-path --output --output-directory --prefix --remote
    --upload-pack --receive-pack --exec --ext-diff --textconv
    --open-files-in-pager --git-dir --work-tree --paginate --template --namespace --super-prefix --no-index -x -O -C
    --interactive --edit --edit-description --edit-todo --ignore-revs-file"""
)
GIT_BEFORE = words(
    """-P --no-pager --no-replace-objects --no-optional-locks --no-lazy-fetch --no-advice --literal-pathspecs
    --glob-pathspecs --noglob-pathspecs --icase-pathspecs --version -v -h"""
)
"""All that is harmless between `git` and its command (git(1)): `-p` starts a pager, and aliases come by `-c`."""
GIT_EDITS = {
    "commit": words("-m -F -C --message --file --no-edit --reuse-message --fixup --dry-run --short --porcelain"),
    "notes": words("-m -F --message --file list show remove prune merge copy get-ref"),
}
"""These open an editor unless they have one of the options (git-commit(1), git-notes(1))."""
GIT_MAY_EDIT = words("commit notes add cherry-pick tag merge revert pull stash")
"""Commands of which `-e` opens an editor."""
GIT_COMMANDS = words(
    """config filter-branch bisect submodule difftool mergetool daemon instaweb send-email credential archive hook
    maintenance upload-pack receive-pack remote-ext remote-fd gui citool svn p4 cvsserver fsmonitor--daemon bundle
    fast-import update-index for-each-repo worktree web--browse sh-setup help shell cat-file interpret-trailers"""
)

WRITERS = words(
    """tee cp mv ln install dd rm rmdir mkdir mkfifo touch truncate chmod chown chgrp shred unlink split csplit gzip
    gunzip bzip2 bunzip2 xz unxz zstd unzstd strip objcopy dos2unix unix2dos setfacl chattr"""
)
"""Programs whose arguments are files that they change."""

READERS = words(
    """ls cat head tail wc grep egrep fgrep rg stat file du diff cmp echo printf nl tac cut paste tr md5sum sha1sum
    sha256sum sha512sum cksum b2sum realpath readlink basename dirname"""
)
"""Programs that take any name for a file that they read."""
PLACED = words("uniq xxd tar zip")
"""Programs for which it matters how many names stand where."""

PRINT = re.compile(r"\d+(,(\d+|\$))?p")
SINGLE_DASH = frozenset({"find", "go", "zip", "gcc", "clang"})
"""Their options are words behind one dash."""
ALIKE = {"cc": "gcc", "g++": "gcc", "c++": "gcc", "clang++": "clang", "gmake": "make", "fdfind": "fd"}
LISTS = frozenset({"pytest", "mypy", "gcc", "cc", "g++", "clang", "clang++", "rustc", "javac", "jar", "ar", "ld"})
"""`@file` gives them more options than are seen."""
HIDING = frozenset(
    {"it changes the shell for what follows", "it runs with other rights", "it can run any other command"}
)

WRAPPERS = {  # options without a value, options with one
    "nohup": ("", ""),
    "time": ("p", ""),
    "command": ("p", ""),
    "env": ("", ""),
    "setsid": ("w", ""),
    "nice": ("", "n"),
    "ionice": ("t", "cn"),
    "stdbuf": ("", "ioe"),
    "timeout": ("v", "ks"),
    "xargs": ("0rt", "nLPI"),
}
"""Programs that are seen through: what they run stands behind their options."""
