"""Coverage-guided, grammar-based fuzzer for PyTorch's compiler.

Importing this is cheap: it imports neither torch nor any other part of the engine.
"""

from fuzzgraph.resources import checkout_root

__version__ = "0.1.0"

# In a wheel the harness lies in this folder, in a checkout beside it. It is `fuzzgraph.harness` in both.
_root = checkout_root()
if _root is not None:
    __path__.append(str(_root))
