"""The run-time fence, attacked. Each attempt runs in a fork of one warmed process, as submissions do."""

# ruff: noqa: E501 - the tables hold whole sources

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HOST = Path(__file__).with_name("fence_host.py")

ESCAPES = {
    # Names that lead out of every Python namespace.
    "globals of a library function": "import triton.language as tl\nleak = tl.load.__globals__",
    "globals of an own function": "leak = (lambda: 0).__globals__",
    "code object": "leak = (lambda: 0).__code__",
    "closure": "import torch\nleak = torch.__getattr__.__closure__",
    "subclasses": "leak = object.__subclasses__()",
    "bases of a literal": "leak = ().__class__.__base__",
    "class by attribute": "import torch\nleak = torch.__class__",
    "dictionary of a module": "import torch\nleak = torch.__dict__",
    "builtins by name": "leak = __builtins__",
    "import by name": "leak = __import__",
    "self of a builtin": "leak = len.__self__",
    "generator frame": "g = (i for i in [1])\nleak = g.gi_frame.f_back",
    "coroutine frame": "async def f(): pass\nc = f()\nleak = c.cr_frame",
    "traceback frame": "try:\n    1 / 0\nexcept Exception as e:\n    leak = e.__traceback__",
    "traceback given to __exit__": (
        "class C:\n    def __enter__(self): pass\n    def __exit__(self, kind, error, trace):\n"
        "        global leak\n        leak = trace.tb_frame\nwith C():\n    1 / 0"
    ),
    "class pattern": "match len:\n    case object(__self__=found):\n        leak = found",
    "class pattern on a module": "import triton.language as tl\nmatch tl:\n    case object(core=found):\n        leak = found",
    "wrapped function": "import triton.language as tl\nleak = tl.load.__wrapped__",
    # Names put together at run time.
    "getattr": "leak = getattr(len, '__se' + 'lf__')",
    "getattr by reduce": "import functools\nleak = functools.reduce(getattr, ['__class__', '__base__'], ())",
    "getattr by partial": "import functools\nleak = functools.partial(getattr, len)('__self__')",
    "getattr by map": "leak = list(map(getattr, [len], ['__self__']))",
    "getattr with a str of one's own": (
        "class S(str):\n    def startswith(self, *a): return False\nleak = getattr(len, S('__self__'))"
    ),
    "getattr of a module's import": "import triton.language as tl\nleak = getattr(tl, 'co' + 're')",
    "hidden module of tl": "import triton.language as tl\nleak = [tl][0].core",
    "sys.modules in tl.extra": "import triton.language as tl\nleak = tl.extra.modules",
    "captured globals of a library kernel": "import triton.language as tl\nleak = tl.sum.get_capture_scope",
    "rewritten kernels": (
        "import triton\nimport triton.language as tl\n@triton.jit\ndef k(x):\n    tl.store(x, 1)\nleak = k.rewritten_fn"
    ),
    # Builtins that are not there.
    "eval": "leak = eval('1')",
    "exec": "exec('leak = 1')",
    "compile": "leak = compile('1', '', 'eval')",
    "open": "leak = open('/etc/passwd')",
    "globals": "leak = globals()",
    "vars": "import torch\nleak = vars(torch)",
    "breakpoint": "leak = breakpoint()",
    # Imports.
    "import sys": "import sys\nleak = sys",
    "import os.path": "import os.path\nleak = os",
    "import numpy": "import numpy\nleak = numpy",
    "import torch.nn": "import torch.nn\nleak = torch",
    "from torch import ops": "from torch import ops\nleak = ops",
    "from torch import _C": "from torch import _C\nleak = _C",
    "from tl import core": "from triton.language import core\nleak = core",
    "from tl.math import core": "from triton.language.math import core\nleak = core",
    "from typing import sys": "from typing import sys\nleak = sys",
    "star import": "from triton.language import *\nleak = core",
    "facade's hook": "from torch import __getattr__ as leak",
    "sys of dataclasses": "import dataclasses\nleak = dataclasses.sys",
    "sys of enum": "import enum\nleak = enum.sys",
    "sys of collections": "import collections\nleak = collections._sys",
    "os of contextlib": "import contextlib\nleak = contextlib.os",
    "compiler": "import triton\nleak = triton.compiler",
    "benchmarks": "import triton\nleak = triton.testing.do_bench",
    "driver": "import triton\nleak = triton.runtime.driver.active.utils.load_binary",
    # The standard library as a lever.
    "update_wrapper copies attributes": "import functools\nleak = functools.update_wrapper",
    "wraps copies a module's dictionary": (
        "import functools, triton.language as tl\nf = functools.wraps(tl)(lambda: 0)\nleak = f.semantics if hasattr(f, 'load') "
        "else None\nif leak is None: raise ValueError('nothing copied')"
    ),
    "wraps of tl.math": (
        "import triton.language as tl\nf = tl.math.wraps(tl)(lambda: 0)\nif not hasattr(f, 'load'): raise ValueError\nleak = f"
    ),
    "contextmanager copies a module's dictionary": (
        "import contextlib, triton.language as tl\nf = contextlib.contextmanager(tl)\nleak = f.load"
    ),
    "singledispatch": "import functools\nleak = functools.singledispatch",
    "get_type_hints evaluates": "import typing\nleak = typing.get_type_hints",
    "TypedDict": "import typing\nleak = typing.TypedDict",
    "make_dataclass": "import dataclasses\nleak = dataclasses.make_dataclass",
    "dataclass with a field that is code": (
        "import dataclasses\nA = type('A', (), {'__annotations__': {'x=[].append(1)': int}})\nleak = dataclasses.dataclass(A)"
    ),
    "dataclass field renamed to code": (
        "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int = 1\n"
        "dataclasses.fields(A)[0].name = 'x=print(1)'\nleak = 1"
    ),
    "annotations of a class": "class A:\n    __annotations__['x=1'] = int\nleak = A",
    "format reaches text only": "leak = '{0.__self__}'.format(len)\nif 'module' in leak: raise ValueError('only text')",
    # Classes.
    "metaclass of the language": "leak = type(type(1))('A', (), {'__del__': lambda self: 0})",
    "foreign class": "import triton\n@triton.jit\ndef k(x): pass\nleak = type(k)",
    "class of a tensor": "import torch\nleak = type(torch.empty(1)).add",
    "finaliser": "leak = type('A', (), {'__del__': lambda self: 0})",
    "fake tensor": "class D:\n    def __torch_function__(self): pass\nleak = D",
    "fake tensor by import": "class D:\n    import math as __torch_function__\nleak = D",
    "fake tensor by call": "leak = type('D', (), {'__torch_function__': 1})",
    "fake array by argument": "def f(__array__): return __array__\nleak = f",
    "dataclass of a foreign class": "import dataclasses, triton\nleak = dataclasses.dataclass([triton.Config][0])",
    # Patching.
    "patched facade": "import torch\ntorch.empty = 1\nleak = 1",
    "patched tl": "import triton.language as tl\n[tl][0].sum = 1\nleak = 1",
    "patched Config": "import triton\nc = [triton.Config][0]\nc.all_kwargs = 1\nleak = 1",
    "patched by setattr": "import triton.language as tl\nsetattr(tl, 'sum', 1)\nleak = 1",
    "patched by loop target": "import triton.language as tl\nfor [tl][0].sum in [1]: pass\nleak = 1",
    "deleted": "import triton.language as tl\ndel [tl][0].sum\nleak = 1",
    "patched kernel of tl": "import triton.language as tl\ntl.sum.fn = 1\nleak = 1",
    "patched stdlib": "import collections\n[collections.Counter][0].update = 1\nleak = 1",
    # What the facade holds.
    "torch.add": "import torch\nleak = torch.add",
    "torch.ops": "import torch\nleak = torch.ops",
    "torch.Tensor.add": "import torch\nleak = torch.Tensor.add",
    "torch.Tensor()": "import torch\nleak = torch.Tensor(3)",
    "torch.compile": "import torch\nleak = torch.compile",
    "torch.cuda.graph": "import torch\nleak = torch.cuda.graph",
    "torch by getattr": "import torch\nleak = getattr(torch, 'a' + 'dd')",
}  # fmt: skip

