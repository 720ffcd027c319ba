"""Rules: which calls of torch's operators are valid, how to draw them and how to write them."""

from .loader import load_rules
from .model import Draft, OperandSource
from .rule import Rule, RuleBook
from .sampling import NoValue, Sampling
from .source import Fresh, FreshSource
from .wants import ShapeWant, ValueDomain, Want

__all__ = [
    "Draft",
    "Fresh",
    "FreshSource",
    "NoValue",
    "OperandSource",
    "Rule",
    "RuleBook",
    "Sampling",
    "ShapeWant",
    "ValueDomain",
    "Want",
    "load_rules",
]
