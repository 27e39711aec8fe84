"""Exports of thirty kinds of small networks, for `in_runtimes.py`. Needs torch 2.13 and onnxscript, which split-rewrite does not:

    python tests/benchmarks/exports.py FOLDER

They are exported in turn by TorchScript at opset 12 (or 14, where 12 has not all operators), by dynamo at 18, and by TorchScript at
17, with random weights and inputs of fixed shapes; FOLDER/NAME.npz holds inputs of NAME.onnx.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F  # noqa: N812 - the name that torch's own documentation gives it
from torch import Tensor, nn

Kind = tuple[Callable[[], nn.Module], tuple[Tensor, ...]]


class Of(nn.Module):
    """A network of one function and the modules that it uses."""

    def __init__(self, function: Callable[..., object], **parts: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, *inputs: Tensor) -> object:
        return self.function(self, *inputs)


def image(channels: int = 3, size: int = 16) -> Tensor:
    return torch.randn(1, channels, size, size)


def tokens(length: int = 8) -> Tensor:
    return torch.randint(0, 32, (2, length))


def resnet() -> nn.Module:
    def run(net: Of, x: Tensor) -> Tensor:
        x = F.relu(net.bn(net.stem(x)))
        x = F.relu(x + net.block(x))
        return net.head(F.adaptive_avg_pool2d(x, 1).flatten(1))

    block = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
    return Of(run, stem=nn.Conv2d(3, 8, 3, 2, 1), bn=nn.BatchNorm2d(8), block=block, head=nn.Linear(8, 5))


def mobilenet() -> nn.Module:
    def run(net: Of, x: Tensor) -> Tensor:
        x = F.hardswish(net.depthwise(F.relu6(net.expand(x))))
        gate = F.hardsigmoid(net.gate(x.mean((2, 3), keepdim=True)))
        return net.project(x * gate)

    parts = {"expand": nn.Conv2d(3, 12, 1), "depthwise": nn.Conv2d(12, 12, 3, 2, 1, groups=12)}
    return Of(run, **parts, gate=nn.Conv2d(12, 12, 1), project=nn.Conv2d(12, 6, 1))


def unet(mode: str) -> Callable[[], nn.Module]:
    def run(net: Of, x: Tensor) -> Tensor:
        down = F.relu(net.down(x))
        low = F.relu(net.low(F.max_pool2d(down, 2)))
        corners = {"align_corners": False} if mode != "nearest" else {}
        return net.up(torch.cat([F.interpolate(low, scale_factor=2, mode=mode, **corners), down], 1))

    return lambda: Of(run, down=nn.Conv2d(3, 4, 3, padding=1), low=nn.Conv2d(4, 4, 3, padding=1), up=nn.Conv2d(8, 2, 1))


def attention(*, causal: bool) -> Callable[[], nn.Module]:
    def run(net: Of, x: Tensor) -> Tensor:
        parts = net.qkv(net.norm(x)).chunk(3, -1)
        q, k, v = (part.reshape(2, -1, 4, 4).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return x + net.out(mixed.transpose(1, 2).reshape(2, -1, 16))

    return lambda: Of(run, norm=nn.LayerNorm(16), qkv=nn.Linear(16, 48), out=nn.Linear(16, 16))


def encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True, activation="gelu")
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def bert() -> nn.Module:
    def run(net: Of, ids: Tensor) -> Tensor:
        x = net.norm(net.words(ids) + net.places(torch.arange(ids.shape[1])))
        return torch.tanh(net.pool(net.body(x)[:, 0]))

    body = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return Of(run, words=nn.Embedding(32, 16), places=nn.Embedding(64, 16), norm=nn.LayerNorm(16), body=body, pool=nn.Linear(16, 4))


def vit() -> nn.Module:
    def run(net: Of, x: Tensor) -> Tensor:
        patches = net.patch(x).flatten(2).transpose(1, 2)
        return net.head(net.body(patches).mean(1))

    body = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return Of(run, patch=nn.Conv2d(3, 16, 4, 4), body=body, head=nn.Linear(16, 5))


def recurrent(kind: type[nn.RNNBase]) -> Callable[[], nn.Module]:
    def run(net: Of, x: Tensor) -> Tensor:
        states, _ = net.cell(x)
        return net.head(states[:, -1])

    return lambda: Of(run, cell=kind(6, 8, 2, batch_first=True, bidirectional=True), head=nn.Linear(16, 3))


def mixture() -> nn.Module:
    def run(net: Of, x: Tensor) -> Tensor:
        chosen = net.gate(x).argmax(-1)
        outputs = torch.stack([net.first(x), net.second(x), net.third(x)], -2)
        return (outputs * F.one_hot(chosen, 3).to(x.dtype)[..., None]).sum(-2)

    return Of(run, gate=nn.Linear(8, 3), first=nn.Linear(8, 4), second=nn.Linear(8, 4), third=nn.Linear(8, 4))


def graph_convolution(net: Of, x: Tensor, edges: Tensor) -> Tensor:
    messages = net.weight(x)[edges[0]]
    zeros = torch.zeros(x.shape[0], 4)
    return F.elu(zeros.scatter_add(0, edges[1][:, None].expand(-1, 4), messages))


def detector(net: Of, x: Tensor) -> tuple[Tensor, Tensor]:
    found = net.head(F.silu(net.stem(x))).flatten(2).transpose(1, 2)
    boxes, scores = torch.split(found, [4, 3], -1)
    best, _ = torch.sigmoid(scores).max(-1)
    top, places = best.topk(4)
    return top, torch.gather(boxes, 1, places[..., None].expand(-1, -1, 4))


def siamese(net: Of, a: Tensor, b: Tensor) -> Tensor:
    a, b = (F.normalize(net.body(x), dim=1) for x in (a, b))
    return torch.cat([(a * b).sum(1, keepdim=True), torch.linalg.vector_norm(a - b, ord=1, dim=1, keepdim=True)], 1)


def diffusion(net: Of, x: Tensor, step: Tensor) -> Tensor:
    angle = step[:, None] * torch.exp(-torch.arange(4) / 2.0)
    scale = net.time(torch.cat([angle.sin(), angle.cos()], -1))[:, :, None, None]
    return net.out(F.silu(net.norm(net.conv(x)) * (1 + scale)))


def statistics(net: Of, x: Tensor) -> Tensor:
    x = net.body(x)
    parts = [x.mean(1), x.var(1, unbiased=False), x.amax(1), x.amin(1), torch.logsumexp(x, 1), x.norm(dim=1), x.abs().sum(1)]
    return torch.cat(parts, -1)


def masked(net: Of, x: Tensor, lengths: Tensor) -> Tensor:
    mask = torch.arange(x.shape[1])[None] < lengths[:, None]
    weights = net.score(x).squeeze(-1).masked_fill(~mask, -1e9).softmax(1)
    return (weights[..., None] * x).sum(1)


def rotary(net: Of, x: Tensor) -> Tensor:
    angles = torch.arange(x.shape[1])[:, None] / (10.0 ** torch.arange(4))
    a, b = net.query(x).chunk(2, -1)
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


def shifted(net: Of, x: Tensor) -> Tensor:
    x = torch.roll(net.conv(x), (1, 2), (2, 3))
    return F.pad(x, (1, 1, 1, 1), mode="reflect")[:, :, ::2, 1:-1].flip(3)


def quantile(net: Of, x: Tensor) -> Tensor:
    x = net.body(x)
    ordered, _ = x.sort(-1)
    return torch.cat([ordered, x.cumsum(-1), torch.where(x > 0, x.floor(), x.round())], -1)


def minimum(net: Of, x: Tensor) -> Tensor:
    a, b, c = net.body(x).split([3, 3, 2], -1)
    return torch.cat([torch.maximum(a, b).clamp(-1, 1), torch.minimum(c, c.pow(3)), (a // 0.3), (b % 0.7)], -1)


def super_resolution(net: Of, x: Tensor) -> Tensor:
    return F.pixel_shuffle(net.body(x), 2)


def apply_body(net: Of, x: Tensor) -> Tensor:
    return net.body(x)


def log_softmax(net: Of, x: Tensor) -> Tensor:
    return F.log_softmax(net.body(x), 1) + F.softmax(net.body(x), 2)


def einsum(net: Of, x: Tensor) -> Tensor:
    return x + torch.einsum("bnc,nm->bmc", net.norm(x), net.mix.weight)


def pooled(net: Of, x: Tensor) -> Tensor:
    x = net.body(x)
    return torch.cat(
        [F.avg_pool2d(x, 3, 2, 1), F.max_pool2d(x, 3, 2, 1, dilation=1), F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)], 1
    )


def body(*parts: nn.Module) -> nn.Sequential:
    return nn.Sequential(*parts)


_SERIES = torch.randn(2, 6, 8)
KINDS: dict[str, Kind] = {
    "mlp": (lambda: body(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 4), nn.Softmax(-1)), (torch.randn(2, 8),)),
    "resnet": (resnet, (image(),)),
    "mobilenet": (mobilenet, (image(),)),
    "unet_bilinear": (unet("bilinear"), (image(),)),
    "unet_nearest": (unet("nearest"), (image(),)),
    "unet_bicubic": (unet("bicubic"), (image(),)),
    "autoencoder": (lambda: body(nn.Conv2d(3, 4, 3, 2, 1), nn.GELU(), nn.ConvTranspose2d(4, 3, 3, 2, 1, 1)), (image(),)),
    "style": (lambda: body(nn.ReflectionPad2d(1), nn.Conv2d(3, 4, 3), nn.InstanceNorm2d(4, affine=True), nn.Mish()), (image(),)),
    "super_resolution": (lambda: Of(super_resolution, body=nn.Conv2d(3, 12, 3, padding=1)), (image(),)),
    "volume": (lambda: body(nn.Conv3d(1, 2, 3), nn.ELU(), nn.AdaptiveAvgPool3d(1)), (torch.randn(1, 1, 6, 6, 6),)),
    "text_cnn": (lambda: body(nn.Embedding(32, 8), nn.Conv1d(8, 4, 3, padding=1), nn.Softplus()), (tokens(),)),
    "dilated": (lambda: body(nn.Conv1d(6, 4, 3, padding=4, dilation=4), nn.PReLU(4), nn.MaxPool1d(2)), (_SERIES,)),
    "lstm": (recurrent(nn.LSTM), (torch.randn(2, 5, 6),)),
    "gru": (recurrent(nn.GRU), (torch.randn(2, 5, 6),)),
    "rnn": (recurrent(nn.RNN), (torch.randn(2, 5, 6),)),
    "attention": (attention(causal=False), (torch.randn(2, 6, 16),)),
    "decoder": (attention(causal=True), (torch.randn(2, 6, 16),)),
    "encoder": (encoder, (torch.randn(2, 6, 16),)),
    "bert": (bert, (tokens(),)),
    "vit": (vit, (image(),)),
    "mixture": (mixture, (torch.randn(2, 3, 8),)),
    "graph": (lambda: Of(graph_convolution, weight=nn.Linear(6, 4)), (torch.randn(5, 6), torch.randint(0, 5, (2, 9)))),
    "detector": (lambda: Of(detector, stem=nn.Conv2d(3, 8, 3, 2, 1), head=nn.Conv2d(8, 7, 1)), (image(),)),
    "siamese": (lambda: Of(siamese, body=nn.Linear(8, 4)), (torch.randn(2, 8), torch.randn(2, 8))),
    "diffusion": (
        lambda: Of(
            diffusion, conv=nn.Conv2d(3, 8, 3, padding=1), norm=nn.GroupNorm(2, 8), time=nn.Linear(8, 8), out=nn.Conv2d(8, 3, 1)
        ),
        (image(), torch.tensor([3.0])),
    ),
    "statistics": (lambda: Of(statistics, body=nn.Linear(8, 4)), (_SERIES,)),
    "masked": (lambda: Of(masked, score=nn.Linear(8, 1)), (_SERIES, torch.tensor([6, 3]))),
    "rotary": (lambda: Of(rotary, query=nn.Linear(8, 8)), (_SERIES,)),
    "shifted": (lambda: Of(shifted, conv=nn.Conv2d(3, 4, 3, padding=1)), (image(),)),
    "quantile": (lambda: Of(quantile, body=nn.Linear(8, 5)), (_SERIES,)),
    "minimum": (lambda: Of(minimum, body=nn.Linear(8, 8)), (_SERIES,)),
    "log_softmax": (lambda: Of(log_softmax, body=nn.Conv1d(6, 5, 1)), (_SERIES,)),
    "mixer": (lambda: Of(einsum, norm=nn.LayerNorm(8), mix=nn.Linear(6, 6)), (_SERIES,)),
    "pooled": (lambda: Of(pooled, body=nn.Conv2d(3, 2, 1)), (image(),)),
}


WAYS = ((False, 12), (True, 18), (False, 17))
"""Whether by dynamo, and the opset, in turn."""


def export(kind: str, path: Path, *, dynamo: bool, opset: int) -> None:
    torch.manual_seed(1)
    make, inputs = KINDS[kind]
    torch.onnx.export(make().eval(), inputs, path, opset_version=opset, dynamo=dynamo, external_data=False, verbose=False)
    names = [value.name for value in onnx.load(path).graph.input]
    np.savez(path.with_suffix(".npz"), **{name: value.numpy() for name, value in zip(names, inputs, strict=True)})


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    folder.mkdir(parents=True, exist_ok=True)
    for number, kind in enumerate(KINDS):
        dynamo, opset = WAYS[number % len(WAYS)]
        path = folder / f"{kind}_opset{opset}.onnx"
        try:
            export(kind, path, dynamo=dynamo, opset=opset)
        except torch.onnx.errors.UnsupportedOperatorError:
            path.unlink(missing_ok=True)
            export(kind, folder / f"{kind}_opset14.onnx", dynamo=dynamo, opset=14)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
