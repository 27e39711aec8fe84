"""Export torch models that split tensors, keep lists, or are transformers, at several opsets, by both exporters.

    python models/make_lists.py FOLDER [NAME ...]

Needs torch 2.13 and onnxscript. Each model becomes FOLDER/NAME.EXPORTER.OPSET.dynamic.onnx, or .static.onnx, with random weights.
NAME.….npz beside it holds inputs of the exported size as x, y and inputs of another size, where that is dynamic, as x2, y2.
`count_sequences.py` converts them all and counts what is left. An export that torch refuses is named and left out.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name that torch's own documentation gives it
from make_exports import DYNAMIC
from torch import Tensor, nn

OPSETS = {"torchscript": (11, 13, 16, 18), "dynamo": (18, 20)}


class SplitInto(nn.Module):
    """torch.tensor_split into n parts, some of which are longer."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(part * 2 for part in torch.tensor_split(x, 3, dim=0))


class SplitAt(nn.Module):
    """torch.tensor_split at positions."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(part * 2 for part in torch.tensor_split(x, (2, 5), dim=0))


class Chunk(nn.Module):
    """torch.chunk with a shorter last part."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(part + 1 for part in x.chunk(3, dim=0))


class SplitRaggedly(nn.Module):
    """torch.split by one size, with a shorter last part."""

    def forward(self, x: Tensor) -> Tensor:
        parts = x.split(3, dim=0)
        return parts[0].sum(0) * parts[-1].sum(0)


class SplitBySizes(nn.Module):
    """torch.split by sizes of which one is what is left."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x.split([2, x.size(0) - 2], dim=0)
        return a + 1, b - 1


class UnbindInLoop(nn.Module):
    """torch.unbind, whose rows a loop adds up."""

    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros_like(x[0])
        for row in x.unbind(0):
            total = torch.tanh(total + row)
        return total


class Stacked(nn.Module):
    """A list that a loop fills, then torch.stack."""

    def forward(self, x: Tensor) -> Tensor:
        rows: list[Tensor] = []
        for i in range(x.size(0)):
            rows.append(torch.sigmoid(x[i]))
        return torch.stack(rows, dim=1)


class Recurrent(nn.Module):
    """A recurrent cell by hand: the states of all steps in a list, then torch.stack."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        state = torch.zeros(x.size(1), 4)
        states: list[Tensor] = []
        for i in range(x.size(0)):
            state = torch.tanh(self.cell(torch.cat([x[i], state], dim=1)))
            states.append(state)
        return torch.stack(states)


class Concatenated(nn.Module):
    """A list that a loop fills with tensors of one length, then torch.cat."""

    def forward(self, x: Tensor) -> Tensor:
        rows: list[Tensor] = []
        for i in range(x.size(0)):
            rows.append(x[i : i + 1] * i)
        return torch.cat(rows, dim=0)


class Growing(nn.Module):
    """A list that a loop fills with tensors of other lengths, then torch.cat."""

    def forward(self, x: Tensor) -> Tensor:
        rows: list[Tensor] = []
        for i in range(x.size(0)):
            rows.append(x[: i + 1] * 2)
        return torch.cat(rows, dim=0)


class FewTurns(nn.Module):
    """A list that a loop of four turns fills with tensors of other lengths, one of which is read."""

    def forward(self, x: Tensor) -> Tensor:
        rows: list[Tensor] = []
        for i in range(4):
            rows.append(x[i:] * 2)
        return rows[1] + torch.cat(rows, dim=0).sum()


class Chosen(nn.Module):
    """A list that an If chooses."""

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            parts = [x, x * 2]
        else:
            parts = [x - 1, x]
        return torch.cat(parts, dim=0)


class ChosenSplit(nn.Module):
    """Parts of a split that an If chooses."""

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            parts = list(torch.split(x, [2, x.size(0) - 2]))
        else:
            parts = list(torch.split(x, [3, x.size(0) - 3]))
        return parts[0].sum(0) + parts[1].sum(0)


class Attention(nn.Module):
    """Self-attention of several heads, with the shapes taken from the tensors."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def split_heads(self, x: Tensor) -> Tensor:
        return x.view(*x.size()[:-1], self.heads, x.size(-1) // self.heads).permute(0, 2, 1, 3)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (self.split_heads(part) for part in self.qkv(x).split(x.size(-1), dim=2))
        scores = torch.matmul(q, k.transpose(-1, -2)) / v.size(-1) ** 0.5
        mixed = torch.matmul(torch.softmax(scores + mask, dim=-1), v).permute(0, 2, 1, 3).contiguous()
        return self.out(mixed.view(*mixed.size()[:-2], mixed.size(-2) * mixed.size(-1)))


class GPT(nn.Module):
    """A block of GPT-2, masked by a stored triangle, on token numbers and a padding mask."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(50, 16), nn.Embedding(32, 16)
        self.norm, self.attention = nn.LayerNorm(16), Attention(16, 4)
        self.up, self.down, self.head = nn.Linear(16, 32), nn.Linear(32, 16), nn.Linear(16, 50, bias=False)
        self.register_buffer("triangle", torch.tril(torch.ones(32, 32, dtype=torch.bool)).view(1, 1, 32, 32))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x = x.view(-1, x.size()[-1])
        length = x.size(-1)
        hidden = self.tokens(x) + self.positions(torch.arange(length).unsqueeze(0))
        causal = self.triangle[:, :, :length, :length]  # type: ignore[index] - a buffer is a tensor
        mask = torch.where(causal & (y[:, None, None, :] > 0), torch.tensor(0.0), torch.tensor(-1e4))
        hidden = hidden + self.attention(self.norm(hidden), mask)
        hidden = hidden + self.down(F.gelu(self.up(hidden), approximate="tanh"))
        return self.head(hidden).view(*x.size(), -1)


