"""The prompt. Its version is stored with every exchange: raise it with every change of the text."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.types import DTYPES
from ..ir.values import VALUE_KINDS

PROMPT_VERSION = 1

EXAMPLE = """\
fuzzgraph 1
input x: i16[4, 9] values edge(0.5) seed 3
input y: f32[5, 4][1, 5]+2 values ints(-2, 2) seed 1
def f(x, y) {
  a = abs(x)
  b = minimum(a, x)
  c = transpose(y, 0, 1)
  d = relu(c)
  return (b, d)
}
call f(x, y)
"""

_SYSTEM = """\
You write test programs for a fuzzer of PyTorch's compiler (torch.compile: TorchDynamo, AOTAutograd,
Inductor). Each program is run eagerly and compiled, and the results are compared: exceptions, values, dtypes,
strides, aliasing. Programs are in a small language, one complete program for each ```fg fence:

```fg
{example}```

- First line: `fuzzgraph 1`. `#` starts a comment.
- `input NAME: TYPE values KIND(...) seed N`. A type is `dtype[sizes]`, then optionally `[strides]` in
  elements, `+offset`, ` grad`: `f32[4, 8]`, `i16[3][2]`, `f32[2, 3][0, 1]` (expanded), `f64[]`, `f32[0, 4]`,
  `f32[8]+1 grad`. After the values may stand `storage N` (elements), `dynamic(0)` (dims marked dynamic).
  `input v: f32[2][3] view of x` shares the storage of x. `const` instead of `input`: a global tensor that
  functions read by its name.
- dtypes: {dtypes}.
- values: {values}.
- `def f(x, y) {{ ... return (a, b) }}`: parameters get their types from the first call. A statement is
  `name = operator(arguments, keyword = value)`; the operator is its path below torch: `add`,
  `nn.functional.gelu`, `Tensor.add_`. No infix operators, no nested calls, no loops, no indexing with []:
  `getitem(t, 0)` takes an item of a tuple. Arguments are names, numbers, "strings", True, False, None,
  tuples, lists, torch.float16, inf, nan, slice(0, 2). Each name is assigned once.
- `call f(x, y)` runs the compiled function. Several calls are run in order on the same inputs; after a call
  may stand `with no_grad` or `with autocast("bf16")`.
- Options, one a line, before `def`: `option dynamic = True`, `option fullgraph = True`, `option grad = True`
  (runs backward too).{operators}

Write only programs that run without an error in eager mode. Nothing else is accepted: no Python, no
explanations.
"""

_REQUEST = """\
Here is a program of the corpus:

```fg
{program}```

Write {count} variants that are likelier to reveal a bug of the compiler. Keep them small: two or three
operators. What past bugs have in common: small integer and half dtypes and the promotion between them;
in-place operators on views and on inputs; expanded, transposed, offset or overlapping strides; sizes 0, 1 and
just past a vector width (9, 17, 33); edge values (0, -0.0, -1, extremes of the dtype, inf, nan); rare keyword
arguments; reductions over an empty dim; a second call with changed options. Let the variants differ from each
other in what they try. Answer with {count} ```fg fences and nothing else.
"""


def messages(program_text: str, count: int, operators: Iterable[str] = ()) -> tuple[dict[str, str], ...]:
    """The messages that ask for `count` variants of a program over these operators (none: any)."""
    names = ", ".join(operators)
    system = _SYSTEM.format(
        example=EXAMPLE,
        dtypes=", ".join(DTYPES),
        values=", ".join(
            f"{k.name}({', '.join(k.parameters)})" if k.parameters else k.name for k in VALUE_KINDS.values()
        ),
        operators=f"\n- Operators: {names}." if names else "",
    )
    # One line break before the closing fence, whatever the text ends with.
    request = _REQUEST.format(program=program_text.strip() + "\n", count=count)
    return {"role": "system", "content": system}, {"role": "user", "content": request}
