"""The program: where it is, and what it answers in JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from typing import Any, Dict, List, Optional, Sequence, Tuple

#: The version of the JSON documents that this module understands.
JSON_VERSION = 1


class PacelineError(RuntimeError):
    """The program refused: its exit code and its words.

    Exit codes: 2 is a mistake in what was asked, 3 the world's, 4 a record that
    cannot be read, 130 an interrupt.
    """

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words or f"paceline ended with code {code}")
        self.code = code
        self.words = words


def binary() -> str:
    """The path of the program: ``$PACELINE_BIN``, the one installed with this module,
    or the one on the path."""
    named = os.environ.get("PACELINE_BIN")
    if named:
        return named
    scripts = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    for folder in scripts:
        path = os.path.join(folder, "paceline")
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("paceline")
    if found is None:
        raise FileNotFoundError(
            "there is no program `paceline` beside this Python or on the path; "
            "PACELINE_BIN may name it"
        )
    return found


def call(words: Sequence[str], allowed: Tuple[int, ...] = (0,)) -> str:
    """Runs the program to its end; gives what it printed on stdout."""
    done = subprocess.run(
        [binary(), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode not in allowed:
        raise PacelineError(done.returncode, done.stderr.decode("utf-8", "replace").strip())
    return done.stdout.decode("utf-8")


def ask(words: Sequence[str], allowed: Tuple[int, ...] = (0,)) -> Dict[str, Any]:
    """As :func:`call`, with ``--format json``; gives the document."""
    text = call([*words, "--format", "json"], allowed)
    document = json.loads(text)
    if not isinstance(document, dict):
        raise PacelineError(0, "the program printed no JSON object")
    version = document.get("version")
    if version != JSON_VERSION:
        raise PacelineError(
            0, f"the program writes JSON of version {version}, this module reads {JSON_VERSION}"
        )
    return document


def option(name: str, value: Optional[object]) -> List[str]:
    """The words of an option; none if it was not given, or is ``False``."""
    if value is None or value is False:
        return []
    if value is True:
        return [name]
    return [name, str(value)]


def settings(values: Dict[str, object]) -> str:
    """Levels as the program reads them: ``batch_size=128,workers=2``."""
    return ",".join(f"{name}={level}" for name, level in values.items())
