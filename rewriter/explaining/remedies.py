"""The commands that help against a message: the options of split-rewrite, filled in, and tried on a model."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import onnx

from ..conversion import driver
from ..conversion.options import Options
from ..errors import SplitRewriteError, status_and_line
from ..opsets.transitions import newest_opset
from ..report.report import Report
from ..runtimes.demands import demands_of
from ..runtimes.known_messages import Known
from ..runtimes.profiles import known_runtimes
from ..runtimes.runtime import dotted

_NAME = re.compile(r"\{(\w+)\}")
_VERSION = re.compile(r"-\d+$")
_ONLY_A_TARGET = re.compile(r"(?:(?:-t|--for) \S+ ?)*")
"""Options that name nothing but an opset and a runtime."""
_LOWEST = 1
_INSTALLED = "onnxruntime"
"""The runtime that stands for its installed release, where no other is named."""


class Remedy(NamedTuple):
    """Options that may help, such as "-t 17", and what came of a dry run on the user's model."""

    options: str
    works: bool | None = None
    """None where it was not tried."""
    refusal: str = ""

    def command(self, model: str) -> str:
        """The whole command for the model at the path `model`."""
        words = ["split-rewrite", self.options, _shown(model), "out.onnx"]
        return " ".join(filter(None, words))


def remedies(known: Known, values: Mapping[str, str], text: str = "") -> Iterator[Remedy]:
    """The remedies against a message with these `values` that can be filled in, the best first.

    Where `text`, the whole log, says of which release the tool is, this is the release to convert for.
    """
    values = {**values, **_computed(known, values)}
    seen: set[str] = set()
    for options in known.tries:
        if all(name in values for name in _NAME.findall(options)):
            filled = _for_release(_NAME.sub(lambda match: values[match[1]], options), known, text)
            if filled not in seen:
                seen.add(filled)
                yield Remedy(filled)


def tried(remedy: Remedy, model: str) -> Remedy:
    """The remedy, after a dry run on the model at the path `model`."""
    try:
        target, options = _parsed(remedy.options)
        if options.ir_version is not None:  # a dry run writes no file that could have an IR version
            driver.convert_model(model, target, compare="off", options=options)
        report = driver.dry_run(model, target, options=options).report
    except (SplitRewriteError, RecursionError, OSError) as error:
        return remedy._replace(works=False, refusal=status_and_line(error)[1].splitlines()[0])
    refusal = str(report.blockers[0]) if report.blockers else _idle(report, remedy, options)
    return remedy._replace(works=not refusal, refusal=refusal)


def _idle(report: Report, remedy: Remedy, options: Options) -> str:
    """Why a command for a target does not help: it changes nothing of the model that the message is about; "" where it does."""
    changed = report.changes or report.remarks or report.source_opset != report.target_opset
    if changed or not _ONLY_A_TARGET.fullmatch(remedy.options):
        return ""
    demands = demands_of(options.for_runtimes)
    if demands is None:
        return "it changes nothing of the model"
    if demands.ir_max is not None and demands.ir_max < report.source_ir_version:
        return ""
    if list(options.for_runtimes) == [_INSTALLED]:
        return f"{demands.titles} takes the model as it is; name the release that wrote the message, as in --for {_INSTALLED}-N"
    return f"it changes nothing of the model: what is known of {demands.titles} does not tell why it is refused"


def attempts(remedy: Remedy, model: str, declared: int) -> Iterator[Remedy]:
    """The remedy after a dry run on the model; where the model seems to have another opset than it says, also with that one.

    `declared` is the opset that it says, to which it is taken where the remedy names no other.
    """
    found = tried(remedy, model)
    yield found
    stamp = re.search(r"use --assume-opset (\d+)", found.refusal)
    if stamp is not None and "--assume-opset" not in remedy.options:
        names_opset = re.search(r"(-t|--for) ", remedy.options)
        options = remedy.options if names_opset else f"{remedy.options} -t {declared}"
        yield tried(Remedy(f"--assume-opset {stamp[1]} {options}".replace("  ", " ")), model)


def _parsed(options: str) -> tuple[int | None, Options]:
    """The target and the Options that stand for options of the command line. What says only where data goes is left out."""
    words = iter(options.split())
    target, given = None, {}
    for word in words:
        if word == "-t":
            number = next(words)
            target = newest_opset() if number == "latest" else int(number)
        elif word == "--for":
            given["for_runtimes"] = [next(words)]
        elif word == "--standard":
            given["standard"] = True
        elif word == "--static":
            given["static"] = True
        elif word in ("--ir-version", "--assume-opset", "--ml-opset"):
            given[word[2:].replace("-", "_")] = int(next(words))
        else:
            next(words)
    demands_of(given.get("for_runtimes", ()))  # `Options` would tell a wrong name in words of Python
    return target, Options(**given)  # pyright: ignore[reportArgumentType]


def _for_release(options: str, known: Known, text: str) -> str:
    """The options with the release of the runtime that `text` names, such as "OpenCV(4.12.0)"."""
    for tool in known.by:
        runtime = known_runtimes().get(tool)
        names = "|".join(map(re.escape, (tool, *(() if runtime is None else (runtime.title, *runtime.also)))))
        release = re.search(rf"\b(?:{names})\W{{0,3}}v?(\d+\.\d+)", text, re.IGNORECASE)
        if release is not None:
            options = re.sub(rf"--for {re.escape(tool)}(-[\d.]+)?(?= |$)", f"--for {tool}-{release[1]}", options)
    return options


def operator_of(values: Mapping[str, str]) -> str:
    """The operator that a message names, the first one of a list, without its domain; "" where it names none."""
    first = re.split(r"[,|]", values.get("op") or values.get("ops", ""))[0].strip()
    return first.rpartition(".")[2].rpartition(":")[2]


def _computed(known: Known, values: Mapping[str, str]) -> dict[str, str]:
    """What remedies may name beside what the message says; see `messages.toml`."""
    found: dict[str, str] = {}
    if (opset := values.get("opset", "")).isdigit() and int(opset) > _LOWEST:
        found["below"] = str(int(opset) - 1)
    if (ir := values.get("ir_max", "")).isdigit() and "onnxruntime" in known.by:
        found["release"] = _release_that_reads(int(ir))
    since = _versions(_VERSION.sub("", operator_of(values)))
    if since:
        found["first"] = str(since[0][0])
        found["before"] = str(since[-1][0] - 1)
        found["without"] = str(since[0][0] - 1)
        found |= {"last": str(since[-1][0] - 1)} if since[-1][1].deprecated else {}
        having = [version for version, schema in since if values.get("attribute", "") in schema.attributes]
        found |= {"first_with_attribute": str(having[0])} if having else {}
    return {name: value for name, value in found.items() if value and value != "0"}


def _versions(op_type: str) -> list[tuple[int, onnx.defs.OpSchema]]:
    """All versions of an operator of ONNX, each with the opset since which it counts; the name may be in small letters."""
    schemas = [each for each in onnx.defs.get_all_schemas_with_history() if not each.domain and each.name == op_type]
    return sorted(((schema.since_version, schema) for schema in schemas), key=lambda pair: pair[0])


def _release_that_reads(ir_version: int) -> str:
    """The oldest release of onnxruntime that reads `ir_version` and nothing newer: all of these take its opsets; "" for none."""
    releases = known_runtimes()["onnxruntime"].releases
    return next((dotted(facts.releases.first) for facts in releases if facts.ir_max == ir_version and facts.releases.first), "")


def _shown(path: str) -> str:
    """The path as a shell takes it for one argument that is no option."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)
