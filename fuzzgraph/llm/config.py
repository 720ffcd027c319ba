"""Whether and how an LLM is asked: server, model, key and limits."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ..errors import UsageError
from .scrub import Scrubber, Secret

OPENAI_URL = "https://api.openai.com/v1"

# Environment variables that may hold a secret: processes that execute programs should not inherit them.
SECRET_VARIABLES = (
    "FUZZGRAPH_LLM_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_ADMIN_KEY",
    "FUZZGRAPH_LLM_BASE_URL",
    "OPENAI_BASE_URL",
)


@dataclass(frozen=True)
class LLMConfig:
    """Server, model and limits. Its representation and `public()` hold no secret: neither the key nor what
    the base URL carries (user, password, query values, a key in its path).
    """

    base_url: str = field(repr=False)
    model: str
    api_key: Secret = field(default=Secret(""), repr=False)
    max_requests: int = 200
    max_total_tokens: int = 400_000
    max_concurrent: int = 2
    reply_tokens: int = 1500  # asked of the server, for each reply
    timeout: float = 60.0  # seconds for one request, connecting and reading together
    queue: int = 8  # requests that wait; more are dropped
    variants: int = 3  # programs asked for in one request
    attempts: int = 3  # tries of one request where the server is down, busy or failing
    backoff: float = 1.0  # seconds of pause after a failure; doubles with each further one
    max_backoff: float = 60.0
    weight: float = 1.0  # how often the campaign picks this mutator, as other mutators' weights

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None, **changes: Any) -> LLMConfig | None:
        """Return the configuration, or None where none is asked for.

        FUZZGRAPH_LLM_MODEL switches it on. FUZZGRAPH_LLM_BASE_URL (else OPENAI_BASE_URL, else OpenAI's own)
        is the server, FUZZGRAPH_LLM_API_KEY (else OPENAI_API_KEY) the key; local servers need none. Limits:
        FUZZGRAPH_LLM_MAX_REQUESTS, _MAX_TOTAL_TOKENS, _MAX_CONCURRENT, _REPLY_TOKENS, _TIMEOUT, and so on for
        each other field. `changes` go before the environment. Raises UsageError where a variable makes no
        sense.
        """
        env = os.environ if environ is None else environ
        model = str(changes.pop("model", None) or env.get("FUZZGRAPH_LLM_MODEL", "")).strip()
        if not model:
            if env.get("FUZZGRAPH_LLM_BASE_URL") or env.get("FUZZGRAPH_LLM_API_KEY"):
                raise UsageError(
                    "the LLM server is configured but no model",
                    "FUZZGRAPH_LLM_MODEL",
                    "set it to a model's name",
                )
            return None
        key = (env.get("FUZZGRAPH_LLM_API_KEY") or env.get("OPENAI_API_KEY") or "").strip()
        url = (env.get("FUZZGRAPH_LLM_BASE_URL") or env.get("OPENAI_BASE_URL") or "").strip()
        if not url and not key:
            hint = "set FUZZGRAPH_LLM_BASE_URL, or FUZZGRAPH_LLM_API_KEY for OpenAI's own server"
            raise UsageError("a model is configured but neither a server nor a key", "FUZZGRAPH_LLM_MODEL", hint)
        limits = {f.name: _number(env, f.name, f.type) for f in fields(cls) if f.type in ("int", "float")}
        limits = {name: value for name, value in limits.items() if value is not None}
        return cls(url or OPENAI_URL, model, Secret(key), **{**limits, **changes})

    def __post_init__(self) -> None:
        # Messages name the variable and never show its value.
        key = self.api_key.reveal()
        if not key.isascii() or not key.isprintable() or " " in key:
            raise UsageError("the key has characters that no HTTP header can hold", "FUZZGRAPH_LLM_API_KEY")
        parts = self._parts()
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                "the base URL is no http or https URL",
                "FUZZGRAPH_LLM_BASE_URL",
                "such as http://localhost:8000/v1",
            )
        if key and parts.username:
            raise UsageError("both a key and a user in the base URL", "FUZZGRAPH_LLM_BASE_URL", "give one of the two")
        for name in ("max_concurrent", "queue", "variants", "attempts", "reply_tokens"):
            if getattr(self, name) < 1:
                raise UsageError("must be at least 1", f"FUZZGRAPH_LLM_{name.upper()}")
        for name in ("max_requests", "max_total_tokens", "weight", "backoff", "max_backoff"):
            if getattr(self, name) < 0:
                raise UsageError("must not be negative", f"FUZZGRAPH_LLM_{name.upper()}")
        if not 0 < self.timeout < 3600:
            raise UsageError("must be above 0 and below 3600 seconds", "FUZZGRAPH_LLM_TIMEOUT")

    def _parts(self) -> urllib.parse.SplitResult:
        try:
            parts = urllib.parse.urlsplit(self.base_url)
            _ = parts.port
        except ValueError:
            # `from None`: urllib's message quotes the URL.
            raise UsageError("the base URL cannot be read", "FUZZGRAPH_LLM_BASE_URL") from None
        return parts

    def request_url(self) -> str:
        """The base URL without user, password, query and fragment: what the client is given."""
        parts = self._parts()
        return urllib.parse.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def request_query(self) -> dict[str, str]:
        return dict(urllib.parse.parse_qsl(self._parts().query, keep_blank_values=True))

    def basic_auth(self) -> tuple[str, str] | None:
        """User and password of the base URL."""
        parts = self._parts()
        if not parts.username:
            return None
        return urllib.parse.unquote(parts.username), urllib.parse.unquote(parts.password or "")

    def scrubber(self) -> Scrubber:
        """What removes this configuration's secrets from a text."""
        parts = self._parts()
        user, password = self.basic_auth() or ("", "")
        secrets = {self.api_key.reveal(), password, f"{user}:{password}" if password else "", parts.fragment}
        secrets |= {v for k, v in self.request_query().items() if k != "api-version"}
        if not password:
            secrets.add(user)  # a token in the user's place: https://TOKEN@host
        return Scrubber(secrets)

    def public(self) -> dict[str, Any]:
        """All that may be stored and shown."""
        shown = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("base_url", "api_key")}
        return {"base_url": self.scrubber().scrub(self.request_url()), **shown}

    def __str__(self) -> str:
        return f"LLM {self.scrubber().scrub(f'{self.model} at {self.request_url()}')}"


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """A copy of an environment for processes that execute programs: no key, no base URL."""
    return {name: value for name, value in environ.items() if name not in SECRET_VARIABLES}


def _number(env: Mapping[str, str], name: str, kind: Any) -> int | float | None:
    variable = f"FUZZGRAPH_LLM_{name.upper()}"
    text = env.get(variable, "").strip()
    if not text:
        return None
    try:
        return int(text) if kind == "int" else float(text)
    except ValueError:
        raise UsageError("must be a number", variable) from None
