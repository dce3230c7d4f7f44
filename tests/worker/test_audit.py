"""The dispatch audit: every spelling of a computation is seen, every helper passes."""

# ruff: noqa: E501 - tables

from __future__ import annotations

import enum
import gc
import math
import time
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import _disable_current_modes

from kgb_env.operators.helpers import allowed
from kgb_env.worker.audit import Audit, AuditViolation, plain_answer

FILE = "submission.py"
SEEDS = allowed(frozenset(), frozenset({"rng_seed"}))


class Index:
    def __index__(self) -> int:
        return 3


class Duck:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return 1


class Size(enum.IntEnum):
    N = 3


@pytest.fixture(autouse=True)
def _collector() -> Any:
    yield
    gc.enable()


def namespace() -> dict[str, Any]:
    """Tensors and modules for the expressions below."""
    return {
        "torch": torch, "np": np, "math": math, "Index": Index, "Duck": Duck, "Size": Size, "F": torch.nn.functional,
        "x": torch.arange(12.0).reshape(3, 4), "y": torch.ones(3, 4), "i": torch.tensor(1), "m": torch.ones(3, 4) > 0,
        "c": torch.ones(2, dtype=torch.complex64), "g": torch.Generator(),
    }  # fmt: skip


def seen(source: str, helpers: Any = None) -> list[dict[str, Any]]:
    """Execute a statement under the audit; return the violations."""
    audit = Audit(helpers or allowed(), FILE)
    with torch.inference_mode():
        names = namespace()
        code = compile(source, FILE, "exec")
        try:
            with audit:
                exec(code, names)
        except AuditViolation:
            assert audit.violations
    return audit.violations


COMPUTING = {
    "A01 the operator": "torch.abs(x)",
    "A02 method": "x.matmul(y.t())",
    "A02 softmax": "x.softmax(-1)",
    "A03 plus": "x + y",
    "A03 matmul sign": "x @ y.t()",
    "A03 in place": "x += y",
    "A03 add_": "x.add_(1)",
    "A03 abs": "abs(x)",
    "A03 minus": "-x",
    "A03 comparison": "x < y",
    "A03 in": "1.0 in x",
    "A03 in a list": "x in [y]",
    "A03 sum of a list": "sum([x, y])",
    "A03 max of two": "max(x[0, 0], y[0, 0])",
    "A03 index tensor": "x[i]",
    "A03 index list": "x[[0, 1]]",
    "A03 mask": "x[m]",
    "A03 mask assignment": "x[m] = 1.0",
    "A03 index assignment": "x[[0, 1]] = y[:2]",
    "A04 functional": "F.relu(x)",
    "A04 special": "torch.special.expit(x)",
    "A04 linalg": "torch.linalg.norm(x)",
    "A05 overload packet": "torch.ops.aten.add(x, y)",
    "A05 overload": "torch.ops.aten.add.Tensor(x, y)",
    "A06 variable functions": "torch._C._VariableFunctions.abs(x)",
    "A06 nn bindings": "torch._C._nn.gelu(x)",
    "A06 unbound method": "torch.Tensor.mul(x, y)",
    "A06 base class": "torch._C.TensorBase.add(x, y)",
    "A07 assembled name": "getattr(torch, 'a' + 'bs')(x)",
    "A08 alias": "f = torch.sum; f(x)",
    "A09 einsum": "torch.einsum('ij,ij->i', x, y)",
    "A09 where": "torch.where(m, x, y)",
    "A09 copysign": "torch.copysign(x, y)",
    "A11 traced graph": "torch.fx.symbolic_trace(lambda a: a + 1)(x)",
    "A12 gradient": "torch.func.grad(lambda a: a.sum())(x)",
    "A12 grad mode": "torch.enable_grad().__enter__(); x.requires_grad_()",
    "A17 numpy": "x.numpy()",
    "A17 asarray": "np.asarray(x)",
    "A17 DLPack": "x.__dlpack__()",
    "A17 from DLPack": "np.from_dlpack(x)",
    "A17 tolist": "x.tolist()",
    "A17 item": "x[0, 0].item()",
    "A17 float": "float(x[0, 0])",
    "A17 bool": "bool(x[0, 0])",
    "A17 index of a list": "[1, 2, 3][i]",
    "A17 range": "range(i)",
    "A17 math": "math.sqrt(x[0, 0])",
    "A17 text": "repr(x)",
    "A17 f-string": "f'{x[0, 0]}'",
    "A17 percent": "'%d' % x[0, 0]",
    "A17 storage": "x.untyped_storage()",
    "A17 typed storage": "x.storage()",
    "A17 data": "x.data",
    "A17 map_": "x.map_(y, lambda a, b: a)",
    "A17 set_": "x.set_(y)",
    "A17 resize_": "x.resize_(20)",
    "A21 partial sum": "x.amax(-1)",
    "A22 index_select": "x.index_select(0, i)",
    "A22 gather": "x.gather(0, i)",
    "A22 repeat": "x.repeat(2, 1)",
    "A22 cat": "torch.cat([x, y])",
    "A22 triu": "x.triu()",
    "A22 conj": "c.conj()",
    "random values": "torch.empty(3).uniform_()",
    "random": "torch.rand(3)",
    "seed where none may be drawn": "torch.empty((), dtype=torch.int64).random_()",
    "large table": "torch.arange(5000)",
    "gather by a table": "torch.tensor([x[0, 1], x[0, 0]])",
    "copy by a table": "torch.tensor(x)",
    "gather by a table, named": "torch.tensor(data=[x[0, 1]])",
    "gather by a table, as_tensor": "torch.as_tensor([x[0, 1], x[0, 0]])",
    "gather by a table, new_tensor": "x.new_tensor([y[0, 1]])",
    "own __index__": "torch.empty((Index(),))",
    "own __index__ as an index": "x[Index()]",
    "own __torch_function__": "torch.empty_like(Duck())",
    "number of a subclass": "torch.empty(Size.N)",
}

