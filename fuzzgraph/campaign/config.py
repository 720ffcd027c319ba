"""A campaign's options and their TOML twin."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fuzzgraph import toml
from fuzzgraph.errors import UsageError

FILE = "fuzzgraph.toml"


@dataclass(frozen=True)
class Config:
    """What `fuzzgraph fuzz` runs with. Field names are the TOML keys, and the long options with `-` for `_`.

    `time` is wall seconds, `cpu_seconds` CPU seconds of the engine and all its descendants, both over all sessions
    of the campaign; 0 means no limit. `generate_share`: how many of the programs are made afresh rather than mutated.
    `compare_share`: the share of CPU that goes to compared programs. `oracles`: those to ask; none named means all, but
    those that compile further programs for a share `expensive_share` of the compared programs only. `no_triage`: no
    finding is triaged beside the campaign. The LLM's server,
    key and limits come from the environment only, so that no file of a campaign can hold a secret.
    """

    seed: int = 0
    jobs: int = 1
    time: float = 0.0
    programs: int = 0
    cpu_seconds: float = 0.0
    seeds: tuple[str, ...] = ()
    no_seeds: bool = False
    deterministic: bool = False
    target: str = "inductor"
    preload: tuple[str, ...] = ()
    plugin: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    stop_on: str = ""
    generate_share: float = 0.7
    compare_share: float = 0.75
    batch: int = 8
    timeout: float = 30.0
    oracles: tuple[str, ...] = ()
    expensive_share: float = 0.1
    features_off: tuple[str, ...] = ()
    llm_model: str = ""
    no_llm: bool = False
    no_triage: bool = False

    def budget(self) -> str:
        """The limits, for people."""
        parts = [f"{self.time:g} s"] if self.time else []
        parts += [f"{self.programs} programs"] if self.programs else []
        parts += [f"{self.cpu_seconds:g} CPU s"] if self.cpu_seconds else []
        return ", ".join(parts) or "no limit"

    def to_toml(self) -> str:
        """One `key = value` line a field."""
        lines = ["# The options that this campaign ran with; `fuzzgraph fuzz --config FILE` takes such a file."]
        for field in fields(self):
            value = getattr(self, field.name)
            lines.append(toml.toml_line(field.name, list(value) if isinstance(value, tuple) else value))
        return "\n".join(lines) + "\n"


def read_toml(path: Path) -> dict[str, Any]:
    """The options that the file sets, checked. Raises UsageError naming the file and the key."""
    values = toml.read_toml(path)
    defaults = Config()
    known = {field.name for field in fields(Config)}
    for key, value in values.items():
        if key not in known:
            raise UsageError(f"unknown option {key!r}", where=str(path), hint=f"known: {', '.join(sorted(known))}")
        if any("\0" in text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)):
            raise UsageError(f"{key} holds a NUL character", where=str(path))
        values[key] = _checked(path, key, value, getattr(defaults, key))
    return values


def _checked(path: Path, key: str, value: Any, default: Any) -> Any:
    if isinstance(default, tuple) and isinstance(value, list) and all(isinstance(v, str) for v in value):
        return tuple(value)
    if isinstance(default, float) and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if type(value) is type(default):
        return value
    kind = {"tuple": "a list of strings", "float": "a number", "int": "a whole number", "bool": "true or false"}
    name = type(default).__name__
    raise UsageError(f"{key} must be {kind.get(name, 'a string')}, not {value!r}", where=str(path))


def parse_duration(text: str) -> float:
    """Seconds of `8h`, `30m`, `45s`, `1h30m` or a plain number. Raises UsageError."""
    units = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
    rest, total = text.strip().lower(), 0.0
    while rest:
        digits = 0
        while digits < len(rest) and (rest[digits].isdigit() or rest[digits] == "."):
            digits += 1
        unit = rest[digits : digits + 1] or "s"
        try:
            total += float(rest[:digits]) * units[unit]
        except (ValueError, KeyError):
            raise UsageError(f"{text!r} is no duration", hint="such as 8h, 30m, 90s or 1h30m") from None
        rest = rest[digits + 1 :]
    if total <= 0:
        raise UsageError(f"{text!r} is no duration", hint="such as 8h, 30m, 90s or 1h30m")
    return total


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def split_oracles(text: str) -> tuple[str, ...]:
    """The oracles that `value,metadata` names, at least one. Raises UsageError for one that there is not."""
    return check_oracles(tuple(name.strip() for name in text.split(",")))


def check_oracles(names: tuple[str, ...]) -> tuple[str, ...]:
    from fuzzgraph.oracles import names as known

    for name in names:
        if name not in known():
            raise UsageError(f"no oracle {name!r}", where="--oracles", hint=f"known: {', '.join(known())}")
    return names


def _check_path(name: str, path: str) -> None:
    where = f"--{name} {path}"
    if not os.path.exists(path):
        raise UsageError("no such file or directory", where=where)
    if name in ("preload", "known") and not os.path.isfile(path):
        raise UsageError("this is no file", where=where)
    try:
        path.encode()
    except UnicodeEncodeError:
        # The campaign's options are kept in a text file.
        raise UsageError("its name is no UTF-8", where=where, hint="rename it") from None


def checked(config: Config) -> Config:
    """The config, where its values make sense together. Raises UsageError naming the option."""
    for name in ("jobs", "batch"):
        if getattr(config, name) < 1:
            raise UsageError("must be at least 1", where=f"--{name}")
    for name in ("programs", "cpu_seconds", "time"):
        # Neither would a limit that is no number ever be reached, nor could it be stored.
        if not 0 <= getattr(config, name) < math.inf:
            raise UsageError("must not be negative, nor endless", where=f"--{name.replace('_', '-')}")
    if not -(2**63) <= config.seed < 2**63:
        raise UsageError("must fit in 64 bits", where="--seed")
    for name in ("generate_share", "compare_share", "expensive_share"):
        if not 0 <= getattr(config, name) <= 1:
            raise UsageError("must be between 0 and 1", where=f"--{name.replace('_', '-')}")
    check_oracles(config.oracles)
    if not 0 < config.timeout < 1e9:
        raise UsageError("must be a number of seconds above 0", where="--timeout")
    if config.deterministic and config.jobs != 1:
        raise UsageError("--deterministic needs --jobs 1", where="--jobs")
    for name in ("preload", "seeds", "known"):
        for path in getattr(config, name):
            _check_path(name, path)
    try:
        re.compile(config.stop_on)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"no regular expression: {error}", where="--stop-on") from error
    return config