HONEST = {
    "plain functions": "def f(x):\n    return x\nf.calls = 0\nresult = f(3)",
    "module cache": "_CACHE = {}\ndef f(k):\n    return _CACHE.setdefault(k, k)\nresult = f(1)",
    "own private attributes": "class A:\n    def __init__(self):\n        self._x = 1\nresult = getattr(A(), '_x')",
    "super": "class A:\n    def __init__(self): self.x = 1\nclass B(A):\n    def __init__(self): super().__init__()\nresult = B().x",
    "name of a class": "class A:\n    def n(self): return self.__class__.__name__ + type(self).__name__\nresult = A().n()",
    "isinstance of a tensor": "import torch\nresult = isinstance(torch.empty(2), torch.Tensor) and not isinstance(1, torch.Tensor)",
    "type of a tensor": "import torch\nresult = type(torch.empty(2)) is torch.Tensor",
    "isinstance of type": "result = isinstance(int, type) and type(3) is int",
    "annotations": "import torch\ndef f(x: torch.Tensor, d: torch.dtype) -> torch.Tensor: return x\nresult = 1",
    "dtypes": "import torch\nresult = {torch.float16: 1}[torch.float16] + torch.finfo(torch.float32).bits + torch.int8.itemsize",
    "no_grad": "import torch\n@torch.no_grad()\ndef f(): return 1\n@torch.inference_mode\ndef g(): return 2\nwith torch.no_grad():\n    result = f() + g()",
    "device context": "import torch\nx = torch.empty(2)\nwith torch.cuda.device(x.device):\n    result = 1",
    "device queries": "import torch\nresult = torch.cuda.is_available() or torch.cuda.device_count() == 0",
    "absent name with default": "import torch\nresult = getattr(torch, 'npu', None) is None and not hasattr(torch, 'compile')",
    "getattr on tl": "import triton.language as tl\nresult = getattr(tl, 'float' + '32') is tl.float32",
    "libdevice": "from triton.language.extra import libdevice\nfrom triton.language.extra.cuda import libdevice as other\nresult = libdevice.exp",
    "names of libdevice": "import triton.language.extra.libdevice as ld\nresult = ld.erf",
    "triton by another name": "import triton as tr\nimport triton.language as tl\nresult = tr.cdiv(5, 2) == 3 and tr.next_power_of_2(5) == 8 and tr.language is tl",
    "functools": "import functools\n@functools.lru_cache(maxsize=None)\ndef f(x): return x\n@functools.wraps(f)\ndef g(): pass\nresult = f(1) + functools.reduce(max, [1, 2])",
    "contextmanager": "from contextlib import contextmanager\n@contextmanager\ndef c():\n    yield 1\nwith c() as result: pass",
    "dataclass": (
        "from dataclasses import dataclass, field, replace, asdict\n@dataclass(frozen=True, order=True)\nclass C:\n    a: int\n"
        "    b: list = field(default_factory=list)\n    c: int = 3\n"
        "x = replace(C(1), c=4)\nresult = x == C(1, [], 4) and x > C(1) and asdict(x) == {'a': 1, 'b': [], 'c': 4} "
        "and repr(x) == 'C(a=1, b=[], c=4)'"
    ),
    "dataclass inheritance": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    a: int = 1\n@dataclass\nclass B(A):\n    b: int = 2\n"
        "    def __post_init__(self): self.s = self.a + self.b\nresult = B(b=5).s == 6"
    ),
    "enum": "from enum import Enum, IntEnum, auto\nclass E(IntEnum):\n    A = auto()\nresult = E.A.name == 'A' and E.A == 1",
    "named tuple": "from typing import NamedTuple\nfrom collections import namedtuple\nclass N(NamedTuple):\n    a: int\nP = namedtuple('P', 'x y')\nresult = N(1)._replace(a=2).a + P(1, 2)._asdict()['y']",
    "class by call": "A = type('A', (), {'x': 1})\nresult = A().x",
    "walrus, match, star": "match [1, 2, 3]:\n    case [a, *rest]:\n        result = (b := a) + rest[0]",
    "exceptions": "class MyError(ValueError): pass\ntry:\n    raise MyError('x')\nexcept ValueError as e:\n    result = str(e)",
    "future": "from __future__ import annotations\nresult = 1",
    "f-strings and print": "print(f'{1 + 1!r:>4}')\nresult = '{:d} {x}'.format(1, x=2)",
    "autotune": (
        "import triton\nimport triton.language as tl\n"
        "@triton.autotune(configs=[triton.Config({'B': 4}, num_warps=1)], key=['n'])\n@triton.jit\n"
        "def k(x, n, B: tl.constexpr):\n    tl.store(x + tl.arange(0, B), 1.0)\nresult = k"
    ),
}  # fmt: skip


