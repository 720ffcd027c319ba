"""Results go to NumPy and back where no gradient is lost. The argument says by which way."""

from __future__ import annotations

from fuzzgraph.ir.types import TensorType
from fuzzgraph.render.forms import Block, Choice, Facts, form, indented

# Dtypes that NumPy has.
KNOWN = frozenset({"bool", "u8", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "c64", "c128"})


@form
class NumpyRoundTrip(Choice):
    name = "numpy_round_trip"
    weight = 1.5
    concrete = True
    CHOICES = {
        "from_numpy": "torch.from_numpy({a})",
        "as_tensor": "torch.as_tensor({a})",
        "copy": "torch.tensor({a})",
        "array": "torch.from_numpy(np.array({a}))",
        "transposed": "torch.from_numpy(np.transpose(np.transpose({a})))",
        "added": "torch.from_numpy(np.asarray(np.copy({a})))",
    }

    def fits(self, facts: Facts) -> bool:
        return not (facts.shared or facts.rewritten) and any(t.dtype in KNOWN for t in facts.tensors)

    def write(self, block: Block) -> list[str]:
        """Under autocast a dtype may be another than is known here, which NumPy may not have."""
        way = self.CHOICES[block.args[0]]
        lines = ["import numpy as np"] if "np." in way else []
        lines += block.lines
        for r, kind in zip(block.results, block.kinds):
            if isinstance(kind, TensorType) and kind.dtype in KNOWN:
                array = f"{r}.resolve_conj().resolve_neg().numpy()"
                known = f'{r}.dtype == {kind.torch_dtype} and {r}.device.type == "cpu"'
                lines += [f"if not {r}.requires_grad and {known}:", *indented([f"{r} = {way.format(a=array)}"])]
        return lines