class BERT(nn.Module):
    """A block of BERT: an extended mask, token types that are all 0, a pooled first token."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions, self.kinds = nn.Embedding(50, 16), nn.Embedding(32, 16), nn.Embedding(2, 16)
        self.query, self.key, self.value = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.dense, self.norm, self.pooler = nn.Linear(16, 16), nn.LayerNorm(16), nn.Linear(16, 16)
        self.register_buffer("numbers", torch.arange(32).expand((1, -1)))
        self.register_buffer("zeros", torch.zeros(1, 32, dtype=torch.int64))

    def heads(self, x: Tensor) -> Tensor:
        return x.view((*x.size()[:-1], 4, 4)).permute(0, 2, 1, 3)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        batch, length = x.size()
        kinds = self.zeros[:, :length].expand(batch, length)  # type: ignore[index] - a buffer is a tensor
        numbers = self.numbers[:, :length]  # type: ignore[index] - a buffer is a tensor
        hidden = self.norm(self.tokens(x) + self.kinds(kinds) + self.positions(numbers))
        mask = (1.0 - y[:, None, None, :].to(hidden.dtype)) * torch.finfo(hidden.dtype).min
        query, key, value = (self.heads(project(hidden)) for project in (self.query, self.key, self.value))
        scores = torch.softmax(query @ key.transpose(-1, -2) / 2 + mask, dim=-1)
        mixed = (scores @ value).permute(0, 2, 1, 3).contiguous()
        hidden = self.norm(self.dense(mixed.view((*mixed.size()[:-2], 16))) + hidden)
        return hidden, torch.tanh(self.pooler(hidden[:, 0]))


class Llama(nn.Module):
    """A block of Llama: rotated positions, repeated heads of keys and values, a mask made by comparing positions."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, 16)
        self.query, self.key, self.value = nn.Linear(16, 16), nn.Linear(16, 8), nn.Linear(16, 8)
        self.out, self.gate, self.up, self.down = nn.Linear(16, 16), nn.Linear(16, 24), nn.Linear(16, 24), nn.Linear(24, 16)
        self.weight = nn.Parameter(torch.rand(16))
        self.register_buffer("frequencies", 1.0 / (10000 ** (torch.arange(0, 4, 2).float() / 4)))

    def norm(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))

    @staticmethod
    def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        half = torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), dim=-1)
        return x * cos + half * sin

    @staticmethod
    def repeat(x: Tensor, times: int) -> Tensor:
        batch, heads, length, width = x.shape
        return x[:, :, None, :, :].expand(batch, heads, times, length, width).reshape(batch, heads * times, length, width)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        hidden = self.tokens(x)
        batch, length = x.shape
        positions = torch.arange(length)[None, :]
        angles = self.frequencies[None, :, None].expand(positions.shape[0], -1, 1) @ positions[:, None, :].float()
        angles = torch.cat((angles, angles), dim=1).transpose(1, 2)
        cos, sin = angles.cos().unsqueeze(1), angles.sin().unsqueeze(1)
        normed = self.norm(hidden)
        shape = (*normed.shape[:-1], -1, 4)
        query = self.rotate(self.query(normed).view(shape).transpose(1, 2), cos, sin)
        key = self.rotate(self.key(normed).view(shape).transpose(1, 2), cos, sin)
        value = self.value(normed).view(shape).transpose(1, 2)
        key, value = self.repeat(key, 2), self.repeat(value, 2)
        mask = torch.full((length, length), -1e4)
        mask = mask * (torch.arange(length) > positions.reshape(-1, 1))
        mask = mask[None, None, :, :].expand(batch, 1, -1, -1).clone()
        mask = mask.masked_fill((y[:, None, None, :] == 0).expand_as(mask), -1e4)
        scores = torch.softmax(query @ key.transpose(2, 3) / 2 + mask, dim=-1)
        mixed = (scores @ value).transpose(1, 2).contiguous().reshape(batch, length, -1)
        hidden = hidden + self.out(mixed)
        normed = self.norm(hidden)
        return hidden + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Subject(NamedTuple):
    """A model to export: what makes it, its inputs for a size, and how TorchScript is to read it."""

    model: Callable[[], nn.Module]
    inputs: Callable[[int], tuple[Tensor, ...]]
    sizes: tuple[int, int]
    """The size to export at, and the other one."""
    scripted: bool = False
    exporters: tuple[str, ...] = ("torchscript", "dynamo")


