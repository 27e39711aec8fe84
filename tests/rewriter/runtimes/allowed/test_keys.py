"""What each key of a rule says of a node: what must not be allowed comes first, with the reason."""

from __future__ import annotations

import pytest
import tomllib
from helpers import model

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.node import Node
from split_rewrite.rewriter.runtimes.allowed.findings import Finding
from split_rewrite.rewriter.runtimes.allowed.reading import ListReader
from split_rewrite.rewriter.runtimes.releases import Range
from split_rewrite.rewriter.storage.skeleton import Skeleton

pytestmark = pytest.mark.quick


def judged(graph: str, rule: str, opset: int = 18, ir_version: int = 8) -> Finding:
    """The judgement of the first node of `graph` by one rule about its operator."""
    proto = model(graph, opset, ir_version=ir_version)
    node = proto.graph.node[0]
    text = rule if rule.startswith("[all]") else f'[[rule]]\noperators = ["{node.op_type}"]\n{rule}'
    allowed = ListReader(tomllib.loads(text), text).of_release(Range(), None)
    assert allowed is not None
    main = Model(Skeleton.of(proto), constants_as_initializers=True).main
    return allowed.judge(Node(node, main, opset))


CONV = "g (float[1,4,8,8] x, float[6,4,3,3] w) => (float[1,6,6,6] y) { y = Conv(x, w) }"
STRIDED = "g (float[1,4,8,8] x, float[8,1,3,3] w) => (y) { y = Conv<strides = [2, 1], group = 4, pads = [1, 0, 1, 0]>(x, w) }"
STORED = "g (float[1,1,4,4] x) => (y) <float[1,1,1,1] w = {2}> { y = Conv(x, w) }"
SOFTMAX = "g (float[1,4,8,8] x) => (y) { y = Softmax<axis = 1>(x) }"
OPEN = "g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }"
RESIZE = "g (float[1,4,8,8] x) => (y) <float[4] s = {1, 1, 2, 3}> { y = Resize(x, , s) }"
BY_SIZES = "g (float[1,4,8,8] x) => (y) <int64[4] s = {1, 4, 16, 24}> { y = Resize(x, , , s) }"
ADD = "g (float[2,3] x, float[3] z) => (y) { y = Add(x, z) }"
CAST = "g (float[2] x) => (int64[2] y) { y = Cast<to = 7>(x) }"
RESHAPE = "g (float[2,3] x) => (y) <int64[1] s = {6}> { y = Reshape(x, s) }"
BOUNDS = "g (float[5,2] x) => (y) <int64[1] b = {1}, int64[1] e = {3}> { y = Slice(x, b, e) }"
BOUNDS_AT_RUN_TIME = "g (float[5,2] x, int64[1] b) => (y) <int64[1] e = {3}> { y = Slice(x, b, e) }"
GATHER = "g (float[5,2] x, int64[3] i) => (y) { y = Gather(x, i) }"
LONG_GATHER = "g (float[5,2] x) => (y) <int64[2] i = {0, 1}> { y = Gather(x, i) }"
MAX_POOL = "g (float[1,1,4,4] x) => (y, i) { y, i = MaxPool<kernel_shape = [2, 2]>(x) }"
MEAN = "g (float[2,3,4] x) => (y) <int64[1] a = {-1}> { y = ReduceMean(x, a) }"
MEAN_13 = "g (float[2,3,4] x) => (y) { y = ReduceMean<axes = [2]>(x) }"

DEFAULT = "g (float[1,1,4,4] x, float[1,1,1,1] w) => (y) <float[1,1,1,1] w = {2}> { y = Conv(x, w) }"
"""The weight is an input, too: its default before IR version 4, which callers cannot replace, is a constant."""
DEQUANTIZED = "g (int8[2] x) => (y) <float s = {2}> { y = DequantizeLinear(x, s) }"

