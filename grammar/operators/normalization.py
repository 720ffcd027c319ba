"""Sampler of normalization.rules: the normalized dims are the last ones."""


def layer_norm(draw):
    found = draw.param("input")
    draw.set("normalized_shape", found.shape[found.rank - draw.rng.randint(1, min(found.rank, 2)) :])
