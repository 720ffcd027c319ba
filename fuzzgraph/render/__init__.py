"""Programs as plain Python: what is executed and what is reported."""

from .contexts import compile_kwargs
from .module import Rendered, render

__all__ = ["Rendered", "compile_kwargs", "render"]