NOT_ALLOWED = [
    (CONV, "attr = { group = [2, 4] }", "group is 1, not 2 or 4"),
    (STRIDED, "attr = { strides = [1] }", "strides is 2, not 1"),
    (STRIDED, "attr = { 'strides[H]' = { max = 1 } }", "strides[H] is 2, not at most 1"),
    (STRIDED, "attr = { 'pads[H]' = 'default' }", "pads[H] is 1, not the default"),
    (STRIDED, "attr = { strides = [[1, 1], [2, 2]] }", "strides is [2, 1], not [1, 1] or [2, 2]"),
    (CONV, "attr = { kernel_shape = { min = 4 } }", "kernel_shape is 3, not at least 4"),
    (CONV, "attr = { dilations = { not = [1] } }", "dilations is 1"),
    (CONV, "opset = { max = 12 }", "the opset is 18, not at most 12"),
    (SOFTMAX, "attr = { axis = [-1] }", "axis is 1, not 3"),
    (SOFTMAX, "attr = { axis = ['W', 'H'] }", "axis is 1, not 3 or 2"),
    (MEAN, "attr = { axes = [1] }", "axes is 2, not 1"),
    (MEAN_13, "value = { axes = [1] }", "axes is 2, not 1"),
    (CONV, "type = { X = ['float16'] }", "the type of 'x' is float, not float16"),
    (CAST, "[all]\ntype = { '*' = ['float'] }", "the type of 'y' is int64, not float"),
    (GATHER, "[all]\ntype = { '*' = ['float'] }", "the type of 'i' is int64, not float"),
    (LONG_GATHER, "[all]\ntype = { '*' = ['float'] }", "the type of 'i' is int64, not float"),
    (
        BOUNDS,
        "[all]\ntype = { '*' = ['float', 'int32'] }",
        "the type of 'b' is int64, not float or int32; the type of 'e' is int64, not float or int32",
    ),
    (BOUNDS, "type = { '*' = ['float'], ends = ['int32'] }", "the type of 'e' is int64, not int32"),
    (BOUNDS_AT_RUN_TIME, "[all]\ntype = { '*' = ['float'] }", "the type of 'b' is int64, not float"),
    (ADD, "rank = { A = '=B' }", "the rank of 'x' is 2, not 1"),
    (CONV, "rank = { X = 3 }", "the rank of 'x' is 4, not 3"),
    (CONV, "rank = { X = { max = 2, live = true } }", "the rank of 'x' without dimensions of 1 is 3, not at most 2"),
    (CONV, "dim = { 'H*W' = { max = 63 } }", "the size H*W is 64, not at most 63"),
    (CONV, "dim = { 'W.N' = { mod = 4 } }", "the size W.N is 6, not a multiple of 4"),
    (CONV, "const = ['W']", "W 'w' is computed at run time"),
    (STORED, "const = ['!W']", "W 'w' is a constant"),
    (RESIZE, "value = { 'scales[W]' = 'power2' }", "scales[W] is 3, not a power of two"),
    (BY_SIZES, "value = { 'scales[W]' = 'power2' }", "scales[W] is 3, not a power of two"),
    (RESIZE, "value = { scales = [1] }", "scales is 2, not 1; scales is 3, not 1"),
    (MAX_POOL, "absent = ['Indices']", "it has Indices"),
    (ADD, "shape = { B = [[], ['N', 3]] }", "the shape of 'z' is [3], not [] or [N, 3]"),
    (ADD, "shape = { A = '=B' }", "the shape of 'x' is [2, 3], not that of B"),
    (OPEN, "static = ['0']", "the size 0 is open"),
    (OPEN, "static = true", "the shape of 'x' is open: N; the shape of 'y' is open: N"),
    (SOFTMAX, "when = { rank = { input = 4 } }\nattr = { axis = [3] }", "axis is 1, not 3"),
    (SOFTMAX, "any = [{ attr = { axis = [3] } }, { rank = { input = 3 } }]", "axis is 1, not 3 or the rank of 'x' is 4, not 3"),
    (SOFTMAX, "not = { attr = { axis = [1] } }", "it has axis 1"),
]


@pytest.mark.parametrize(("graph", "rule", "reason"), NOT_ALLOWED, ids=[row[1] for row in NOT_ALLOWED])
def test_is_not_allowed(graph: str, rule: str, reason: str) -> None:
    opset = 13 if graph == MEAN_13 else 18
    assert "; ".join(judged(graph, rule, opset).against) == reason


