"""Named tuples of arrays as one argument: a pointer to where they lie.

Numba passes a tuple as all of its parts, and an array as at least seven numbers. A search is given
some sixty arrays, so every call of a helper passed hundreds of arguments, and most of what numba
and LLVM worked on were lists of them. Here the entry from Python lays the arrays out once, kernels
and helpers hand on the address, and reading a field loads what is needed of it. What lies there
never changes while a kernel runs, and LLVM is told so: loads leave loops as arguments would.

Bundles are made in Python; a kernel reads their fields and makes none.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeVar

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    register_model,
    typeof_impl,
    unbox,
)

Class = TypeVar("Class", bound=type)


class Bundle(types.Type):
    """The type of a named tuple whose parts stay where they are."""

    def __init__(self, instance_class: type, parts: tuple[types.Type, ...]) -> None:
        self.instance_class, self.parts = instance_class, parts
        self.fields: tuple[str, ...] = instance_class._fields  # type: ignore[attr-defined]
        super().__init__(f"{instance_class.__name__}({', '.join(map(str, parts))})")

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """What stands for the type in names of functions: short, since these are many."""
        digest = hashlib.sha256(self.name.encode()).hexdigest()[:12]
        return f"{self.instance_class.__name__}_{digest}", ()


def bundle(named_tuple: Class) -> Class:
    """Pass this named tuple to kernels as one address."""

    @typeof_impl.register(named_tuple)
    def _(value: Any, context: Any) -> Bundle:
        return Bundle(named_tuple, tuple(typeof_impl(part, context) for part in value))

    return named_tuple


@register_model(Bundle)
class _BundleModel(models.PrimitiveModel):
    """The address of the parts; a bundle among them lies there itself."""

    def __init__(self, manager: Any, kind: Bundle) -> None:
        self.layout = ir.LiteralStructType(
            [
                manager[part].layout if isinstance(part, Bundle) else manager[part].get_data_type()
                for part in kind.parts
            ]
        )
        super().__init__(manager, kind, self.layout.as_pointer())

    def from_argument(self, builder: Any, value: Any) -> Any:
        """Say that the whole layout can be read, so that loads may be moved out of branches."""
        if isinstance(value, ir.Argument):
            value.attributes.dereferenceable = 8 * _words(self.layout)
        return super().from_argument(builder, value)


def _words(layout: Any) -> int:
    """Return how many words there are at least."""
    if isinstance(layout, ir.LiteralStructType):
        return sum(_words(each) for each in layout.elements)
    if isinstance(layout, ir.ArrayType):
        return int(layout.count) * _words(layout.element)
    wide = isinstance(layout, ir.PointerType) or getattr(layout, "width", 0) == 64
    return int(wide)


@infer_getattr
class _Fields(AttributeTemplate):
    key = Bundle

    def generic_resolve(self, kind: Any, name: Any) -> Any:  # type: ignore[override]
        """Return the type of a field."""
        return kind.parts[kind.fields.index(name)] if name in kind.fields else None


@lower_getattr_generic(Bundle)
def _field(context: Any, builder: Any, kind: Bundle, value: Any, name: str) -> Any:
    """Read a field."""
    place = kind.fields.index(name)
    part = kind.parts[place]
    address = _part(builder, value, place)
    if isinstance(part, Bundle):
        return address
    model = context.data_model_manager[part]
    loaded = model.from_data(builder, _load(builder, address))
    if isinstance(part, types.Array):
        size = context.get_abi_sizeof(context.get_data_type(part.dtype))
        at = model._fields.index("itemsize")
        loaded = builder.insert_value(loaded, ir.Constant(ir.IntType(64), size), at)
    return impl_ret_borrowed(context, builder, part, loaded)


def _part(builder: Any, address: Any, place: int) -> Any:
    zero = ir.Constant(ir.IntType(32), 0)
    return builder.gep(address, [zero, ir.Constant(ir.IntType(32), place)], inbounds=True)


def _load(builder: Any, address: Any) -> Any:
    """Load word by word: LLVM is slow with what is loaded as a whole."""
    layout = address.type.pointee
    if isinstance(layout, ir.LiteralStructType | ir.ArrayType):
        count = len(layout.elements) if isinstance(layout, ir.LiteralStructType) else layout.count
        whole = ir.Constant(layout, ir.Undefined)
        for place in range(count):
            whole = builder.insert_value(
                whole, _load(builder, _part(builder, address, place)), place
            )
        return whole
    loaded = builder.load(address)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


@unbox(Bundle)
def _lay_out(kind: Bundle, value: Any, c: Any) -> NativeValue:
    """Lay the parts of a Python tuple out in the frame of the entry from Python."""
    from numba.core import cgutils

    model = c.context.data_model_manager[kind]
    address = cgutils.alloca_once(c.builder, model.layout)
    errors: list[Any] = []
    ends: list[Any] = []
    _fill(kind, value, c, address, errors, ends)
    failed = cgutils.false_bit
    for error in errors:
        failed = c.builder.or_(failed, error)

    def end() -> None:
        for each in ends:
            each()

    return NativeValue(address, is_error=failed, cleanup=end)


def _fill(
    kind: Bundle, value: Any, c: Any, address: Any, errors: list[Any], ends: list[Any]
) -> None:
    for place, part in enumerate(kind.parts):
        item = c.pyapi.tuple_getitem(value, place)
        target = _part(c.builder, address, place)
        if isinstance(part, Bundle):
            _fill(part, item, c, target, errors, ends)
            continue
        native = c.pyapi.to_native_value(part, item)
        errors.append(native.is_error)
        model = c.context.data_model_manager[part]
        c.builder.store(model.as_data(c.builder, native.value), target)
        if native.cleanup is not None:
            ends.append(native.cleanup)
        if c.context.enable_nrt:
            ends.append(
                lambda part=part, native=native: c.context.nrt.decref(c.builder, part, native.value)
            )
