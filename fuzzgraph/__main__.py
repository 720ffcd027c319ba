"""`python -m fuzzgraph`: the same as the `fuzzgraph` command."""

import sys

from fuzzgraph.cli import main

if __name__ == "__main__":
    sys.exit(main())
