"""Export small blocks of the architectures that people convert most, by torch's newer exporter.

    python models/make_blocks.py FOLDER [NAME ...]

Needs torch 2.13 and onnxscript. Each block becomes FOLDER/NAME.OPSET.static.onnx and FOLDER/NAME.OPSET.dynamic.onnx, with random
weights; in the dynamic one the batch is open, and where the block allows it length, height and width. NAME.….npz beside it holds
inputs. `result_quality.py --models FOLDER` counts what a conversion makes of them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name that torch's own documentation gives it
from make_exports import DYNAMIC
from torch import Tensor, nn

OPSETS = (18, 20, 23)
_WIDTH, _HEADS = 32, 4


def _heads(x: Tensor, count: int) -> Tensor:
    """[batch, length, width] as [batch, heads, length, size]."""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def _rolled(x: Tensor, shift: int) -> Tensor:
    """torch.roll along rows and columns, which not every exporter has."""
    for axis in (1, 2):
        size = x.shape[axis]
        x = torch.cat((x.narrow(axis, -shift % size, shift % size), x.narrow(axis, 0, -shift % size)), dim=axis)
    return x


class SelfAttention(nn.Module):
    """Query, key and value out of one projection each; `context` gives keys and values where it is not `x`."""

    def __init__(self, *, causal: bool = False) -> None:
        super().__init__()
        self.causal = causal
        self.q, self.k, self.v, self.out = (nn.Linear(_WIDTH, _WIDTH) for _ in range(4))

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        source = x if context is None else context
        q, k, v = _heads(self.q(x), _HEADS), _heads(self.k(source), _HEADS), _heads(self.v(source), _HEADS)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Perceptron(nn.Sequential):
    def __init__(self, activation: nn.Module) -> None:
        super().__init__(nn.Linear(_WIDTH, 4 * _WIDTH), activation, nn.Linear(4 * _WIDTH, _WIDTH))


class ConvNeXt(nn.Module):
    """A stem and two blocks: depthwise convolution, LayerNorm over channels that are last, Gelu, a scale for each channel."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, _WIDTH, 4, 4)
        self.depthwise = nn.ModuleList(nn.Conv2d(_WIDTH, _WIDTH, 7, padding=3, groups=_WIDTH) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(_WIDTH) for _ in range(2))
        self.perceptrons = nn.ModuleList(Perceptron(nn.GELU()) for _ in range(2))
        self.scale = nn.Parameter(torch.rand(_WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for depthwise, norm, perceptron in zip(self.depthwise, self.norms, self.perceptrons, strict=True):
            inner = norm(depthwise(x).permute(0, 2, 3, 1))
            x = x + (perceptron(inner) * self.scale).permute(0, 3, 1, 2)
        return x.mean((2, 3))


class ViT(nn.Module):
    """Patches, a class token, positions, and two blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, _WIDTH, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, _WIDTH))
        self.positions = nn.Parameter(torch.randn(1, 17, _WIDTH))
        self.norms = nn.ModuleList(nn.LayerNorm(_WIDTH) for _ in range(5))
        self.attentions = nn.ModuleList(SelfAttention() for _ in range(2))
        self.perceptrons = nn.ModuleList(Perceptron(nn.GELU()) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1) + self.positions
        for index, (attention, perceptron) in enumerate(zip(self.attentions, self.perceptrons, strict=True)):
            x = x + attention(self.norms[2 * index](x))
            x = x + perceptron(self.norms[2 * index + 1](x))
        return self.norms[4](x[:, 0])


class Llama(nn.Module):
    """Two blocks with RMSNorm, rotary positions, grouped heads, and a gated perceptron."""

    def __init__(self) -> None:
        super().__init__()
        self.size = _WIDTH // _HEADS
        self.embedding = nn.Embedding(101, _WIDTH)
        self.norms = nn.ModuleList(nn.RMSNorm(_WIDTH, eps=1e-6) for _ in range(5))
        self.q = nn.ModuleList(nn.Linear(_WIDTH, _WIDTH, bias=False) for _ in range(2))
        self.kv = nn.ModuleList(nn.Linear(_WIDTH, _WIDTH, bias=False) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(_WIDTH, _WIDTH, bias=False) for _ in range(2))
        self.gate = nn.ModuleList(nn.Linear(_WIDTH, 2 * _WIDTH, bias=False) for _ in range(2))
        self.up = nn.ModuleList(nn.Linear(_WIDTH, 2 * _WIDTH, bias=False) for _ in range(2))
        self.down = nn.ModuleList(nn.Linear(2 * _WIDTH, _WIDTH, bias=False) for _ in range(2))
        self.register_buffer("frequencies", 1 / 10000 ** (torch.arange(0, self.size, 2) / self.size))

    def _turn(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        first, second = x.chunk(2, dim=-1)
        return x * cosine + torch.cat((-second, first), dim=-1) * sine

    def forward(self, x: Tensor) -> Tensor:
        angles = torch.arange(x.shape[1], device=x.device).float()[:, None] * self.frequencies[None]
        angles = torch.cat((angles, angles), dim=-1)
        cosine, sine = angles.cos(), angles.sin()
        x = self.embedding(x)
        for i in range(2):
            inner = self.norms[2 * i](x)
            q = self._turn(_heads(self.q[i](inner), _HEADS), cosine, sine)
            keys, values = self.kv[i](inner).chunk(2, dim=-1)
            k = self._turn(_heads(keys, _HEADS // 2), cosine, sine)
            mixed = F.scaled_dot_product_attention(q, k, _heads(values, _HEADS // 2), is_causal=True, enable_gqa=True)
            x = x + self.out[i](mixed.transpose(1, 2).flatten(2))
            inner = self.norms[2 * i + 1](x)
            x = x + self.down[i](F.silu(self.gate[i](inner)) * self.up[i](inner))
        return self.norms[4](x)


class Whisper(nn.Module):
    """A layer of the encoder behind two convolutions with Gelu, and one of the decoder: causal, then across."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv1d(8, _WIDTH, 3, padding=1), nn.Conv1d(_WIDTH, _WIDTH, 3, stride=2, padding=1)
        self.norms = nn.ModuleList(nn.LayerNorm(_WIDTH) for _ in range(6))
        self.encoder, self.across, self.decoder = SelfAttention(), SelfAttention(), SelfAttention(causal=True)
        self.perceptrons = nn.ModuleList(Perceptron(nn.GELU()) for _ in range(2))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x = F.gelu(self.second(F.gelu(self.first(x)))).transpose(1, 2)
        x = x + self.encoder(self.norms[0](x))
        x = self.norms[2](x + self.perceptrons[0](self.norms[1](x)))
        y = y + self.decoder(self.norms[3](y))
        y = y + self.across(self.norms[4](y), x)
        return y + self.perceptrons[1](self.norms[5](y))


class Swin(nn.Module):
    """Two blocks on windows, the second of a shifted image, with a table of relative positions, and the merging of patches."""

    def __init__(self, window: int = 4) -> None:
        super().__init__()
        self.window = window
        self.patches = nn.Conv2d(3, _WIDTH, 4, 4)
        self.norms = nn.ModuleList(nn.LayerNorm(_WIDTH) for _ in range(4))
        self.qkv = nn.ModuleList(nn.Linear(_WIDTH, 3 * _WIDTH) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(_WIDTH, _WIDTH) for _ in range(2))
        self.perceptrons = nn.ModuleList(Perceptron(nn.GELU()) for _ in range(2))
        self.table = nn.Parameter(torch.randn((2 * window - 1) ** 2, _HEADS))
        places = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        apart = (places[:, :, None] - places[:, None]) + window - 1
        self.register_buffer("relative_places", apart[0] * (2 * window - 1) + apart[1])
        self.last = nn.LayerNorm(4 * _WIDTH)
        self.merge = nn.Linear(4 * _WIDTH, 2 * _WIDTH, bias=False)

    def _attend(self, x: Tensor, number: int) -> Tensor:
        batch, height, width, channels = x.shape
        w = self.window
        x = x.view(batch, height // w, w, width // w, w, channels).permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, channels)
        q, k, v = self.qkv[number](x).reshape(-1, w * w, 3, _HEADS, channels // _HEADS).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.table[self.relative_places.flatten()].view(w * w, w * w, _HEADS).permute(2, 0, 1)
        weights = (q * (channels // _HEADS) ** -0.5 @ k.transpose(-2, -1) + bias.unsqueeze(0)).softmax(-1)
        x = self.out[number]((weights @ v).transpose(1, 2).reshape(-1, w * w, channels))
        x = x.view(batch, height // w, width // w, w, w, channels).permute(0, 1, 3, 2, 4, 5)
        return x.reshape(batch, height, width, channels)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).permute(0, 2, 3, 1)
        for i in range(2):
            inner = self.norms[2 * i](x)
            inner = _rolled(self._attend(_rolled(inner, -2), i), 2) if i else self._attend(inner, i)
            x = x + inner
            x = x + self.perceptrons[i](self.norms[2 * i + 1](x))
        quarters = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        return self.merge(self.last(torch.cat(quarters, -1)))


class SegFormer(nn.Module):
    """Overlapping patches, attention over reduced keys, a perceptron with a depthwise convolution, and a head that is resized."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, _WIDTH, 7, 4, 3)
        self.reduce = nn.Conv2d(_WIDTH, _WIDTH, 4, 4)
        self.norms = nn.ModuleList(nn.LayerNorm(_WIDTH) for _ in range(4))
        self.attention = SelfAttention()
        self.up, self.down = nn.Linear(_WIDTH, 4 * _WIDTH), nn.Linear(4 * _WIDTH, _WIDTH)
        self.depthwise = nn.Conv2d(4 * _WIDTH, 4 * _WIDTH, 3, padding=1, groups=4 * _WIDTH)
        self.head = nn.Conv2d(_WIDTH, 5, 1)

    def forward(self, x: Tensor) -> Tensor:
        image = x
        x = self.patches(x)
        batch, _, height, width = x.shape
        x = self.norms[0](x.flatten(2).transpose(1, 2))
        inner = self.norms[1](x)
        context = self.reduce(inner.transpose(1, 2).reshape(batch, _WIDTH, height, width)).flatten(2).transpose(1, 2)
        x = x + self.attention(inner, self.norms[2](context))
        inner = self.up(self.norms[3](x)).transpose(1, 2).reshape(batch, 4 * _WIDTH, height, width)
        x = x + self.down(F.gelu(self.depthwise(inner).flatten(2).transpose(1, 2)))
        x = self.head(x.transpose(1, 2).reshape(batch, _WIDTH, height, width))
        return F.interpolate(x, size=image.shape[2:], mode="bilinear", align_corners=False)


def _image(size: int) -> tuple[Tensor, ...]:
    return (torch.randn(2, 3, size, size),)


BLOCKS: dict[str, tuple[type[nn.Module], tuple[Tensor, ...], tuple[dict[int, object], ...]]] = {
    "convnext": (ConvNeXt, _image(32), ({0: DYNAMIC, 2: DYNAMIC, 3: DYNAMIC},)),
    "vit": (ViT, _image(32), ({0: DYNAMIC},)),
    "llama": (Llama, (torch.arange(12).view(2, 6),), ({0: DYNAMIC, 1: DYNAMIC},)),
    "whisper": (Whisper, (torch.randn(2, 8, 20), torch.randn(2, 5, _WIDTH)), ({0: DYNAMIC, 2: DYNAMIC}, {0: DYNAMIC, 1: DYNAMIC})),
    "swin": (Swin, _image(32), ({0: DYNAMIC},)),
    "segformer": (SegFormer, _image(64), ({0: DYNAMIC},)),
}
"""Each block, inputs for it, and the axes of each input that are open in the dynamic export."""


def export(folder: Path, name: str, opset: int, *, dynamic: bool) -> None:
    """Write the model and its inputs."""
    torch.manual_seed(0)
    block, inputs, axes = BLOCKS[name]
    path = folder / f"{name}.{opset}.{'dynamic' if dynamic else 'static'}.onnx"
    shapes = axes if dynamic else None
    program = torch.onnx.export(
        block().eval(), inputs, dynamic_shapes=shapes, opset_version=opset, dynamo=True, verbose=False, external_data=False
    )
    assert program is not None
    program.save(str(path), external_data=False)
    names = [value.name for value in program.model.graph.inputs]
    np.savez_compressed(path.with_suffix(".npz"), **dict(zip(names, (value.numpy() for value in inputs), strict=True)))


def main(folder: Path, names: Sequence[str]) -> None:
    warnings.simplefilter("ignore")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or BLOCKS:
        for opset in OPSETS:
            for dynamic in (False, True):
                export(folder, name, opset, dynamic=dynamic)
        print(name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