HELPING = {
    "shape": "x.shape, x.size(0), x.stride(), x.ndim, x.dim(), x.numel(), len(x)",
    "pointer": "x.data_ptr(), x.element_size(), x.storage_offset(), x.device, x.dtype, x.is_cuda",
    "empty": "torch.empty((3, 4), dtype=torch.float16, device=x.device)",
    "empty_like": "torch.empty_like(x, memory_format=torch.contiguous_format)",
    "new_empty": "x.new_empty((2,)), x.new_zeros(3), x.new_full((2,), 1.0)",
    "fills": "torch.zeros(3), torch.ones(3), torch.full((2,), 1.0), torch.zeros_like(x), x.zero_(), x.fill_(2)",
    "broadcast": "torch.broadcast_tensors(x, y), x.expand(2, 3, 4), torch.broadcast_shapes((3, 1), (1, 4))",
    "views": "x.t(), x.T, x.mT, x.permute(1, 0), x.view(-1), x.unsqueeze(0), x.squeeze(), x.movedim(0, 1), x.narrow(0, 0, 1)",
    "slices": "x[0], x[1:, None], x[..., -1], x[:], x[None]",
    "slice assignment": "x[0] = 1.0; x[:1] = y[:1]",
    "strided": "x.as_strided((2,), (1,)), torch.empty_strided((2, 3), (1, 2))",
    "unbind": "list(x), x.unbind(0), x.split(1), x.chunk(2), torch.split(x, 2)",
    "copies": "x.t().contiguous(), x.clone(), x.reshape(-1), x.t().reshape(-1), x.flatten(), y.copy_(x)",
    "casts": "x.to(torch.float16), x.half(), x.float(), x.type_as(y), x.to(x.device), x.to(y)",
    "complex": "torch.view_as_real(c), c.real, torch.view_as_complex(torch.zeros(2, 2))",
    "bits": "x.view(torch.int32)",
    "dtypes": "torch.promote_types(x.dtype, torch.float64), torch.result_type(x, 1.0), torch.result_type(x, y)",
    "tables": "torch.arange(end=3), torch.as_tensor(x), torch.tensor([1, 2]), torch.arange(3), torch.as_tensor([1, 2]), torch.tensor([x.data_ptr(), y.data_ptr()])",
    "is": "x is y, hash(x), torch.is_tensor(x), torch.is_floating_point(x)",
}


@pytest.mark.parametrize("name", COMPUTING)
def test_computing_is_a_violation(name):
    violations = seen(COMPUTING[name])
    assert violations
    assert violations[0]["line"] == 1
    assert violations[0]["remedy"]
    assert not violations[0]["hack"]


@pytest.mark.parametrize("name", HELPING)
def test_helpers_pass(name):
    assert seen(HELPING[name]) == []


