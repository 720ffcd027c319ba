"""The region under one of torch's context managers that change nothing about what is computed. The argument says
which."""

from __future__ import annotations

from fuzzgraph.render.forms import Block, Choice, form, indented


@form
class TorchContext(Choice):
    name = "torch_context"
    CHOICES = {
        "annotate": 'torch.fx.traceback.annotate({"part": 1})',
        "record_function": 'torch.profiler.record_function("part")',
        "no subclasses": "torch._C.DisableTorchFunctionSubclass()",
        "one thread": "torch.autograd.set_multithreading_enabled(False)",
        "graph breaks": "torch._dynamo.error_on_graph_break(False)",
        "mode": "torch.overrides.BaseTorchFunctionMode()",
        "anomaly": "torch.autograd.set_detect_anomaly(False)",
        "no hooks": 'torch.autograd.graph.disable_saved_tensors_hooks("none here")',
        "one autocast": 'torch.autocast("cpu", enabled=torch.is_autocast_enabled("cpu"))',
    }

    def write(self, block: Block) -> list[str]:
        return [f"with {self.CHOICES[block.args[0]]}:", *indented(block.lines)]
