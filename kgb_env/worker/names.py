"""Words that decide what a submission may name: modules, builtins, attributes.

Shared by the static scan (judge) and the run-time fence (worker). A submission has no ``exec``, so every
attribute that it reads is either an identifier of its source, which the scan sees, or goes through the
fence's ``getattr``. Both ask :func:`forbidden_attribute`; standard library only.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator

__all__ = [
    "BUILTINS",
    "DUNDER_NAMES",
    "FOREIGN_DUNDERS",
    "FRAME_NAMES",
    "HACK_MODULES",
    "INNER_NAMES",
    "INTERPRETER_GLOBALS",
    "MODULES",
    "MODULE_NAME",
    "OWN_DUNDERS",
    "STDLIB",
    "TRITON",
    "forbidden_attribute",
    "identifiers",
    "is_open_format",
    "is_dunder",
    "reaches",
    "without_demo",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STDLIB: dict[str, frozenset[str]] = {
    "__future__": frozenset({"annotations", "division", "print_function", "absolute_import", "generator_stop"}),
    "collections": frozenset({"ChainMap", "Counter", "OrderedDict", "abc", "defaultdict", "deque", "namedtuple"}),
    "collections.abc": _words(
        "Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView Mapping "
        "MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized ValuesView"
    ),
    "contextlib": frozenset(
        {"AbstractContextManager", "ExitStack", "closing", "contextmanager", "nullcontext", "suppress"}
    ),
    "dataclasses": frozenset({"FrozenInstanceError", "asdict", "astuple", "dataclass", "field", "fields", "replace"}),
    "enum": frozenset({"Enum", "Flag", "IntEnum", "IntFlag", "StrEnum", "auto", "unique"}),
    "functools": frozenset({"cache", "cached_property", "cmp_to_key", "lru_cache", "partial", "reduce", "wraps"}),
    "itertools": _words(
        "accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile "
        "filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest"
    ),
    "math": _words(
        "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 "
        "expm1 fabs factorial floor fma fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm "
        "ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt "
        "sumprod tan tanh tau trunc ulp"
    ),
    "typing": _words(
        "AbstractSet Annotated Any AnyStr Callable ClassVar Collection Container DefaultDict Deque Dict Final "
        "FrozenSet Generator Generic Hashable Iterable Iterator List Literal LiteralString Mapping MutableMapping "
        "MutableSequence NamedTuple NewType NoReturn Never Optional OrderedDict ParamSpec Protocol Reversible Self "
        "Sequence Set Sized SupportsFloat SupportsIndex SupportsInt TYPE_CHECKING Tuple Type TypeAlias TypeVar "
        "Union cast final overload"
    ),
}
"""What is handed out of each module of the standard library. Left out is what evaluates text
(``get_type_hints``, ``make_dataclass``, ``TypedDict``) or copies the dictionary of whatever it is given
(``update_wrapper``, ``singledispatch``)."""

TRITON = _words(
    "CompilationError Config InterpreterError OutOfResources TritonError __version__ autotune cdiv "
    "constexpr_function heuristics jit language must_use_result next_power_of_2 reinterpret set_allocator "
    "runtime.driver.active.get_active_torch_device runtime.driver.active.get_current_device "
    "runtime.driver.active.get_current_target runtime.driver.active.utils.get_device_properties "
    "tools.tensor_descriptor.TensorDescriptor"
)
"""Names under ``triton.``, dotted where they lie deeper."""

MODULES = frozenset(STDLIB) | {
    "torch",
    "torch.cuda",
    "triton",
    "triton.language",
    "triton.language.extra",
    "triton.language.extra.cuda",
    "triton.language.extra.cuda.libdevice",
    "triton.language.extra.hip",
    "triton.language.extra.hip.libdevice",
    "triton.language.extra.libdevice",
    "triton.language.math",
    "triton.language.random",
    "triton.language.standard",
    "triton.runtime",
    "triton.runtime.driver",
    "triton.tools",
    "triton.tools.tensor_descriptor",
}
"""Modules that may be imported."""

HACK_MODULES = frozenset({"ctypes", "_ctypes", "cffi", "_testcapi", "_testinternalcapi", "ptrace", "pyinjector"})
"""Modules that no honest wrapper has a use for; importing one counts as an attack."""

BUILTINS = _words(
    "ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BufferError BytesWarning "
    "DeprecationWarning EOFError Ellipsis EnvironmentError Exception ExceptionGroup False FloatingPointError "
    "FutureWarning GeneratorExit IOError ImportError ImportWarning IndexError KeyError KeyboardInterrupt "
    "LookupError MemoryError ModuleNotFoundError NameError None NotImplemented NotImplementedError OSError "
    "OverflowError PendingDeprecationWarning RecursionError ReferenceError ResourceWarning RuntimeError "
    "RuntimeWarning StopAsyncIteration StopIteration SyntaxError SystemError SystemExit TabError TimeoutError "
    "True TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError "
    "UnicodeWarning UserWarning ValueError Warning ZeroDivisionError __build_class__ __debug__ abs all any "
    "ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float format "
    "frozenset hash hex id int isinstance issubclass iter len list map max memoryview min next object oct ord "
    "pow print property range repr reversed round set slice sorted staticmethod str sum super tuple zip"
)
"""Builtins that are handed out as they are; ``getattr``, ``setattr``, ``delattr``, ``hasattr``, ``type`` and
``__import__`` come guarded, the others not at all."""

FRAME_NAMES = _words(
    "ag_await ag_code ag_frame co_code co_consts co_filename co_names cr_await cr_code cr_frame cr_origin "
    "f_back f_builtins f_code f_globals f_lineno f_locals f_trace func_code func_globals gi_code gi_frame "
    "gi_yieldfrom tb_frame tb_lasti tb_next __builtins__ __closure__ __code__ __globals__ __subclasses__ "
    "__traceback__ __mro__ __bases__ __base__ __loader__ __spec__ __import__ __getattribute__ __reduce__ "
    "__reduce_ex__ __wrapped__ __self__ __func__"
)
"""Ways out of one's own namespace; naming one is evidence of an attack."""

