"""Random programs from the grammar."""

from .generator import Generator
from .profile import Profile

__all__ = ["Generator", "Profile"]
