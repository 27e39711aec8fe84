"""Finds answers about values, each after the answers that it follows from.

Whatever finds an answer is a generator: it yields the questions whose answers it needs, and returns what it found. So it reads like
a recursive function, but a chain of any length needs no stack.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any, NamedTuple

from .place import Place
from .record import EMPTY, NOTHING, UNASKED, Question, Typed, may_grow


class Asked(NamedTuple):
    """A question about the value that is called `name` in `place`."""

    place: Place
    name: str
    question: Question


Answers = Mapping[str, Any]
"""The answers to one question for a value, and for others that were found on the way: the outputs of one node."""
Finding = Generator[Asked, Any, Answers]
Finders = Mapping[Question, Callable[[Place, str], Finding]]


def type_of(place: Place, name: str) -> Generator[Asked, Any, Typed]:
    """Everything that is known about the type of `name`, for what is asked on the way to another answer."""
    return (yield Asked(place, name, Question.TYPE)) or NOTHING


class _Search:
    """A question that is not answered yet, and what was asked for it so far."""

    __slots__ = ("finding", "key", "name", "needs", "place", "question")

    def __init__(self, place: Place, name: str, question: Question, finders: Finders) -> None:
        self.place = place
        self.name = name
        self.question = question
        self.key = id(place), name, question
        self.needs: list[tuple[Place, str]] = []
        self.finding = finders[question](place, name)

    def note_need(self, home: Place, name: str) -> None:
        """Note that the answer follows from the record of `name`."""
        self.needs.append((home, name))
        home.readers.setdefault(name, []).append((self.place, self.name, self.question))

    def keep(self, answers: Answers) -> None:
        """Write the answers into the records of their values, unless these have one."""
        records, question = self.place.records, self.question
        for name, answer in answers.items():
            record = records.get(name, EMPTY)
            if record[question] is UNASKED:
                records[name] = record.with_answer(question, answer)
                for home, needed in self.needs if name != self.name else ():
                    home.readers[needed].append((self.place, name, question))


def home_of(place: Place, name: str, question: Question) -> tuple[Place, str]:
    """The graph that defines the value, or `place` where none does, and the name that the value has there."""
    name = place.resolve(name)
    if question is Question.TIED or place.records.get(name, EMPTY)[question] is not UNASKED:
        return place, name
    return place.find(name) or place, name


def answer(finders: Finders, place: Place, name: str, question: Question) -> Any:
    """The answer to `question` about `name`, which is found now if it was not found before. Of a cycle, nothing is known."""
    home, name = home_of(place, name, question)
    known = home.records.get(name, EMPTY)[question]
    if known is not UNASKED:
        return known
    searches = [_Search(home, name, question, finders)]
    running = {searches[0].key}
    reply: Any = None
    while searches:
        search = searches[-1]
        try:
            needed = search.finding.send(reply)
        except StopIteration as end:
            search.keep(end.value)
            reply = end.value[search.name]
            running.discard(search.key)
            searches.pop()
            continue
        home, name = home_of(*needed)
        search.note_need(home, name)
        reply = home.records.get(name, EMPTY)[needed.question]
        if reply is UNASKED:
            reply = None
            begun = _Search(home, name, needed.question, finders)
            if begun.key not in running:
                searches.append(begun)
                running.add(begun.key)
    return reply


def forget(place: Place, names: Iterable[str]) -> bool:
    """Forget what may grow of what is known about `names`, because other nodes make them now, and what may grow because of that.

    What cannot grow stays: a rule replaces nodes by others that make the same values. Returns whether anything was known.
    """
    known = [(place, name) for name in names if name in place.records]
    for _, name in known:
        place.records[name] = place.records[name].settled(place.model.input_symbols)
    forget_readers(known)
    return bool(known)


def forget_readers(values: Iterable[tuple[Place, str]]) -> None:
    """Forget all answers that were found from the records of `values` and may grow if these do."""
    pending = list(values)
    while pending:
        home, name = pending.pop()
        for place, reader, question in home.readers.pop(name, ()):
            record = place.records.get(reader, EMPTY)
            known = record[question]
            if known is not UNASKED and may_grow(known, place.model.input_symbols):
                place.records[reader] = record.with_answer(question, UNASKED)
                pending.append((place, reader))
