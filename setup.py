"""Packages and data for the wheel; all else is in pyproject.toml.

The top-level folders install inside the package, where they cannot collide with anyone's `grammar` or
`harness`: harness/ as `fuzzgraph.harness`, grammar/ and corpus/ as data in fuzzgraph/_data/.
"""

import os

from setuptools import setup

HOMES = {
    "fuzzgraph": "fuzzgraph",
    "harness": "fuzzgraph.harness",
    "grammar": "fuzzgraph._data.grammar",
    "corpus": "fuzzgraph._data.corpus",
}


def folders() -> dict[str, str]:
    """Return every folder to install, as a package name -> its path here."""
    found = {}
    for top, home in HOMES.items():
        for path, names, _ in os.walk(top):
            names[:] = sorted(n for n in names if n != "__pycache__" and not n.startswith("."))
            found[home + path[len(top) :].replace(os.sep, ".")] = path
    return found


setup(
    packages=list(folders()),
    package_dir=folders(),
    package_data={"": ["*"]},
    exclude_package_data={"": ["*.pyc"]},
)
