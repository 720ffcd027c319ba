"""Programs as plain Python: what is executed and what is reported."""

from .contexts import compile_kwargs
from .forms import load_forms
from .module import Rendered, render
from .standalone import standalone

__all__ = ["Rendered", "compile_kwargs", "load_forms", "render", "standalone"]
