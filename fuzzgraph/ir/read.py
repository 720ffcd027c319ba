"""Parse tree to program: names, types and references are resolved here, with positions for errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import torch
import torch.fx as fx
from lark import Token, Tree

from ..errors import ProgramError
from .builder import Builder, FunctionBuilder, Rejected
from .builtins import OPAQUE, resolve
from .program import (
    FORMAT_VERSION,
    Call,
    Closure,
    Context,
    InputSpec,
    Program,
    Ref,
    Region,
    RunOptions,
    State,
)
from .types import (
    DTYPES,
    AnyType,
    NoneType,
    ScalarType,
    SequenceType,
    TensorType,
    Type,
    UnsizedType,
    contiguous_strides,
)
from .typing import bind_parameters
from .values import Values, default_kind
from .wire import torch_object

_CONSTANTS: dict[str, Any] = {"True": True, "False": False, "None": None}
_SCALARS = ("int", "float", "bool", "complex", "str")
# Types that may say which number.
_NUMBERS = ("int", "float", "bool")


class Reader:
    """Reads one parse tree into one builder. `file` is for messages."""

    def __init__(self, builder: Builder, file: str) -> None:
        self.b, self.file = builder, file

    def program(self, tree: Tree[Token]) -> Program:
        version, *items = tree.children
        if self.whole(version) != FORMAT_VERSION:
            raise self.error(version, f"format version {version}, this fuzzgraph reads {FORMAT_VERSION}")
        groups: dict[str, list[Tree[Token]]] = {}
        for item in items:
            assert isinstance(item, Tree)
            groups.setdefault(str(item.data), []).append(item)
        readers: dict[str, Callable[[Tree[Token]], None]] = {
            "input": self.input, "const": self.constant, "state": self.state, "option": self.option,
            "closure": self.closure, "call": self.call,
        }  # fmt: skip
        # Calls and closures before functions: they give the types of parameters.
        for kind, reader in readers.items():
            for item in groups.get(kind, []):
                self.guarded(item, reader)
        for reader in (self.head, self.function):
            for item in groups.get("function", []):
                self.guarded(item, reader)
        try:
            return self.b.build()
        except Rejected as e:
            raise ProgramError(str(e), where=self.place(str(e), groups)) from None

    def place(self, problem: str, groups: dict[str, list[Tree[Token]]]) -> str:
        """Where the item stands that a problem of the whole program begins with, such as `call of f: ...`."""
        words = {"call": "call of"}
        for kind, items in groups.items():
            for item in items:
                named = item.children[1 if kind == "call" else 0]
                if problem.startswith(f"{words.get(kind, kind)} {named}: "):
                    return self.where(item)
        return self.file

    def guarded(self, item: Tree[Token], reader: Callable[[Tree[Token]], None]) -> None:
        """Run a reader; errors get the item's name, and its place where they have none."""
        named_kinds = ("node", "input", "const", "state", "closure")
        name = f"{item.data} {item.children[0]}: " if item.data in named_kinds else ""
        try:
            reader(item)
        except ProgramError as e:
            named = e.message if e.message.startswith(("node ", "input ", "const ")) else name + e.message
            raise ProgramError(named, e.where or self.where(item), e.hint) from None
        except Rejected as e:
            raise ProgramError(name + str(e), self.where(item)) from None

    def where(self, at: Any) -> str:
        if isinstance(at, Tree):
            first = next((t for t in at.scan_values(lambda t: isinstance(t, Token))), None)
            at = first
        return f"{self.file}:{at.line}:{at.column}" if isinstance(at, Token) else self.file

    def error(self, at: Any, message: str, hint: str = "") -> ProgramError:
        return ProgramError(message, self.where(at), hint)

    # --- declarations

    def spec(self, item: Any) -> InputSpec:
        name, declared, *clauses = item.children
        t = self.type(declared)
        if not isinstance(t, TensorType):
            raise self.error(item, f"input {name} must be a tensor, such as f32[4, 8]")
        kind, params, seed, storage = default_kind(t.dtype), (), 0, None
        dynamic: tuple[int, ...] = ()
        view_of = None
        for clause in clauses:
            c = clause.children
            if clause.data == "values":
                kind, params = str(c[0]), tuple(self.params(c[1]))
            elif clause.data == "seed":
                seed = self.whole(c[0])
            elif clause.data == "storage":
                storage = self.whole(c[0])
            elif clause.data == "dynamic":
                dynamic = tuple(self.literals(c[0]))
            else:
                view_of = str(c[0])
        return InputSpec(str(name), t, Values(kind, params, seed), storage, dynamic, view_of)

    def input(self, item: Tree[Token]) -> None:
        self.b.add_input(self.spec(item))

    def constant(self, item: Tree[Token]) -> None:
        self.b.add_constant(self.spec(item))

    def state(self, item: Tree[Token]) -> None:
        name, kind, initial = item.children
        self.b.add_state(State(str(name), str(kind), None if initial is None else self.literal(initial)))

    def option(self, item: Any) -> None:
        key, value = str(item.children[0]), self.literal(item.children[1])
        if key.startswith("config."):
            self.b.set_options(config=(*self.b.options.config, (key.removeprefix("config."), value)))
        elif key in {f.name for f in fields(RunOptions)} - {"config"}:
            self.b.set_options(**{key: value})
        else:
            known = ", ".join(f.name for f in fields(RunOptions))
            raise self.error(item, f"unknown option {key!r}", f"one of {known}.<name>")

    def closure(self, item: Any) -> None:
        name, function, arguments, kind, params = item.children
        args, kwargs = self.arguments(arguments, self.input_or_literal)
        if args:
            raise self.error(item, "a closure binds captures by name", "closure g = f(op = torch.Tensor.__add__)")
        own = [] if params is None or params.children[0] is None else params.children[0].children
        values = tuple(self.value(t, self.input_or_literal) for t in own if t is not None)
        self.b.add_closure(Closure(str(name), str(function), tuple(kwargs.items()), str(kind or "closure"), values))

    def call(self, item: Any) -> None:
        result, function, arguments, contexts, fresh, plain = item.children
        args, kwargs = self.arguments(arguments, self.input_or_literal)
        if kwargs:
            raise self.error(item, "a call of the script takes positional arguments only")
        found = []
        for c in [] if contexts is None else contexts.children:
            found.append(Context(str(c.children[0]), tuple(self.params(c.children[1]))))
        named = None if result is None else str(result)
        self.b.add_call(Call(str(function), args, tuple(found), fresh is not None, plain is not None, named))

    # --- functions

    def head(self, item: Any) -> None:
        """Declare a function with its parameters, so that others can name it before its body is read."""
        name, params, captures, *_ = item.children
        own = [] if params is None else [str(t.children[0]) for t in params.children]
        bound = bind_parameters(self.b, str(name), own) or [AnyType()] * len(own)
        typed = [(n, self.declared(t, b)) for n, t, b in zip(own, params.children if own else [], bound, strict=True)]
        caught = [] if captures is None else captures.children
        captured = [(str(t.children[0]), self.declared(t, AnyType())) for t in caught]
        self.b.function(str(name), typed, captured)

    def declared(self, parameter: Any, bound: Type) -> Type:
        return bound if parameter.children[1] is None else self.type(parameter.children[1])

    def function(self, item: Any) -> None:
        name, _, _, *statements, result = item.children
        f = self.b.functions[str(name)]
        for statement in statements:
            self.statement(f, statement)
        assert isinstance(result, Tree)
        f.returns(self.value(result.children[0], lambda t: self.known(f, t)))

    def statement(self, f: FunctionBuilder, tree: Any) -> None:
        if tree.data == "node":
            self.guarded(tree, lambda item: self.node(f, item))
            return
        form, params, *inside = tree.children
        before, place = len(f.body), len(f.regions)
        for statement in inside:
            self.statement(f, statement)
        made = f.body[before:]
        f.regions.insert(place, Region(str(form), made[0].name, made[-1].name, tuple(self.params(params))))

    def node(self, f: FunctionBuilder, item: Any) -> None:
        name, declared, op, arguments, source, spelling = item.children
        args, kwargs = self.arguments(arguments, lambda t: self.known(f, t))
        written = None if declared is None else self.type(declared)
        resolve(str(op))
        f.op(
            str(op), args, kwargs, name=str(name), spelling=None if spelling is None else str(spelling),
            type=self.node_type(f, item, str(op), args, kwargs, written),
            source=None if source is None else self.verbatim(source),
        )  # fmt: skip

    def verbatim(self, token: Token) -> str:
        return str(token)[3:-3] if token.type == "LONG_STRING" else self.string(token)

    def node_type(
        self, f: FunctionBuilder, item: Tree[Token], op: str, args: Any, kwargs: Any, written: Type | None
    ) -> Type:
        if written is not None and (self.b.infer is None or op in OPAQUE):
            return written
        try:
            found = f.typed(op, args, kwargs)
        except Rejected:
            if written is None or not self.b.options.expects_error:
                raise
            return written  # the verifier allows one such call
        if isinstance(found, AnyType) and written is not None:
            return written
        if written is not None and not _agree(written, found):
            from .format import format_type

            raise self.error(item, f"{item.children[0]} is {format_type(found)}, the text says {format_type(written)}")
        return found

    def known(self, f: FunctionBuilder, token: Token) -> fx.Node:
        name = str(token)
        if name in f.names:
            return f.node(name)
        if name in self.b.outer_names - {s.name for s in self.b.inputs}:
            return f.read(name)
        near = "an input must be a parameter of the function" if name in self.b.outer_names else ""
        raise self.error(token, f"unknown value {name!r} in {f.name}", near)

    # --- values and types

    def input_or_literal(self, token: Token) -> Any:
        return Ref(str(token))

    def arguments(self, tree: Any, refer: Callable[[Token], Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for argument in [] if tree is None else tree.children:
            if argument is None:
                continue
            if isinstance(argument, Tree) and argument.data == "keyword":
                kwargs[str(argument.children[0])] = self.value(argument.children[1], refer)
            elif kwargs:
                raise self.error(argument, "a positional argument after a keyword argument")
            else:
                args.append(self.value(argument, refer))
        return tuple(args), kwargs

    def params(self, tree: Any) -> list[Any]:
        return [] if tree is None else self.literals(tree.children[0])

    def literals(self, tree: Any) -> list[Any]:
        return [] if tree is None else [self.literal(t) for t in tree.children if t is not None]

    def literal(self, tree: Any) -> Any:
        def refuse(token: Token) -> Any:
            raise self.error(token, f"found the name {str(token)!r}, expected a literal")

        return self.value(tree, refuse)

    def value(self, tree: Any, refer: Callable[[Token], Any]) -> Any:
        kind, children = str(tree.data), tree.children
        if kind == "reference":
            name = str(children[0])
            return _CONSTANTS[name] if name in _CONSTANTS else refer(children[0])
        if kind == "integer":
            return self.whole(children[0])
        if kind == "real":
            return float(str(children[0]))
        if kind == "string":
            return self.string(children[0])
        if kind == "dotted":
            try:
                return torch_object(str(children[0]))
            except ProgramError as e:
                raise self.error(children[0], e.message, e.hint) from None
        if kind == "ellipsis":
            return ...
        inside = [] if children[-1] is None else [c for c in children[-1].children if c is not None]
        if kind == "dict":
            pairs = [(self.value(p.children[0], refer), self.value(p.children[1], refer)) for p in inside]
            try:
                return dict(pairs)
            except TypeError as e:
                raise self.error(inside[0], f"a key of a dict: {e}") from None
        items = [self.value(c, refer) for c in inside]
        if kind == "construct":
            return self.construct(children[0], items)
        return tuple(items) if kind == "tuple" else items

    def construct(self, head: Token, items: list[Any]) -> Any:
        makers: dict[str, Callable[..., Any]] = {"complex": complex, "slice": slice, "device": torch.device}
        if str(head) not in makers:
            raise self.error(head, f"found {head!s}(...), expected complex(...), slice(...) or device(...)")
        try:
            return makers[str(head)](*items)
        except (TypeError, ValueError, RuntimeError) as e:
            raise self.error(head, f"{head}: {e}") from None

    def whole(self, token: Any) -> int:
        try:
            return int(str(token))
        except ValueError:  # Python refuses some thousand digits
            raise self.error(token, f"a number of {len(token)} digits", "torch takes 19") from None

    def string(self, token: Token) -> str:
        try:
            return str(json.loads(str(token)))
        except json.JSONDecodeError as e:
            raise self.error(token, f"bad string: {e.msg}") from None

    def type(self, tree: Any) -> Type:
        if tree.data == "tensor":
            return self.tensor(tree)
        if tree.data == "simple":
            name, value = str(tree.children[0]), tree.children[1]
            if name in _SCALARS and (value is None or name in _NUMBERS):
                return ScalarType(name, None if value is None else self.number(name, value))  # type: ignore[arg-type]
            if name in ("any", "none"):
                return AnyType() if name == "any" else NoneType()
            raise self.error(tree, f"unknown type {name!r}", "f32[4, 8], int, float, bool, none, any, (..), [..]")
        inside = [] if tree.children[0] is None else [t for t in tree.children[0].children if t is not None]
        return SequenceType("tuple" if tree.data == "tuple_type" else "list", tuple(map(self.type, inside)))

    def number(self, kind: str, token: Any) -> bool | int | float:
        """The number that a type such as `int(3)` says."""
        found = _CONSTANTS.get(str(token), str(token))
        if kind == "bool" and isinstance(found, bool):
            return found
        if kind == "int" and token.type == "INT":
            return self.whole(token)
        if kind == "float" and token.type == "FLOAT":
            return float(str(token))
        raise self.error(token, f"{str(token)!r} is no {kind}", "such as int(3), float(0.5) or bool(True)")

    def tensor(self, tree: Any) -> TensorType | UnsizedType:
        dtype, shape, *rest = tree.children
        if str(dtype) not in DTYPES:
            raise self.error(dtype, f"unknown dtype {str(dtype)!r}", "one of " + ", ".join(DTYPES))
        sizes: Any = () if shape is None else tuple(None if n.type == "DATA" else self.whole(n) for n in shape.children)
        flags = {str(t.data): t for t in rest if isinstance(t, Tree) and t.data in ("grad", "device", "alias")}
        strides = next((t for t in rest if isinstance(t, Tree) and t.data == "ints"), None)
        offset = next((self.whole(t) for t in rest if isinstance(t, Token)), 0)
        device = str(flags["device"].children[0]).replace("_", ":") if "device" in flags else "cpu"
        alias = str(flags["alias"].children[0]) if "alias" in flags else None
        if None in sizes:
            if strides is not None or offset:
                raise self.error(dtype, "strides of a tensor whose sizes depend on data", "they are not known either")
            return UnsizedType(str(dtype), sizes, device, "grad" in flags, alias)
        stride = contiguous_strides(sizes) if strides is None else tuple(map(self.whole, strides.children))
        if len(stride) != len(sizes):
            raise self.error(dtype, f"{len(sizes)} sizes and {len(stride)} strides")
        return TensorType(str(dtype), sizes, stride, offset, device, "grad" in flags, alias)


def _agree(written: Type, found: Type) -> bool:
    """Whether a written type may stand for the inferred one: dtype and shape count; strides and aliases differ between
    torch versions, and a number may be left out."""
    if isinstance(found, TensorType | UnsizedType):
        return type(written) is type(found) and (written.dtype, written.shape) == (found.dtype, found.shape)
    if isinstance(found, SequenceType) and isinstance(written, SequenceType):
        same = written.kind == found.kind and len(written.items) == len(found.items)
        return same and all(map(_agree, written.items, found.items))
    if isinstance(found, ScalarType) and isinstance(written, ScalarType) and written.value is None:
        return written.kind == found.kind
    return written == found
