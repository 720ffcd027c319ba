"""Run options, and that each config patch is a setting of the installed torch."""

import importlib
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzgraph.generate import Profile
from fuzzgraph.generate.options import CONFIG, NEEDS_NO_GRAD, change_option, draw_options
from fuzzgraph.ir.program import RunOptions

SEEDS = st.integers(0, 2**32).map(Random)
MODULES = {part: f"torch._{part}.config" for part in ("inductor", "dynamo", "functorch")}


@pytest.mark.parametrize("name", CONFIG)
def test_patches_are_settings_with_other_defaults(name):
    part, _, key = name.partition(".")
    config = importlib.import_module(MODULES[part])
    default = config.get_config_copy()[key]
    for value in CONFIG[name]:
        assert value != default
        with config.patch({key: value}):
            assert config.get_config_copy()[key] == value


def consistent(options: RunOptions) -> bool:
    patches = dict(options.config)
    return (
        not (options.grad and (options.inference or patches.keys() & NEEDS_NO_GRAD))
        and not (options.mode is not None and patches)
        and list(patches) == sorted(patches)
    )


@given(SEEDS)
def test_options_do_not_contradict_each_other(rng):
    assert consistent(draw_options(rng, Profile(options=1.0, config=1.0)))


@given(SEEDS)
def test_a_change_changes_and_stays_consistent(rng):
    options = draw_options(rng, Profile(options=0.7))
    for _ in range(4):
        changed = change_option(options, rng)
        assert changed != options
        assert consistent(changed)
        options = changed


def test_most_programs_have_default_options():
    drawn = [draw_options(Random(seed), Profile()) for seed in range(500)]
    plain = sum(o == RunOptions(grad=o.grad) for o in drawn)
    assert 0.5 < plain / 500 < 0.9
