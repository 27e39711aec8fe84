"""Properties that are computed once.

Up to Python 3.11, that of functools holds a lock of the whole class meanwhile: threads that convert different models would wait for
each other, and a process forked by another thread would wait forever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - in the place of functools.cached_property
    """A property whose value is computed when it is first asked for, and kept in the object. Two threads may both compute it."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        if instance is None:
            return self
        value = self._compute(instance)
        instance.__dict__[self._name] = value  # Python looks there first from now on
        return value

    if TYPE_CHECKING:

        def __set__(self, instance: object, value: T) -> None:
            """An assignment goes past the property, to the object; it is not defined, so that it does."""
