"""Samplers and checks of matmul.rules: batch dims that broadcast, einsum equations."""

from fuzzgraph.grammar.expressions import broadcast
from fuzzgraph.grammar.wants import ShapeWant, draw_size


def matmul(draw):
    first = draw.tensor("input", shape=ShapeWant(ranks=(1, 4)))
    inner = first.shape[-1]
    rng = draw.rng
    if rng.random() < 0.2:
        draw.tensor("other", shape=ShapeWant((inner,)))
        return
    batch = first.shape[:-2]
    if rng.random() < 0.3:
        batch = batch[rng.randrange(len(batch) + 1) :]
    draw.tensor("other", shape=ShapeWant((*batch, inner, None)))


def check_matmul(env):
    first, second = env["input"].shape, env["other"].shape
    if not first or not second:
        return "matmul needs rank 1 or more"
    if first[-1] != (second[-2] if len(second) > 1 else second[0]):
        return "the inner sizes differ"
    try:
        broadcast(first[:-2], second[:-2])
    except ValueError:
        return "the batch dims do not broadcast"
    return None


# Equations, and the letters of each operand; sizes are drawn per letter.
EQUATIONS = (
    "ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "i,i->", "i,j->ij", "ij->ji", "ij->i", "ii->i", "ii->", "ij->",
    "bhqd,bhkd->bhqk", "bij,j->bi", "ijk,ikl,l->ij", "...ij,...jk->...ik", "ij,ij->ij", "abc->cab",
)  # fmt: skip


def terms(equation):
    return equation.split("->")[0].split(",")


def einsum(draw):
    equation = draw.rng.choice(EQUATIONS)
    draw.set("equation", equation)
    sizes = {}
    shapes = []
    for term in terms(equation):
        shape = [draw.rng.choice((1, 2))] if "..." in term and draw.rng.random() < 0.5 else []
        for letter in term.replace(".", ""):
            if letter not in sizes:
                sizes[letter] = min(draw_size(draw.rng), 9)
            shape.append(sizes[letter])
        shapes.append(ShapeWant(tuple(shape)))
    draw.tensors("operands", shapes)


def check_einsum(env):
    equation, operands = env["equation"], env["operands"]
    if equation not in EQUATIONS:
        return f"equation {equation!r} is not among those known to be valid"
    found = terms(equation)
    if len(found) != len(operands):
        return "another number of operands"
    sizes = {}
    batches = []
    for term, operand in zip(found, operands):
        letters = term.replace(".", "")
        extra = operand.rank - len(letters)
        if extra < 0 or (extra and "..." not in term):
            return "an operand has another rank"
        batches.append(operand.shape[:extra])
        for letter, size in zip(letters, operand.shape[extra:]):
            if sizes.setdefault(letter, size) != size:
                return f"sizes of {letter} differ"
    try:
        broadcast(*batches)
    except ValueError:
        return "the batch dims do not broadcast"
    return None


def tensordot(draw):
    first = draw.param("a")
    dims = draw.rng.randint(0, min(first.rank, 2))
    draw.tensor("b", shape=ShapeWant(first.shape[first.rank - dims :], (0, 1)))
    draw.set("dims", dims)


def check_tensordot(env):
    first, second, dims = env["a"].shape, env["b"].shape, env["dims"]
    if dims > min(len(first), len(second)):
        return "more dims than there are"
    return None if first[len(first) - dims :] == second[:dims] else "contracted sizes differ"


def cross(draw):
    rank = draw.rng.choice((1, 2, 2, 3))
    dim = draw.rng.randrange(rank)
    draw.tensor("input", shape=ShapeWant(tuple(3 if d == dim else None for d in range(rank))))
    draw.param("other")
    draw.set("dim", dim - rank if draw.rng.random() < 0.5 else dim)