@pytest.mark.parametrize(
    ("narrowed", "source"),
    [
        ("copy", "x.clone()"),
        ("copy", "x.t().contiguous()"),
        ("copy", "y.copy_(x)"),
        ("copy", "y[:] = x"),
        ("copy", "x.to(torch.float64)"),
        ("copy", "x.t().reshape(-1)"),
        ("cast", "x.half()"),
        ("cast", "x.to(torch.float64)"),
        ("cast", "torch.empty(3, 4, dtype=torch.float64).copy_(x)"),
        ("fill", "torch.zeros(3)"),
        ("fill", "x.zero_()"),
        ("fill", "x[:] = 0"),
        ("index", "torch.arange(3)"),
        ("cast", "torch.as_tensor(x, dtype=torch.float64)"),
    ],
)
def test_what_the_operator_is_is_no_helper(narrowed, source):
    assert seen(source) == []
    violations = seen(source, allowed(frozenset({narrowed})))
    assert violations
    assert narrowed in violations[0]["remedy"]


def test_seeds_may_be_drawn_where_the_operator_draws():
    draw = "s = torch.empty((), dtype=torch.int64).random_(generator=g); s.item()"
    assert seen(draw, SEEDS) == []
    assert seen("torch.empty(3, 4).random_(generator=g)", SEEDS)
    assert seen("x[0, 0].item()", SEEDS)
    assert seen("x[i]", SEEDS)


def test_values_may_be_read_where_the_answer_is_a_number():
    assert seen("x.as_strided((), (), 3).to('cpu').tolist()", allowed(frozenset(), frozenset({"host_read"}))) == []


def test_a_swallowed_violation_is_recorded_with_its_line():
    violations = seen("z = 1\ntry:\n    x + y\nexcept BaseException:\n    pass\nx.clone()")
    (violation,) = violations
    assert violation["rule"] == "torch-function"
    assert violation["line"] == 3


def test_modes_that_were_switched_off_are_noticed():
    audit = Audit(allowed(), FILE)
    with pytest.raises(AuditViolation), audit:
        torch._C._pop_torch_function_stack()
    torch._C._push_on_torch_function_stack(audit._function)
    audit._function.__exit__(None, None, None)
    audit._dispatch.__exit__(None, None, None)
    assert audit.violations[0]["rule"] == "audit-disabled"
    assert audit.violations[0]["hack"]


def test_the_function_mode_sees_what_the_dispatch_mode_does_not():
    audit, x = Audit(allowed(), FILE), torch.ones(3)
    with pytest.raises(AuditViolation), audit, _disable_current_modes():
        x.add(1)
    assert audit.violations[0]["what"] == "`add`"


def test_no_garbage_is_collected_any_more():
    with Audit(allowed(), FILE):
        assert not gc.isenabled()
    assert not gc.isenabled()


class Lazy:
    pass


class Pair(tuple):
    __slots__ = ()

    def __iter__(self) -> Any:
        msg = "code of the submission's own"
        raise AssertionError(msg)


def test_answers_are_made_plain():
    x = torch.ones(2)
    assert plain_answer(x) is x
    assert plain_answer([x, None, 3]) == [x, None, 3]
    answer = plain_answer(Pair((x, 1)))
    assert type(answer) is tuple
    assert answer[0] is x
    for odd in (Lazy(), (x, Lazy()), np.ones(2), "x", torch.nn.Parameter(x), iter([x])):
        with pytest.raises(TypeError, match="was returned"):
            plain_answer(odd)


def test_the_audit_works_inside_a_mounted_kernel():
    audits = []

    def kernel(self: torch.Tensor) -> torch.Tensor:
        with Audit(allowed(), __file__) as audit:
            audits.append(audit)
            try:
                return self.abs()
            except BaseException:  # as a submission would
                return torch.empty_like(self)

    library = torch.library.Library("kgb_audit_test", "FRAGMENT")
    library.define("mine(Tensor self) -> Tensor")
    library.impl("mine", kernel, "CPU")
    with torch.inference_mode():
        torch.ops.kgb_audit_test.mine(torch.ones(3))
    assert [violation["what"] for violation in audits[0].violations] == ["`abs`"]


def test_the_overhead_is_small():
    x, y = torch.ones(3, 4), torch.ones(3, 4)

    def wrapper() -> None:
        a, b = torch.broadcast_tensors(x, y)
        out = torch.empty_like(a)
        for tensor in (a, b, out):
            tensor.stride(), tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.contiguous()

    def best(audited: bool) -> float:
        times = []
        for _ in range(200):
            start = time.perf_counter()
            if audited:
                with Audit(allowed(), FILE):
                    wrapper()
            else:
                wrapper()
            times.append(time.perf_counter() - start)
        return min(times)

    with torch.inference_mode():
        assert best(audited=True) - best(audited=False) < 300e-6