INNER_NAMES = _words(
    "ASTSource CompiledKernel InterpretedFunction add_pre_run_hook as_subclass ast_transformer builtins core "
    "create_binder device_caches extern_elementwise get_capture_scope handle inspect interpreter_builder "
    "interpreter_semantic ir knobs module_from_spec modules pkgutil pre_run_hooks raw_src rewrite rewriter "
    "rewritten_fn semantic set_state graphsafe_set_state target_info tl typing used_global_vals"
)
"""Public attributes that lead out of the language: modules that Triton's own modules import, the works of the launcher
and the interpreter, and the state of a random generator, through which a tensor's bytes become a Python number."""

INTERPRETER_GLOBALS = _words(
    "ASTTransformer FunctionRewriter GridExecutor InterpretedFunction InterpreterBuilder TensorHandle ast "
    "inspect interpreter_builder interpreter_semantic np numpy textwrap"
)
"""Names that Triton's interpreter puts into a kernel's namespace; no kernel may use them."""

OWN_DUNDERS = _words(
    "__abs__ __add__ __all__ __and__ __author__ __bool__ __call__ __contains__ __copy__ __delattr__ "
    "__delitem__ __divmod__ __doc__ __enter__ __eq__ __exit__ __float__ __floordiv__ __format__ __ge__ __get__ "
    "__getattr__ __getitem__ __gt__ __hash__ __iadd__ __iand__ __ifloordiv__ __ilshift__ __imod__ __imul__ "
    "__index__ __init__ __init_subclass__ __int__ __invert__ __ior__ __irshift__ __isub__ __iter__ "
    "__itruediv__ __ixor__ __le__ __len__ __lshift__ __lt__ __match_args__ __matmul__ __missing__ __mod__ "
    "__mul__ __name__ __ne__ __neg__ __new__ __next__ __or__ __pos__ __post_init__ __pow__ __qualname__ "
    "__radd__ __rand__ __repr__ __reversed__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ "
    "__round__ __rpow__ __rrshift__ __rshift__ __rsub__ __rtruediv__ __rxor__ __set__ __set_name__ __setattr__ "
    "__setitem__ __slots__ __str__ __sub__ __truediv__ __version__ __xor__ __delete__ __class_getitem__ "
    "__test__"
)
"""Special names that a submission's own classes and module may define."""

