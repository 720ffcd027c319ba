"""From the parse tree of a rule file to rules: each clause fills a `RuleDraft`, of which `variants` makes `Rule`s."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import lark

from ..errors import RuleError
from . import attributes
from .dtypes import CLASSES, DTypes
from .expressions import FUNCTIONS, compile_expression, is_global
from .model import (
    MISSING,
    Alias,
    AttributeSpec,
    Condition,
    Dim,
    Expr,
    Param,
    ResultItem,
    Shape,
    Spec,
    TensorSpec,
    Upstream,
    ValuesSpec,
)
from .rule import Rule
from .spelling import STANDARD
from .variants import RuleDraft, rules_of
from .wants import DOMAINS

TAGS = frozenset(
    ["random", "discontinuous", "index_valued", "uninitialized", "inplace", "view", "exact", "reduction", "unstable"]
    + ["nondeterministic", "number", "loop", "either_zero"]
)
ASPECTS = frozenset(["dtype", "shape", "stride", "alias", "fake", "eager"])
_LITERALS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


class RuleReader:
    """Reads the rules of one file."""

    def __init__(self, text: str, path: Path) -> None:
        self.text, self.path = text, path
        self._modules: dict[str, ModuleType] = {}
        self._common: list[Upstream] = []

    def rules(self, node: Any) -> Iterator[Rule]:
        """The rules of one `op` block: one for each operator that it names, and for each in-place variant."""
        if node.data == "common":
            self._common.append(self._disagreement(node))
            return
        heads = [c for c in node.children if c.data == "opname"]
        rest = [c for c in node.children if c.data != "opname"]
        signature = self._signature(rest[0]) if rest and rest[0].data == "params" else []
        draft = RuleDraft(signature)
        for clause in rest[1:] if rest and rest[0].data == "params" else rest:
            _HANDLERS[clause.data](self, draft, clause)
        for name, _ in signature:
            if name not in draft.params:
                self._fail(node, f"parameter {name!r} is not described", f"add a line '{name} : ...'")
        self._check_names(draft)
        draft.upstream += self._common
        for head in heads:
            yield from rules_of(draft, self._text(head), self.path.stem, self._where(head))

    # ---- places and text

    def _where(self, node: Any) -> str:
        meta = node.meta if isinstance(node, lark.Tree) else node
        return f"{self.path.name}:{meta.line}:{meta.column}"

    def _fail(self, node: Any, message: str, hint: str = "") -> None:
        raise RuleError(message, self._where(node), hint)

    def _text(self, node: Any) -> str:
        if isinstance(node, lark.Token):
            return str(node)
        return self.text[node.meta.start_pos : node.meta.end_pos]

    def _expr(self, node: Any) -> Expr:
        try:
            return compile_expression(self._text(node), self._where(node))
        except SyntaxError as error:
            raise RuleError(f"not an expression: {error.msg}", self._where(node)) from None

    def _literal(self, node: Any) -> Any:
        text = self._text(node)
        if text in _LITERALS:
            return _LITERALS[text]
        return eval(text, {"__builtins__": {}, "complex": complex, **_LITERALS})

    # ---- clauses

    def _signature(self, node: Any) -> list[tuple[str, bool]]:
        found: list[tuple[str, bool]] = []
        keyword_only = False
        for child in node.children:
            if isinstance(child, lark.Token):
                keyword_only = True
                continue
            name = self._text(child)
            if name in dict(found):
                self._fail(child, f"parameter {name!r} is named twice")
            found.append((name, keyword_only))
        return found

    def _operand(self, draft: RuleDraft, node: Any) -> None:
        name_node, *rest = node.children
        *spec_nodes, default, rare = rest
        name = self._text(name_node)
        keywords = dict(draft.signature)
        if name not in keywords:
            self._fail(name_node, f"{name!r} is not a parameter", f"the signature has {', '.join(keywords) or 'none'}")
        if name in draft.params:
            self._fail(name_node, f"{name!r} is described twice")
        specs = tuple(self._spec(draft, s) for s in spec_nodes)
        value = MISSING if default is None else self._literal(default.children[0])
        if rare is not None and default is None:
            self._fail(name_node, "a rare parameter needs a default", "write '= value rare'")
        draft.params[name] = Param(name, specs, value, rare is not None, keywords[name])

    def _where_clause(self, draft: RuleDraft, node: Any) -> None:
        expr = self._expr(node.children[0])
        reason = str(node.children[1])[1:-1] if node.children[1] is not None else f"needs {expr.source}"
        draft.conditions.append(Condition(expr, reason, expr.names))

    def _result(self, draft: RuleDraft, node: Any) -> None:
        draft.result = tuple(self._item(item) for item in node.children)

    def _item(self, node: Any) -> ResultItem:
        name, args, dims = node.children
        call = f"{name}({self._text(args)})" if args is not None else str(name)
        if str(name) in CLASSES:
            call = repr(str(name))
        where = self._where(node)
        shape = compile_expression(f"[{self._text(dims) if dims is not None else ''}]", where)
        return ResultItem(compile_expression(call, where), shape)

    def _alias(self, draft: RuleDraft, node: Any) -> None:
        draft.alias = Alias(self._text(node.children[0]), node.children[1] is not None)
        draft.tags.add("view")

    def _inplace(self, draft: RuleDraft, node: Any) -> None:
        name, template = node.children
        draft.inplace = ("" if name is None else self._text(name), "" if template is None else str(template)[1:-1])

    def _out(self, draft: RuleDraft, node: Any) -> None:
        draft.out = "exact" if node.children[0] is not None else "cast"

    def _spell(self, draft: RuleDraft, node: Any) -> None:
        for spelling in node.children:
            name, template = str(spelling.children[0]), spelling.children[1]
            if template is None and name not in (*STANDARD, "nokeywords"):
                self._fail(spelling, f"spelling {name!r} needs a template", 'such as operator "{0} + {1}"')
            if template is None or name not in draft.spellings:
                draft.spellings[name] = "" if template is None else str(template)[1:-1]
            else:
                self._fail(spelling, f"spelling {name!r} is given twice")

    def _weight(self, draft: RuleDraft, node: Any) -> None:
        draft.weight = float(self._text(node.children[0]))

    def _tags(self, draft: RuleDraft, node: Any) -> None:
        for tag in node.children:
            if str(tag) not in TAGS:
                self._fail(tag, f"unknown tag {str(tag)!r}", f"one of {', '.join(sorted(TAGS))}")
            draft.tags.add(str(tag))

    def _needs(self, draft: RuleDraft, node: Any) -> None:
        draft.needs.append((self._text(node.children[0]), self._literal(node.children[1])))

    def _functions(self, draft: RuleDraft, node: Any) -> None:
        draft.functions |= set(map(self._text, node.children))

    def _sample(self, draft: RuleDraft, node: Any) -> None:
        file, name = map(str, node.children)
        module = self._module(file, node)
        draft.sampler = getattr(module, name, None)
        draft.checker = getattr(module, f"check_{name}", None)
        draft.inner_domains = getattr(module, f"domains_{name}", None)
        if draft.sampler is None and draft.checker is None:
            self._fail(node, f"{file} has neither {name} nor check_{name}")

    def _upstream(self, draft: RuleDraft, node: Any) -> None:
        draft.upstream.append(self._disagreement(node))

    def _disagreement(self, node: Any) -> Upstream:
        *aspects, condition, reason = node.children
        for aspect in aspects:
            if str(aspect) not in ASPECTS:
                self._fail(aspect, f"unknown aspect {str(aspect)!r}", f"one of {', '.join(sorted(ASPECTS))}")
        expr = None if condition is None else self._expr(condition)
        return Upstream(frozenset(map(str, aspects)), str(reason)[1:-1], expr)

    def _module(self, file: str, node: Any) -> ModuleType:
        if file not in self._modules:
            path = self.path.parent / file
            if not path.is_file():
                self._fail(node, f"there is no {file} beside {self.path.name}")
            self._modules[file] = import_file(path)
        return self._modules[file]

    # ---- operands

    def _spec(self, draft: RuleDraft, node: Any) -> Spec:
        if node.data == "attribute":
            return self._attribute(node)
        children = [c for c in node.children if c is not None]
        count: tuple[int, int] | None = None
        if node.data == "tensors":
            low, high = (int(c) for c in children if isinstance(c, lark.Token))
            count = (low, high)
        trees = [c for c in children if isinstance(c, lark.Tree)]
        variable, dtypes = None, CLASSES["any"]
        shape = None
        flags: dict[str, Any] = {}
        for tree in trees:
            if tree.data in ("dtype_name", "dtype_class"):
                variable, dtypes = self._dtypes(draft, tree)
            elif tree.data == "shape_equal":
                shape = Shape(equal=self._expr(tree.children[0]))
            elif tree.data == "shape":
                shape = self._shape(draft, tree)
            elif tree.data == "values":
                flags["values"] = self._values(tree)
            else:
                flags[tree.data] = True
        return TensorSpec(variable, dtypes, shape, count=count, **flags)

    def _dtypes(self, draft: RuleDraft, node: Any) -> tuple[str | None, DTypes]:
        if node.data == "dtype_class":
            return None, self._class(node.children[0])
        name, expr = node.children
        if str(name) in CLASSES:
            if expr is not None:
                self._fail(name, f"{str(name)!r} is a dtype class, not a variable")
            return None, CLASSES[str(name)]
        if expr is not None:
            if str(name) in draft.variables:
                self._fail(name, f"dtype variable {str(name)!r} already has a class")
            draft.variables[str(name)] = self._class(expr)
        if str(name) not in draft.variables:
            self._fail(
                name, f"unknown dtype class {str(name)!r}", f"a variable's first use gives its class: {name}:any"
            )
        return str(name), draft.variables[str(name)]

    def _class(self, node: Any) -> DTypes:
        names = [c for c in node.children if c.type == "NAME"]
        signs = ["+", *(str(c) for c in node.children if c.type != "NAME")]
        found = DTypes()
        for sign, name in zip(signs, names, strict=True):
            if str(name) not in CLASSES:
                self._fail(name, f"unknown dtype class {str(name)!r}", f"one of {', '.join(CLASSES)}")
            found = found + CLASSES[str(name)] if sign == "+" else found - CLASSES[str(name)]
        return found

    def _shape(self, draft: RuleDraft, node: Any) -> Shape:
        dims = [self._dim(draft, c) for c in node.children if c is not None]
        stars = [i for i, d in enumerate(dims) if d.star]
        if len(stars) > 1:
            self._fail(node, "a shape pattern may have one *variable only")
        at = stars[0] if stars else len(dims)
        return Shape(tuple(dims[:at]), dims[at] if stars else None, tuple(dims[at + 1 :]))

    def _dim(self, draft: RuleDraft, node: Any) -> Dim:
        if node.data == "dim_size":
            return Dim(size=int(node.children[0]))
        if node.data == "dim_variable":
            draft.shapes.add(str(node.children[0]))
            return Dim(str(node.children[0]))
        _, name, low, high = node.children
        draft.shapes.add(str(name))
        return Dim(str(name), star=True, low=int(low or 0), high=int(high or 5))

    def _values(self, node: Any) -> ValuesSpec:
        name, args = node.children
        if str(name) not in DOMAINS:
            self._fail(name, f"unknown value domain {str(name)!r}", f"one of {', '.join(DOMAINS)}")
        return ValuesSpec(str(name), self._args(args))

    def _args(self, node: Any) -> tuple[Expr, ...]:
        return () if node is None else tuple(self._expr(c) for c in node.children)

    def _attribute(self, node: Any) -> AttributeSpec:
        name, args, *values = node.children
        if str(name) not in attributes.KINDS:
            self._fail(
                name, f"unknown attribute kind {str(name)!r}", f"one of tensor, tensors, {', '.join(attributes.KINDS)}"
            )
        return AttributeSpec(str(name), self._args(args), tuple(self._literal(v) for v in values if v is not None))

    def _check_names(self, draft: RuleDraft) -> None:
        """All names in expressions are known; preconditions wait for the variables among them."""
        known = draft.names
        draft.conditions = [replace(c, names=c.names & known) for c in draft.conditions]
        exprs = [c.expr for c in draft.conditions] + [u.condition for u in draft.upstream if u.condition is not None]
        for item in draft.result or ():
            exprs += [item.dtype, item.shape]
        for param in draft.params.values():
            for spec in param.specs:
                exprs += _expressions_of(spec)
        for expr in exprs:
            if unknown := sorted(n for n in expr.names - known if not is_global(n)):
                hint = f"known: {', '.join(sorted(known))}; functions: {', '.join(sorted(FUNCTIONS))}"
                raise RuleError(f"unknown name {unknown[0]!r} in '{expr.source}'", expr.where, hint)


def _expressions_of(spec: Spec) -> list[Expr]:
    if isinstance(spec, AttributeSpec):
        return list(spec.args)
    equal = spec.shape.equal if spec.shape is not None else None
    return [*(spec.values.args if spec.values is not None else ()), *([equal] if equal is not None else [])]


def import_file(path: Path) -> ModuleType:
    """Import the Python file at `path` under a name of its own. Raises RuleError where it does not import."""
    name = f"fuzzgraph_rules_{path.stem}_{abs(hash(str(path)))}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise RuleError(f"does not import: {type(error).__name__}: {error}", path.name) from error
    return module


_HANDLERS: dict[str, Callable[[RuleReader, RuleDraft, Any], None]] = {
    "operand": RuleReader._operand,
    "where": RuleReader._where_clause,
    "result": RuleReader._result,
    "alias": RuleReader._alias,
    "inplace": RuleReader._inplace,
    "out": RuleReader._out,
    "spell": RuleReader._spell,
    "weight": RuleReader._weight,
    "tags": RuleReader._tags,
    "sample": RuleReader._sample,
    "needs": RuleReader._needs,
    "functions": RuleReader._functions,
    "upstream": RuleReader._upstream,
}
