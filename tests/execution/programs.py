"""Sources as `render` makes them."""

from textwrap import indent

from fuzzgraph.execution.protocol import Job

_COUNT = iter(range(10**9))


def source(body="return x + 1", inputs='"x": torch.arange(5.0)', top="", before=""):
    """One function of the inputs, one call."""
    names = [part.split(":")[0].strip().strip('"') for part in inputs.split(", \"")]
    args = ", ".join(names)
    passed = ", ".join(f'inputs["{n}"]' for n in names)
    return (
        f"import torch\n{top}\n\ndef make_inputs():\n    return {{{inputs}}}\n\n"
        f"def f({args}):\n{indent(body, '    ')}\n\n"
        f"def run(wrap, inputs):\n{indent(before, '    ')}\n    return [wrap(f)({passed})]\n"
    )


def with_fault(name):
    return source(before=f"f.fault = {name!r}")


def job(text, **more):
    more.setdefault("timeout", 60.0)
    return Job(f"job-{next(_COUNT)}", text, **more)