UNKNOWN = [
    (OPEN, "dim = { '0' = { max = 8 } }", "the size 0 is unknown"),
    (CONV, "quant = { W = 'per_axis' }", "the profile has the key 'quant', which is not known here"),
    (CONV, "attr = { group = { min = 1, odd = true } }", "the profile has odd for group, which is not known here"),
    (OPEN, "not = { dim = { '0' = [1] } }", "the size 0 is unknown"),
    (OPEN, "when = { dim = { '0' = [1] } }\nrank = { X = 3 }", "the size 0 is unknown"),
    (OPEN, "any = [{ rank = { X = 3 } }, { dim = { '0' = [1] } }]", "the rank of 'x' is 2, not 3 or the size 0 is unknown"),
    (OPEN, "shape = { X = [[1, 4]] }", "the shape of 'x' is [N, 4], not [1, 4]"),
    ("g (x) => (y) { y = Relu(x) }", "type = { X = ['float'] }", "the type of 'x' is unknown"),
]


@pytest.mark.parametrize(("graph", "rule", "reason"), UNKNOWN, ids=[row[1] for row in UNKNOWN])
def test_nobody_can_tell(graph: str, rule: str, reason: str) -> None:
    found = judged(graph, rule)
    assert not found.against and "; ".join(found.unknown) == reason


ALLOWED = [
    (BOUNDS, "[all]\ntype = { '*' = ['float'] }"),
    (CONV, "attr = { strides = [1], dilations = 'default', pads = [0], kernel_shape = [3], auto_pad = ['NOTSET'] }"),
    (SOFTMAX, "attr = { axis = [-3] }"),
    (SOFTMAX, "attr = { axis = ['C'] }"),
    (MEAN, "attr = { axes = ['W'] }"),
    (MEAN_13, "value = { axes = ['W'] }"),
    (RESHAPE, "[all]\ntype = { '*' = ['float'] }"),
    (RESIZE, "value = { 'scales[N]' = [1], 'scales[C]' = [1], scales = 'integer' }"),
    (BY_SIZES, "value = { 'scales[N]' = [1], scales = 'integer' }"),
    (CONV, "rank = { B = 7 }\ntype = { B = ['int8'] }\nconst = ['B']"),
    (CONV, "dim = { 'W.H*W.W' = { max = 9 }, C = '=W.C', H = { mod = 4 } }"),
    (STORED, "const = ['W']"),
    (DEQUANTIZED, "value = { x_zero_point = [0] }"),
    ("g (float[1,1,2,2] x) => (y) <float[0] r = {}, float[4] s = {1, 1, 2, 2}> { y = Resize(x, r, s) }", "absent = ['roi']"),
    (OPEN, "rank = { X = 2 }\nshape = { X = [['N', 4]], Y = '=X' }"),
    (OPEN, "not = { rank = { X = 3 } }"),
    (OPEN, "static = ['1', 'X.-1', '2']"),
    (OPEN, "when = { rank = { X = 3 } }\ntype = { X = ['int8'] }"),
    (OPEN, "when = { dim = { '0' = [1] } }\nrank = { X = 2 }"),
    (ADD, "type = { A = '=B' }\nany = [{ rank = { A = 9 } }, { dim = { 'A.1' = '=B.0' } }]"),
]


@pytest.mark.parametrize(("graph", "rule"), ALLOWED, ids=[row[1] for row in ALLOWED])
def test_is_allowed(graph: str, rule: str) -> None:
    opset = 13 if graph == MEAN_13 else 18
    assert judged(graph, rule, opset) == Finding()


@pytest.mark.parametrize(("ir_version", "reason"), [(3, ""), (4, "W 'w' is a default that callers may override")])
def test_a_default_is_a_constant_where_nobody_may_override_it(ir_version: int, reason: str) -> None:
    found = judged(DEFAULT, "const = ['W']", ir_version=ir_version)
    assert "; ".join(found.against) == reason and not found.unknown