def _rows(size: int) -> tuple[Tensor, ...]:
    return (torch.randn(size, 4),)


def _steps(size: int) -> tuple[Tensor, ...]:
    return (torch.randn(size, 2, 4),)


def _tokens(size: int) -> tuple[Tensor, ...]:
    return torch.randint(0, 50, (2, size)), torch.ones(2, size, dtype=torch.int64)


ONLY_SCRIPT = ("torchscript",)
SUBJECTS: dict[str, Subject] = {
    "tensor_split_into": Subject(SplitInto, _rows, (7, 8)),
    "tensor_split_at": Subject(SplitAt, _rows, (7, 9)),
    "chunk": Subject(Chunk, _rows, (7, 8)),
    "split_ragged": Subject(SplitRaggedly, _rows, (7, 8)),
    "split_ragged_scripted": Subject(SplitRaggedly, _rows, (7, 8), True, ONLY_SCRIPT),
    "split_sizes": Subject(SplitBySizes, _rows, (7, 5)),
    "split_sizes_scripted": Subject(SplitBySizes, _rows, (7, 5), True, ONLY_SCRIPT),
    "unbind": Subject(UnbindInLoop, _rows, (5, 5)),
    "unbind_scripted": Subject(UnbindInLoop, _rows, (5, 6), True, ONLY_SCRIPT),
    "stacked": Subject(Stacked, _rows, (5, 3), True, ONLY_SCRIPT),
    "recurrent": Subject(Recurrent, _steps, (5, 3), True, ONLY_SCRIPT),
    "concatenated": Subject(Concatenated, _rows, (5, 3), True, ONLY_SCRIPT),
    "growing": Subject(Growing, _rows, (5, 3), True, ONLY_SCRIPT),
    "few_turns": Subject(FewTurns, _rows, (5, 6), True, ONLY_SCRIPT),
    "chosen": Subject(Chosen, _rows, (5, 3), True, ONLY_SCRIPT),
    "chosen_split": Subject(ChosenSplit, _rows, (5, 6), True, ONLY_SCRIPT),
    "gpt": Subject(GPT, _tokens, (6, 9)),
    "bert": Subject(BERT, _tokens, (6, 9)),
    "llama": Subject(Llama, _tokens, (6, 9)),
}


def export(subject: Subject, exporter: str, opset: int, is_dynamic: bool, path: Path) -> None:
    """Write the model to `path`."""
    module, inputs = subject.model().eval(), subject.inputs(subject.sizes[0])
    axis = 1 if inputs[0].dtype == torch.int64 else 0
    names = ["x", "y"][: len(inputs)]
    if exporter == "torchscript":
        dynamic = {name: ({0: "batch", 1: "length"} if axis else {0: "size"}) for name in names} if is_dynamic else {}
        program = torch.jit.script(module) if subject.scripted else module
        torch.onnx.export(program, inputs, str(path), input_names=names, opset_version=opset, dynamic_axes=dynamic, dynamo=False)
        return
    shapes = tuple({axis: DYNAMIC} for _ in names) if is_dynamic else None
    torch.onnx.export(
        module,
        inputs,
        str(path),
        input_names=names,
        opset_version=opset,
        dynamic_shapes=shapes,
        dynamo=True,
        verbose=False,
        external_data=False,
    )


def save_inputs(subject: Subject, path: Path, is_dynamic: bool) -> None:
    """Write inputs of both sizes, or of one, beside the model."""
    first, second = (subject.inputs(size) for size in subject.sizes)
    arrays = {name: value.numpy() for name, value in zip(("x", "y"), first, strict=False)}
    if is_dynamic:
        arrays.update((name, value.numpy()) for name, value in zip(("x2", "y2"), second, strict=False))
    np.savez_compressed(path, **arrays)


def main(folder: str, names: Sequence[str]) -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in names or SUBJECTS:
        subject = SUBJECTS[name]
        cases = [(exporter, opset) for exporter in subject.exporters for opset in OPSETS[exporter]]
        for exporter, opset in cases:
            for form in ("dynamic", "static"):
                path = Path(folder, f"{name}.{exporter}.{opset}.{form}.onnx")
                torch.manual_seed(0)
                try:
                    export(subject, exporter, opset, form == "dynamic", path)
                except Exception as error:  # whatever torch raises for what it cannot export
                    print(f"{path.name}: not exported: {str(error).splitlines()[0][:100] if str(error) else type(error).__name__}")
                    continue
                save_inputs(subject, path.with_suffix(".npz"), form == "dynamic")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
