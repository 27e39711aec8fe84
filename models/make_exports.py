"""Export the torch models of this folder. Needs torch 2.13, onnxscript and transformers 5, which split-rewrite does not:

    python models/make_exports.py [NAME ...]

Each becomes NAME.onnx, with random weights, and NAME.npz, which holds inputs for it under their names. The exporters decide
the operators, so that another version of torch may give other nodes.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F  # noqa: N812 - the name that torch's own documentation gives it
from torch import Tensor, nn

HERE = Path(__file__).parent
DYNAMIC = torch.export.Dim.DYNAMIC


class Gated(nn.Module):
    """Half of the channels gate the other half."""

    def forward(self, x: Tensor) -> Tensor:
        return F.glu(x, dim=1)


class WaveNet(nn.Module):
    """Gated, dilated convolutions; each layer splits its channels before the gate and after it."""

    def __init__(self, channels: int = 16, layers: int = 4) -> None:
        super().__init__()
        self.channels = channels
        self.inp = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 3, padding=2**i, dilation=2**i) for i in range(layers))
        self.res = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 1) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        skips = torch.zeros(1)
        for inp, res in zip(self.inp, self.res, strict=True):
            filtered, gate = torch.split(inp(x), self.channels, dim=1)
            residual, skip = torch.split(res(torch.tanh(filtered) * torch.sigmoid(gate)), self.channels, dim=1)
            x, skips = x + residual, skips + skip
        return skips


class ChunkDynamicAxis(nn.Module):
    """torch.chunk where the size of a part depends on the input."""

    def forward(self, x: Tensor) -> Tensor:
        a, b = x.chunk(2, dim=0)
        return a * b


class SplitDynamicAxis(nn.Module):
    """torch.split of a dynamic axis into parts of constant size."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x.split(4, dim=0)
        return a * 2, b * 3


