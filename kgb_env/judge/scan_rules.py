"""The static rules, as one walk over the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kgb_env.judge.scan_scopes import Scope, bind
from kgb_env.operators.helpers import Helpers
from kgb_env.records import Violation
from kgb_env.worker import names

__all__ = ["Rules"]

_BUILTIN_REMEDIES = {
    **dict.fromkeys(("exec", "eval", "compile", "__import__"), "write the code out; text is not executed"),
    **dict.fromkeys(("globals", "locals", "vars", "dir"), "use names, arguments and dictionaries of your own"),
    **dict.fromkeys(("open", "input", "breakpoint", "help", "exit", "quit"), "a submission computes on its arguments"),
}
_DECODERS = frozenset(
    [
        "a85decode",
        "b16decode",
        "b32decode",
        "b64decode",
        "b85decode",
        "decode",
        "decompress",
        "decrypt",
        "fromhex",
        "loads",
        "unhexlify",
    ]
)
_HACK_CALLS = frozenset(
    ["_current_frames", "_getframe", "get_objects", "get_referents", "get_referrers", "setprofile", "settrace"]
)
_DTYPE_ATTRIBUTES = ("is_complex", "is_floating_point", "is_signed", "itemsize")
_DEVICE_QUERY = "ask `torch.cuda.get_device_properties` instead, or pass a constant"
_TORCH_REMEDIES = {
    "compile": "write the Triton kernel yourself",
    "cuda.device_of": "use `torch.cuda.device(x.device)`, or leave it out",
    "cuda.current_stream": "streams are not allowed; kernels run on the current stream",
    "cuda.CUDAGraph": "graphs are not allowed; launch the kernel",
    "cuda.graph": "graphs are not allowed; launch the kernel",
    "cuda.Stream": "streams are not allowed; kernels run on the current stream",
    "cuda.stream": "streams are not allowed; kernels run on the current stream",
}
_TORCH_MODULES = {
    "nn": "modules and torch.nn are not allowed; write a plain function that launches a kernel",
    "autograd": "gradients are not needed; write a plain function",
    "library": "the judge mounts the functions; define them under their names, and nothing else",
    **dict.fromkeys(("jit", "compiler"), "PyTorch compiles nothing here; leave it out"),
    **dict.fromkeys(
        ("allclose", "manual_seed", "rand", "randint", "randn", "testing", "utils"),
        'no helper; trials of your own belong behind `if __name__ == "__main__":`, which is not run',
    ),
}
"""By the first name below ``torch``."""
_KEYWORDS = {"ir_override": "kernels come from the source", "use_cuda_graph": "graphs are not allowed"}


class Rules(ast.NodeVisitor):
    """Walks a module; afterwards ``violations`` and ``functions`` say what was found."""

    def __init__(self, helpers: Helpers) -> None:
        """Allow these helpers of torch."""
        self.helpers = helpers
        self.violations: list[Violation] = []
        self.functions: set[str] = set()
        self._scope = Scope()
        self._own: set[str] = set()
        self._classes: set[str] = set()
        self._kernel = 0

    def run(self, tree: ast.Module) -> None:
        """Check a whole module."""
        self._classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        self._own = _own_underscores(tree)
        bind(self._scope, list(tree.body))
        self.functions = {n for n, path in self._scope.names.items() if path is None}
        self._check_identifiers(tree)
        self.generic_visit(tree)

    def _report(self, rule: str, node: ast.AST, remedy: str, *, hack: bool = False) -> None:
        self.violations.append(Violation(rule, getattr(node, "lineno", 0), remedy, "scan", hack))

    # --- imports

    def visit_Import(self, node: ast.Import) -> None:
        """Allow listed modules."""
        for alias in node.names:
            self._check_import(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Allow listed modules, and listed names of them."""
        if node.level or not node.module:
            self._report("forbidden-import", node, "relative imports lead nowhere: a submission is one source")
            return
        if not self._check_import(node.module, node):
            return
        for alias in node.names:
            path = f"{node.module}.{alias.name}"
            if alias.name == "*":
                self._report("star-import", node, f"name what you need: `from {node.module} import ...`")
            elif path not in names.MODULES:
                self._check_path(path, node)

    def _check_import(self, module: str, node: ast.AST) -> bool:
        if module in names.MODULES:
            return True
        root = module.partition(".")[0]
        allowed = "math, typing, dataclasses, functools, itertools, enum, collections, contextlib"
        remedy = f"`{module}` is not available; allowed are torch, triton, triton.language and its libdevice, {allowed}"
        self._report("forbidden-import", node, remedy, hack=root in names.HACK_MODULES)
        return False

    # --- names

    def _check_identifiers(self, tree: ast.AST) -> None:
        for node in ast.walk(tree):
            for name in names.identifiers(node):
                if names.is_dunder(name) and name not in names.DUNDER_NAMES:
                    hack = name in names.FRAME_NAMES or name.startswith("__torch_")
                    self._report("dunder-name", node, f"`{name}` is not available", hack=hack)

    def visit_Name(self, node: ast.Name) -> None:
        """Refuse builtins that are not handed out, and check what aliases stand for."""
        bound, path = self._scope.lookup(node.id)
        if not bound and node.id in _BUILTIN_REMEDIES:
            self._report("forbidden-builtin", node, f"`{node.id}` is not available: {_BUILTIN_REMEDIES[node.id]}")
        elif not bound and self._kernel and node.id in names.INTERPRETER_GLOBALS:
            self._report("interpreter-internals", node, f"`{node.id}` is no part of Triton's language", hack=True)
        elif path and isinstance(node.ctx, ast.Load) and "." in path and path not in names.MODULES:
            self._check_path(path, node)

    # --- attributes

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Check a whole chain of attributes at once."""
        path = self._scope.path(node)
        if path is None:
            self._check_attribute(node)
            self.visit(node.value)
            return
        if not isinstance(node.ctx, ast.Load):
            self._report(
                "foreign-assignment",
                node,
                f"`{path}` stays as it is; keep state in variables and classes of your own",
                hack=not path.startswith("torch.backends."),  # a switch that many scripts set in good faith
            )
            return
        self._check_path(path, node)

    def _check_attribute(self, node: ast.Attribute) -> None:
        base = node.value
        from_super = isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super"
        from_own = isinstance(base, ast.Name) and base.id in self._classes
        own = node.attr in self._own or (isinstance(base, ast.Name) and base.id in {"self", "cls", *self._classes})
        if node.attr == "__class__" and isinstance(base, ast.Name) and base.id == "self":
            return
        if node.attr == "handle":
            remedy = "a block has no data on the host: use Triton's functions, and no attribute of this name"
            self._report("interpreter-internals", node, remedy, hack=self._kernel > 0)
            return
        if names.is_open_format(node):
            self._report("open-format", node, "use an f-string, or `.format` on a literal with plain fields")
            return
        rule = names.forbidden_attribute(node.attr, own=own, from_super=from_super or from_own)
        if rule:
            remedy = f"`.{node.attr}` is not available; use public attributes, or underscores of your own classes"
            if rule == "inner-attribute":
                remedy = f"`.{node.attr}` is a name of Triton's own works; call an attribute of yours something else"
            self._report(rule, node, remedy, hack=rule == "frame-access")

    def _check_path(self, path: str, node: ast.AST) -> None:
        """Check ``torch.cuda.is_available`` and the like; the first part is an imported module."""
        root, _, rest = path.partition(".")
        for part in rest.split("."):
            hack = part in names.FRAME_NAMES or part in _HACK_CALLS
            rule = names.forbidden_attribute(part)
            if hack or (rule and not (root == "triton" and rule == "inner-attribute")):
                self._report(rule or "frame-access", node, f"`{path}` is not available", hack=hack)
                return
        if rest.startswith("__version__."):
            return  # a method of a string
        if root == "torch":
            self._check_torch(rest, node)
        elif root == "triton":
            self._check_triton(rest, node)
        elif path in names.MODULES:
            return
        elif root in names.STDLIB:
            self._check_stdlib(path, node)

    def _check_torch(self, rest: str, node: ast.AST) -> None:
        if names.reaches(rest, self.helpers.torch) or f"torch.{rest}" in names.MODULES:
            return
        head, _, last = rest.rpartition(".")
        if head in self.helpers.torch and last in _DTYPE_ATTRIBUTES:
            return
        special = _TORCH_REMEDIES.get(rest) or _TORCH_MODULES.get(rest.partition(".")[0])
        remedy = f"`torch.{rest}`: {special}" if special else self.helpers.why_not(rest)
        self._report("not-a-helper", node, remedy)

    def _check_triton(self, rest: str, node: ast.AST) -> None:
        if names.reaches(rest, names.TRITON) or f"triton.{rest}" in names.MODULES:
            return
        if rest.startswith("language."):
            bad = next((part for part in rest.split(".") if part in names.INNER_NAMES), None)
            if bad:
                self._report(
                    "inner-attribute", node, f"`{bad}` is Triton's own; use the names of triton.language itself"
                )
            elif rest.endswith(".wraps"):
                self._report("inner-attribute", node, "use `functools.wraps`")
            return
        if rest.startswith("Config.") or rest.startswith("OutOfResources."):
            return
        query = rest.startswith(("runtime", "backends"))
        remedy = _DEVICE_QUERY if query else "use triton.jit, autotune, heuristics, Config, cdiv, next_power_of_2"
        self._report("forbidden-attribute", node, f"`triton.{rest}` is not available: {remedy}")

    def _check_stdlib(self, path: str, node: ast.AST) -> None:
        module, _, name = path.rpartition(".")
        while module and module not in names.STDLIB:
            module, _, name = module.rpartition(".")
        if name not in names.STDLIB[module] and not (name.startswith("__") and name in names.FOREIGN_DUNDERS):
            self._report("forbidden-attribute", node, f"`{module}.{name}` is not available to submissions")

    # --- calls

    def visit_Call(self, node: ast.Call) -> None:
        """Check getattr and its kin, text that is executed, and telling keywords."""
        name = node.func.id if isinstance(node.func, ast.Name) and not self._scope.lookup(node.func.id)[0] else ""
        check: Callable[[ast.Call, str], None] | None = {
            "getattr": self._check_getattr,
            "setattr": self._check_setattr,
            "delattr": self._check_setattr,
            "exec": self._check_exec,
            "eval": self._check_exec,
            "compile": self._check_exec,
        }.get(name)
        if check:
            check(node, name)
        path = self._scope.path(node.func) or ""
        for keyword in node.keywords:
            off = isinstance(keyword.value, ast.Constant) and keyword.value.value in (False, None)
            if keyword.arg in _KEYWORDS and path.startswith("triton.") and not off:
                self._report("forbidden-keyword", node, f"`{keyword.arg}`: {_KEYWORDS[keyword.arg]}")
        self.generic_visit(node)

    def _check_getattr(self, node: ast.Call, _: str) -> None:
        if len(node.args) < 2:
            return
        target, name = node.args[:2]
        path = self._scope.path(target)
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            attribute = ast.copy_location(ast.Attribute(target, name.value, ast.Load()), node)
            if len(node.args) == 2 or names.forbidden_attribute(name.value):
                self.visit_Attribute(attribute)
        elif path and not path.startswith("triton.language"):
            self._report("dynamic-attribute", node, f"write the name out: `{path}.name`")

    def _check_setattr(self, node: ast.Call, name: str) -> None:
        path = self._scope.path(node.args[0]) if node.args else None
        if path:
            self._report(
                "foreign-assignment", node, f"`{path}` stays as it is; `{name}` is for your own objects", hack=True
            )

    def _check_exec(self, node: ast.Call, _: str) -> None:
        for inner in (part for argument in node.args for part in ast.walk(argument)):
            called = inner.func if isinstance(inner, ast.Call) else None
            spelled = (
                called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
            )
            if spelled in _DECODERS:
                self._report("encoded-code", node, "write the code out; text is not decoded and executed", hack=True)
                return

    # --- definitions

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Enter a function; the body of a kernel has rules of its own."""
        for part in [*node.decorator_list, *_defaults(node.args), *_annotations(node)]:
            self.visit(part)
        kernel = any(self._is_jit(decorator) for decorator in node.decorator_list)
        self._kernel += kernel
        self._enter(node.args, node.body)
        self._kernel -= kernel

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Enter a lambda."""
        for part in _defaults(node.args):
            self.visit(part)
        self._enter(node.args, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Enter a class; metaclasses are refused."""
        for keyword in node.keywords:
            if keyword.arg in (None, "metaclass"):
                self._report("metaclass", node, "use a plain class, without a metaclass")
        for part in [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]:
            self.visit(part)
        outer, self._scope = self._scope, Scope(self._scope, is_class=True)
        bind(self._scope, list(node.body))
        for statement in node.body:
            self.visit(statement)
        self._scope = outer

    def _enter(self, arguments: ast.arguments, body: list[ast.stmt] | list[ast.expr]) -> None:
        outer, self._scope = self._scope, Scope(self._scope)
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        bind(self._scope, [*(argument for argument in every if argument), *body])
        for part in body:
            self.visit(part)
        self._scope = outer

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        """A class pattern reads attributes by name."""
        for name in node.kwd_attrs:
            rule = names.forbidden_attribute(name)
            if rule:
                self._report(rule, node, f"`{name}` is not available", hack=rule == "frame-access")
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """``error.obj`` would hand out whatever object lacked an attribute."""
        for inner in ast.walk(node):
            read = inner.value if isinstance(inner, ast.Attribute) and inner.attr == "obj" else None
            if isinstance(read, ast.Name) and read.id == node.name:
                self._report("underscore-attribute", inner, "`.obj` of an exception is not available")
        self.generic_visit(node)

    def _is_jit(self, decorator: ast.expr) -> bool:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        return self._scope.path(called) in ("triton.jit", "triton.runtime.jit.jit")


def _defaults(arguments: ast.arguments) -> list[ast.expr]:
    return [*arguments.defaults, *(default for default in arguments.kw_defaults if default)]


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    every = ast.walk(node.args)
    found = [part.annotation for part in every if isinstance(part, ast.arg) and part.annotation]
    return [*found, node.returns] if node.returns else found


def _own_underscores(tree: ast.AST) -> set[str]:
    """Return attribute names with one underscore that the submission defines: in classes, or on ``self``."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for statement in node.body:
                for inner in [statement, *ast.iter_child_nodes(statement)]:
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                        found.add(inner.id)
                    elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                        found.add(inner.name)
        stored = node if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else None
        if stored and isinstance(stored.value, ast.Name) and stored.value.id in ("self", "cls"):
            found.add(stored.attr)
    return {name for name in found if name.startswith("_") and not names.is_dunder(name)}
