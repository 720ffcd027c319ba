"""What the environment says, and that no secret shows."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace

import pytest

from fuzzgraph.errors import UsageError
from fuzzgraph.llm.config import LLMConfig, without_secrets
from fuzzgraph.llm.scrub import Secret

KEY = "sk-test-Zq7XvP2mLw9RtK4hNc8B"
URL = "http://127.0.0.1:1/v1"


def test_off_unless_configured() -> None:
    assert LLMConfig.from_environment({}) is None
    # Set for other programs.
    assert LLMConfig.from_environment({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": URL}) is None


def test_own_variables_go_first() -> None:
    env = {
        "FUZZGRAPH_LLM_MODEL": "m", "FUZZGRAPH_LLM_BASE_URL": URL, "OPENAI_BASE_URL": "http://other",
        "FUZZGRAPH_LLM_API_KEY": KEY, "OPENAI_API_KEY": "sk-other-key",
        "FUZZGRAPH_LLM_MAX_REQUESTS": "7", "FUZZGRAPH_LLM_TIMEOUT": "2.5",
    }  # fmt: skip
    config = LLMConfig.from_environment(env, queue=3)
    assert config is not None
    assert (config.base_url, config.model, config.api_key.reveal()) == (URL, "m", KEY)
    assert (config.max_requests, config.timeout, config.queue) == (7, 2.5, 3)


def test_openai_variables_serve_too() -> None:
    config = LLMConfig.from_environment({"FUZZGRAPH_LLM_MODEL": "m", "OPENAI_API_KEY": KEY})
    assert config is not None and config.base_url == "https://api.openai.com/v1" and config.api_key.reveal() == KEY


def test_local_servers_need_no_key() -> None:
    config = LLMConfig.from_environment({"FUZZGRAPH_LLM_MODEL": "m", "OPENAI_BASE_URL": URL})
    assert config is not None and not config.api_key


@pytest.mark.parametrize(
    "wrong",
    [
        {"FUZZGRAPH_LLM_MODEL": ""},
        {"FUZZGRAPH_LLM_BASE_URL": "", "FUZZGRAPH_LLM_API_KEY": ""},
        {"FUZZGRAPH_LLM_BASE_URL": f"ftp://{KEY}/v1"},
        {"FUZZGRAPH_LLM_BASE_URL": f"http://host:{KEY}/v1"},
        {"FUZZGRAPH_LLM_BASE_URL": f"http://[{KEY}/v1"},
        {"FUZZGRAPH_LLM_BASE_URL": f"http://{KEY}@host/v1"},
        {"FUZZGRAPH_LLM_API_KEY": f"{KEY}\nX-Other: 1"},
        {"FUZZGRAPH_LLM_API_KEY": f"{KEY}é"},
        {"FUZZGRAPH_LLM_MAX_REQUESTS": KEY},
        {"FUZZGRAPH_LLM_MAX_REQUESTS": "-1"},
        {"FUZZGRAPH_LLM_MAX_CONCURRENT": "0"},
        {"FUZZGRAPH_LLM_TIMEOUT": "nan"},
    ],
)
def test_mistakes_name_the_variable_and_show_no_key(wrong: dict[str, str]) -> None:
    env = {"FUZZGRAPH_LLM_MODEL": "m", "FUZZGRAPH_LLM_BASE_URL": URL, "FUZZGRAPH_LLM_API_KEY": KEY, **wrong}
    with pytest.raises(UsageError) as caught:
        LLMConfig.from_environment(env)
    assert caught.value.where.startswith("FUZZGRAPH_LLM_")
    assert KEY not in str(caught.value) and caught.value.__cause__ is None


def test_no_secret_shows() -> None:
    config = LLMConfig(f"http://127.0.0.1:1/{KEY}/v1?token=other-secret-1#frag-secret", "m", Secret(KEY))
    shown = [repr(config), str(config), f"{config}", json.dumps(config.public()), repr(config.api_key), str([config])]
    shown += [repr(replace(config, model="n")), repr(copy.deepcopy(config))]
    for text in shown:
        assert KEY not in text and "other-secret" not in text and "frag-secret" not in text
    assert config.public()["base_url"] == "http://127.0.0.1:1/[key]/v1"
    with pytest.raises(TypeError):
        pickle.dumps(config)


def test_user_and_password_of_the_url() -> None:
    config = LLMConfig("http://me:correct%20horse@host:8/v1", "m")
    assert config.request_url() == "http://host:8/v1" and config.basic_auth() == ("me", "correct horse")
    assert "horse" not in json.dumps(config.public()) + repr(config)
    assert config.scrubber().scrub("it is correct horse, me") == "it is [key], me"


def test_processes_that_execute_programs_get_no_key() -> None:
    env = {"PATH": "/bin", "OPENAI_API_KEY": KEY, "FUZZGRAPH_LLM_API_KEY": KEY, "FUZZGRAPH_LLM_BASE_URL": URL}
    assert without_secrets(env) == {"PATH": "/bin"}
