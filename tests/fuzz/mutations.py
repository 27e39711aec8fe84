"""Damage to valid models: to their bytes, and to the fields of their protobufs."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import onnx

NUMBERS = (0, 1, 2, -1, 3, 7, 17, 255, 2**31 - 1, -(2**31), 2**31, 2**40, 2**63 - 1, -(2**63))
TEXTS = ("", "x", "Split", "Loop", "axis", "\n", "ü", "../x", "ai.onnx", "com.example", "a" * 5000)
FLOATS = (0.0, -1.0, 1e38, float("nan"), float("inf"))


def mutated(random: Random, data: bytes) -> bytes:
    """`data`, a serialized model, damaged in one to three places, at random in its bytes or in its fields."""
    times = random.choice((1, 1, 1, 2, 3))
    if random.random() < 0.5:
        for _ in range(times):
            data = random.choice(BYTE_MUTATIONS)(random, data)
        return data
    model = onnx.ModelProto.FromString(data)
    for _ in range(times):
        change_field(random, model)
    return model.SerializeToString()


def _flip(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data) or 1)
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :] if data else data


def _replace(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data) or 1)
    return data[:at] + bytes([random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))]) + data[at + 1 :]


def _truncate(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _remove(random: Random, data: bytes) -> bytes:
    start = random.randrange(len(data) + 1)
    return data[:start] + data[start + random.randint(1, 20) :]


def _insert(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + random.randbytes(random.randint(1, 12)) + data[at:]


def _splice(random: Random, data: bytes) -> bytes:
    start, at = random.randrange(len(data) + 1), random.randrange(len(data) + 1)
    return data[:at] + data[start : start + random.randint(1, 60)] + data[at:]


BYTE_MUTATIONS = (_flip, _flip, _replace, _replace, _truncate, _remove, _insert, _splice)


def change_field(random: Random, model: onnx.ModelProto) -> None:
    """Change one field of one message: its value, or, of a repeated one, how many there are and in which order."""
    messages = list(_messages(model))
    message = random.choice(messages)
    fields = [field for field, _ in message.ListFields()]
    if not fields or random.random() < 0.1:
        fields = list(message.DESCRIPTOR.fields)
    field = random.choice(fields)
    if _is_repeated(field):
        _change_list(random, field, getattr(message, field.name), messages)
    elif random.random() < 0.1:
        message.ClearField(field.name)
    elif field.message_type is not None:
        _copy_over(random, getattr(message, field.name), messages)
    else:
        setattr(message, field.name, _other_value(random, field, messages))


def _is_repeated(field: Any) -> bool:
    repeated = getattr(field, "is_repeated", None)  # protobuf from 6 on
    return field.label == field.LABEL_REPEATED if repeated is None else bool(repeated)


def _messages(message: Any) -> Iterator[Any]:
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for child in value if _is_repeated(field) else [value]:
                yield from _messages(child)


def _change_list(random: Random, field: Any, values: Any, messages: list[Any]) -> None:
    how = random.choice(("remove", "swap", "double", "change", "change"))
    if values and how == "remove":
        del values[random.randrange(len(values))]
    elif len(values) > 1 and how == "swap":
        mixed = [_plain(value) for value in values]
        random.shuffle(mixed)
        del values[:]
        values.extend(mixed)
    elif values and how == "double":
        values.append(_plain(random.choice(values)))
    elif field.message_type is not None:
        _copy_over(random, values[random.randrange(len(values))] if values else values.add(), messages)
    elif values:
        values[random.randrange(len(values))] = _other_value(random, field, messages)
    else:
        values.append(_other_value(random, field, messages))


def _plain(value: Any) -> Any:
    """A copy of an element, which stays when the list is emptied."""
    if not hasattr(value, "CopyFrom"):
        return value
    copy = type(value)()
    copy.CopyFrom(value)
    return copy


def _copy_over(random: Random, message: Any, messages: list[Any]) -> None:
    """Let a message be what another one of its type is."""
    alike = [_plain(other) for other in messages if other.DESCRIPTOR is message.DESCRIPTOR]
    if alike:
        message.CopyFrom(random.choice(alike))


def _other_value(random: Random, field: Any, messages: list[Any]) -> Any:
    kind = field.cpp_type
    if kind == field.CPPTYPE_STRING:
        seen = [value for m in messages for f, value in m.ListFields() if f.type == field.type and not _is_repeated(f)]
        seen += (
            [value for m in messages if isinstance(m, onnx.NodeProto) for value in (*m.input, *m.output)] if field.type == 9 else []
        )
        text = random.choice(seen) if seen and random.random() < 0.6 else random.choice(TEXTS)
        return text if isinstance(text, str) == (field.type == field.TYPE_STRING) else _converted(text)
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return random.choice(FLOATS)
    if kind == field.CPPTYPE_ENUM:
        return random.choice(field.enum_type.values).number
    number = random.choice(NUMBERS)
    if kind in (field.CPPTYPE_INT32,):
        return max(min(number, 2**31 - 1), -(2**31))
    return abs(number) if kind in (field.CPPTYPE_UINT64, field.CPPTYPE_UINT32) else number


def _converted(text: str | bytes) -> str | bytes:
    return text.encode() if isinstance(text, str) else text.decode(errors="replace")