DUNDER_NAMES = OWN_DUNDERS | {"__debug__", "__file__", "__future__"}
"""Special names that may stand alone in the source."""

FOREIGN_DUNDERS = frozenset(
    {"__doc__", "__name__", "__qualname__", "__version__", "_asdict", "_fields", "_make", "_replace"}
)
"""Attributes with underscores that may be read of any object: texts, and the interface of named tuples."""

MODULE_NAME = "kgb_submission"
"""``__name__`` of a loaded submission, and ``__module__`` of its classes and functions."""

_SUPER = _words(
    "__call__ __contains__ __enter__ __eq__ __exit__ __getitem__ __hash__ __init__ __init_subclass__ __iter__ "
    "__len__ __missing__ __new__ __post_init__ __repr__ __setitem__ __str__"
)

_IDENTIFIERS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.AsyncFunctionDef: ("name",),
    ast.ClassDef: ("name",),
    ast.ExceptHandler: ("name",),
    ast.FunctionDef: ("name",),
    ast.Global: ("names",),
    ast.MatchAs: ("name",),
    ast.MatchMapping: ("rest",),
    ast.MatchStar: ("name",),
    ast.Name: ("id",),
    ast.Nonlocal: ("names",),
    ast.alias: ("asname",),
    ast.arg: ("arg",),
}


def is_dunder(name: str) -> bool:
    """Whether a name begins and ends with two underscores."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def forbidden_attribute(name: str, *, own: bool = False, from_super: bool = False) -> str | None:
    """Return the rule that forbids reading an attribute of that name, or ``None``.

    Args:
        name: the attribute.
        own: whether the object is the submission's own: then one leading underscore is its own business.
        from_super: whether it is read of ``super()`` or of the own class, where inherited methods are called.
    """
    if name in FRAME_NAMES:
        return "frame-access"
    if name in INNER_NAMES:
        return "inner-attribute"
    if not name.startswith("_") or name in FOREIGN_DUNDERS:
        return None
    if is_dunder(name):
        return None if from_super and name in _SUPER else "dunder-attribute"
    return None if own else "underscore-attribute"


def is_open_format(node: ast.Attribute) -> bool:
    """Whether ``.format`` may walk from its arguments into their insides: ``"{0.__globals__}".format(f)``.

    Fine is a literal text whose fields name arguments and nothing below them.
    """
    if node.attr not in ("format", "format_map"):
        return False
    text = node.value.value if isinstance(node.value, ast.Constant) else None
    if node.attr == "format_map" or not isinstance(text, str):
        return True
    try:
        fields = [(name or "", spec or "") for _, name, spec, _ in string.Formatter().parse(text)]
    except ValueError:  # no format string: it raises when it is used
        return False
    return any("." in name or "[" in name or "{" in spec for name, spec in fields)


def identifiers(node: ast.AST) -> Iterator[str]:
    """Return the names that a node binds, or reads on its own: all identifiers but attributes, keywords and imports."""
    for field in _IDENTIFIERS.get(type(node), ()):
        value = getattr(node, field)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from value


def reaches(path: str, names: frozenset[str]) -> bool:
    """Whether a dotted path is one of the names, or a namespace that holds one.

    >>> reaches("cuda", frozenset({"cuda.is_available"})), reaches("cuda.graph", frozenset({"cuda.is_available"}))
    (True, False)
    """
    return path in names or any(name.startswith(path + ".") for name in names)


def without_demo(tree: ast.Module) -> ast.Module:
    """Drop ``if __name__ == "__main__":`` blocks of the module, in place, and return it.

    Such a block never runs here, so that what it calls says nothing. The scan and the fence both drop it: what is
    executed is what was scanned, whatever a submission makes of ``__name__``. An ``else`` stays.
    """
    body: list[ast.stmt] = []
    for statement in tree.body:
        demo = isinstance(statement, ast.If) and ast.unparse(statement.test) == "__name__ == '__main__'"
        body += statement.orelse if isinstance(statement, ast.If) and demo else [statement]
    tree.body = body
    return tree