class SplitRagged(nn.Module):
    """torch.split where the last part is shorter."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a, b, c = x.split(5, dim=1)
        return a + 1, b + 2, c + 3


class SequenceAt(nn.Module):
    """A list of parts that is indexed, as scripts keep it."""

    def forward(self, x: Tensor) -> Tensor:
        parts = torch.split(x, 3, dim=0)
        return parts[0].sum(0) + parts[len(parts) - 1].sum(0)


class Attention(nn.Module):
    """Causal self-attention; query, key and value come out of one projection by a split."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for part in self.qkv(x).split(width, dim=2)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class TinyGPT(nn.Module):
    """Two transformer blocks without the perceptrons."""

    def __init__(self, width: int = 32, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.blocks = nn.ModuleList(Attention(width, heads) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        for norm, block in zip(self.norms, self.blocks, strict=True):
            x = x + block(norm(x))
        return x


class Conv(nn.Sequential):
    def __init__(self, inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> None:
        convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        super().__init__(convolution, nn.BatchNorm2d(outputs), nn.SiLU())


class C2f(nn.Module):
    """The block of YOLOv8: the channels are split, one half goes through bottlenecks, all are concatenated."""

    def __init__(self, channels: int, depth: int) -> None:
        super().__init__()
        self.half = channels // 2
        self.inp = Conv(channels, channels)
        self.inner = nn.ModuleList(self._bottleneck(self.half) for _ in range(depth))
        self.out = Conv((2 + depth) * self.half, channels)

    @staticmethod
    def _bottleneck(channels: int) -> nn.Module:
        return nn.Sequential(Conv(channels, channels, 3), Conv(channels, channels, 3))

    def forward(self, x: Tensor) -> Tensor:
        parts = list(self.inp(x).split((self.half, self.half), dim=1))
        for block in self.inner:
            parts.append(parts[-1] + block(parts[-1]))
        return self.out(torch.cat(parts, dim=1))


class Detector(nn.Module):
    """Two scales of C2f blocks, pooling, upsampling, and boxes as expectations over a softmax."""

    def __init__(self, channels: int = 16, bins: int = 4, classes: int = 5) -> None:
        super().__init__()
        self.bins, self.classes = bins, classes
        self.stem = nn.Sequential(Conv(3, channels, 3, 2), Conv(channels, channels, 3, 2), C2f(channels, 2))
        self.down = nn.Sequential(Conv(channels, channels, 3, 2), C2f(channels, 1))
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.merge = nn.Sequential(Conv(2 * channels, channels), C2f(channels, 1))
        self.head = nn.Conv2d(channels, 4 * bins + classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        fine = self.stem(x)
        coarse = self.pool(self.down(fine))
        fine = self.merge(torch.cat((fine, F.interpolate(coarse, scale_factor=2.0)), dim=1))
        cells = torch.cat([self.head(scale).flatten(2) for scale in (fine, coarse)], dim=2)
        boxes, scores = cells.split((4 * self.bins, self.classes), dim=1)
        weights = boxes.view(boxes.shape[0], 4, self.bins, -1).softmax(2)
        left_top, right_bottom = (weights * torch.arange(self.bins).view(1, 1, -1, 1)).sum(2).chunk(2, 1)
        return torch.cat((left_top, right_bottom - left_top, scores.sigmoid()), dim=1)


class GPT2(nn.Module):
    """The architecture of GPT-2, tiny."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel

        config = GPT2Config(vocab_size=211, n_positions=64, n_embd=48, n_layer=2, n_head=4, use_cache=False)
        config._attn_implementation = "eager"
        self.model = GPT2LMHeadModel(config)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.model(input_ids=x, attention_mask=y).logits


Export = Callable[[str], None]


def torchscript(model: type[nn.Module], opset: int, shape: Sequence[int], dynamic: Sequence[int], script: bool = False) -> Export:
    """Export by the older exporter, after tracing or, with `script`, scripting."""

    def export(name: str) -> None:
        module, inputs = model().eval(), _floats(shape)
        torch.onnx.export(
            torch.jit.script(module) if script else module,
            inputs,
            str(HERE / f"{name}.onnx"),
            input_names=["x"],
            opset_version=opset,
            dynamic_axes={"x": {axis: f"x{axis}" for axis in dynamic}},
            dynamo=False,
        )
        _save_inputs(name, inputs)

    return export


def dynamo(
    model: type[nn.Module], inputs: Callable[[], tuple[Tensor, ...]], dynamic: Sequence[int], optimize: bool = False
) -> Export:
    """Export by the newer exporter at its default opset; its own optimizer would dissolve some sequences."""

    def export(name: str) -> None:
        values = inputs()
        program = torch.onnx.export(
            model().eval(),
            values,
            dynamic_shapes=tuple(dict.fromkeys(dynamic, DYNAMIC) for _ in values),
            optimize=optimize,
            dynamo=True,
            verbose=False,
        )
        assert program is not None
        _save(program, name)
        _save_inputs(name, values)

    return export


def _floats(shape: Sequence[int]) -> tuple[Tensor, ...]:
    return (torch.randn(*shape),)


def _tokens() -> tuple[Tensor, ...]:
    return torch.randint(0, 211, (2, 9)), torch.ones(2, 9, dtype=torch.int64)


def _save(program: torch.onnx.ONNXProgram, name: str) -> None:
    """Write the model without the stack traces, which hold paths of the machine that made it."""
    with tempfile.TemporaryDirectory() as folder:
        program.save(str(Path(folder, "model.onnx")))
        proto = onnx.load(Path(folder, "model.onnx"))
    for node in proto.graph.node:
        kept = [entry for entry in node.metadata_props if not entry.key.endswith("stack_trace")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(proto, HERE / f"{name}.onnx")


def _save_inputs(name: str, values: tuple[Tensor, ...]) -> None:
    arrays = {label: value.numpy() for label, value in zip(("x", "y"), values, strict=False)}
    np.savez_compressed(HERE / f"{name}.npz", **arrays)


EXPORTS: dict[str, Export] = {
    "glu_opset13": torchscript(Gated, 13, (2, 8, 5), [0]),
    "wavenet_opset11": torchscript(WaveNet, 11, (2, 16, 40), [0, 2]),
    "sequence_at_opset18": torchscript(SequenceAt, 18, (7, 4), [0], script=True),
    "chunk_dynamic_axis_opset20": dynamo(ChunkDynamicAxis, lambda: _floats((6, 4)), [0]),
    "split_dynamic_axis_opset20": dynamo(SplitDynamicAxis, lambda: _floats((8, 5)), [0], optimize=True),
    "split_ragged_opset20": dynamo(SplitRagged, lambda: _floats((4, 12)), [0]),
    "tinygpt_opset20": dynamo(TinyGPT, lambda: _floats((2, 6, 32)), [0, 1]),
    "detector_opset20": dynamo(Detector, lambda: _floats((1, 3, 64, 64)), [0, 2, 3]),
    "gpt2_opset20": dynamo(GPT2, _tokens, [0, 1]),
}


def main(names: Sequence[str]) -> None:
    for name in names or EXPORTS:
        torch.manual_seed(0)
        EXPORTS[name](name)
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
