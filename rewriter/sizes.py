"""Numbers of bytes as people read them."""

from __future__ import annotations

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def shown_size(count: int) -> str:
    """`count` bytes with at most three digits and a decimal unit, as "12 MB" or "1.5 GB"."""
    size, unit = float(count), _UNITS[0]
    for unit in _UNITS:
        if size < 999.5 or unit == _UNITS[-1]:
            break
        size /= 1000
    return f"{size:.1f} {unit}" if unit != _UNITS[0] and size < 9.95 else f"{size:.0f} {unit}"