SWALLOWED = "import torch\ntry:\n    torch.add\nexcept:\n    pass\nresult = 1"
TYPO = "import torch\ntorch.emtpy"


@pytest.fixture(scope="module")
def host() -> dict[str, Any]:
    """Everything at once: starting PyTorch is what takes time."""
    sources = {f"escape: {k}": v for k, v in ESCAPES.items()} | {f"honest: {k}": v for k, v in HONEST.items()}
    sources |= {"swallowed": SWALLOWED, "typo": TYPO}
    done = subprocess.run(
        [sys.executable, str(HOST)], input=json.dumps(sources), capture_output=True, text=True, timeout=240, check=True
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def outcomes(host: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return host["outcomes"]


@pytest.mark.parametrize("name", ESCAPES)
def test_escapes_are_closed(outcomes, name):
    outcome = outcomes[f"escape: {name}"]
    assert not outcome["leaked"], outcome
    assert outcome["error"], outcome


@pytest.mark.parametrize("name", HONEST)
def test_honest_code_runs(outcomes, name):
    outcome = outcomes[f"honest: {name}"]
    assert outcome["error"] == "", outcome
    assert outcome["violations"] == []
    assert outcome["result"], outcome


def test_a_swallowed_violation_is_still_recorded(outcomes):
    outcome = outcomes["swallowed"]
    assert outcome["error"] == ""
    (violation,) = outcome["violations"]
    assert violation["rule"] == "forbidden-attribute"
    assert violation["line"] == 3
    assert "torch.add" in violation["what"]
    assert "Triton kernel" in violation["remedy"]


def test_an_absent_name_is_an_ordinary_error(outcomes):
    outcome = outcomes["typo"]
    assert outcome["error"].startswith("AttributeError")
    assert "empty" in outcome["error"]
    assert outcome["violations"] == []


def test_nothing_dangerous_is_reachable_by_public_names(host):
    """Every public attribute of everything that is handed out, six steps deep, leads to no foreign module."""
    assert host["walk"] == []
