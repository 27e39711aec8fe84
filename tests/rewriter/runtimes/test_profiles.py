"""Profiles: what is wrong with a file is told in a line; names, releases and aliases find the right one."""

from __future__ import annotations

import os
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from helpers import command_line, model, run

from split_rewrite.rewriter import ArgumentError, Options, UnconvertibleError, convert_version
from split_rewrite.rewriter.runtimes.allowed.rules import AllowedList
from split_rewrite.rewriter.runtimes.naming import find_profile
from split_rewrite.rewriter.runtimes.profiles import known_runtimes, read_runtime
from split_rewrite.rewriter.runtimes.releases import Range, parse_release

RELEASE = '[[release]]\nfrom = "1.0"\nto = "1.4"\nevidence = "tried with 1.4"\n'
QUIRK = '[[quirk]]\nform = "Round"\nevidence = "tried with 1.4"\n'

PRODUCT = '[[product]]\ntitle = "Board"\nnames = ["board"]\nsource = "its manual"\n'

BAD = {
    "no TOML": ("title = ", "is not valid TOML"),
    "nested": ("title = " + "[" * 20000 + "]" * 20000, "npu.toml is not right: its values are nested too deeply"),
    "nested tables": ("title = " + "{ a = " * 9000 + "1" + "}" * 9000, "its values are nested too deeply"),
    "nested aliases": ('title = "a"\naliases.a.b = 1\n' + RELEASE, "aliases is not a table of names and releases"),
    "no title": (RELEASE, "the file: title is missing"),
    "no release": ('title = "a"', "there is no [[release]]"),
    "unknown key": (
        'title = "a"\nopsets = 3\n' + RELEASE,
        "the file: unknown key 'opsets'; did you mean 'operators'? there can be aliases, all, also, chips, domains, extends",
    ),
    "misplaced key": ('title = "a"\nopset.max = 3\n' + RELEASE, "the file: write opset below [[release]]"),
    "key of nothing": ('title = "a"\nrank = { Q = 3 }\n' + RELEASE, "the file: unknown key 'rank'"),
    "no evidence": ('title = "a"\n[[release]]\nfrom = "1"\n', "release 1 and later: evidence is missing"),
    "contradiction": ('title = "a"\n' + RELEASE + "opset = { min = 18, max = 17 }", "min ≤ best ≤ max does not hold for 18, 17"),
    "best outside": ('title = "a"\n' + RELEASE + "opset = { max = 17, best = 18 }", "does not hold for 18, 17"),
    "no number": ('title = "a"\n' + RELEASE + 'ir_max = "8"', "ir_max has to be a number from 1 on"),
    "tolerance": ('title = "a"\ntolerance = { rtol = 2 }\n' + RELEASE, "tolerance: a bound is a number from 0 to below 1"),
    "no tolerance": ('title = "a"\ntolerance = 1e-3\n' + RELEASE, "write tolerance = { rtol = 1e-3, atol = 1e-4 }"),
    "overlap": ('title = "a"\n' + RELEASE + RELEASE.replace("1.0", "1.3"), "two [[release]] overlap: 1.0 to 1.4 and 1.3 to 1.4"),
    "backwards": ('title = "a"\n' + RELEASE.replace("1.4", "0.9", 1), "[[release]]: from 1.0 is after to 0.9"),
    "interface": ('title = "a"\n' + RELEASE + "interface = 2", "write interface = { rank_min = 2,"),
    "interface rank": ('title = "a"\n' + RELEASE + "interface = { rank_min = 0 }", "rank_min has to be a number from 1 on"),
    "interface type": (
        'title = "a"\n' + RELEASE + 'interface = { input_types_refused = ["half"] }',
        "input_types_refused has half",
    ),
    "interface key": ('title = "a"\n' + RELEASE + "interface = { rank = 2 }", "interface: unknown key 'rank'"),
    "groups": ('title = "a"\noperators = 2\n' + RELEASE, "write [[operators]], a table each"),
    "groups key": (
        'title = "a"\n' + RELEASE + '[[operators]]\nname = ["Relu"]',
        "[[operators]]: unknown key 'name'; did you mean 'names'?",
    ),
    "groups name": (
        'title = "a"\n' + RELEASE + '[[operators]]\nnames = ["Reluu"]',
        "names has Reluu, and ONNX has no such operator",
    ),
    "version": (
        'title = "a"\n' + RELEASE + '[[versions_refused]]\nnames = ["RoiAlign-21"]',
        "names has RoiAlign-21, and ONNX has no such",
    ),
    "version of nothing": (
        'title = "a"\n' + RELEASE + '[[versions_refused]]\nnames = ["RoiAlign"]',
        "names has RoiAlign, and ONNX has",
    ),
    "operator": ('title = "a"\n' + RELEASE + 'operators_refused = ["Reluu"]', "has Reluu, and ONNX has no such operator"),
    "type": ('title = "a"\n' + RELEASE + 'types_refused = ["float33"]', "types_refused has float33; types are"),
    "form": ('title = "a"\n' + RELEASE + QUIRK.replace("Round", "Rund"), "quirk 'Rund': nothing avoids it"),
    "effect": ('title = "a"\n' + RELEASE + QUIRK + 'effect = "odd"', "quirk 'Round': effect is 'odd', not wrong, refused or crash"),
    "bool tolerance": ('title = "a"\ntolerance = { rtol = false }\n' + RELEASE, "a bound is a number from 0 to below 1"),
    "two lines": ('title = "a\\nb"\n' + RELEASE, "the file: title has to be one line of text"),
    "package": ('title = "a"\npackage = "../x"\n' + RELEASE, "package has to be the name of a Python package"),
    "operator with a NUL": (
        'title = "a"\n' + RELEASE + 'operators_refused = ["A\\u0000"]',
        "operators_refused has to be a list of names",
    ),
    "alias": ('title = "a"\naliases.b = "9.9"\n' + RELEASE, "'b' stands for release 9.9, of which there is no [[release]]"),
    "bad alias": ('title = "a"\naliases.b = "x.y"\n' + RELEASE, "npu.toml is not right: 'x.y' is not a release number"),
    "bool alias": ('title = "a"\naliases.b = true\n' + RELEASE, "aliases is not a table of names and releases"),
    "product": ('title = "a"\nproduct = 2\n' + RELEASE, "write [[product]], a table each"),
    "product title": ('title = "a"\n' + RELEASE + "[[product]]", "[[product]]: title is missing"),
    "product key": ('title = "a"\n' + RELEASE + PRODUCT + "also = []", "product 'Board': unknown key 'also'; there can be names, "),
    "product names": ('title = "a"\n' + RELEASE + PRODUCT.replace('"board"', ""), "product 'Board': names is missing, or title is"),
    "product source": ('title = "a"\n' + RELEASE + PRODUCT.replace("source", "#"), "product 'Board': source is missing"),
    "product releases": (
        'title = "a"\n' + RELEASE + PRODUCT + "releases = { 3 = 1 }",
        "product 'Board': releases is not a table such",
    ),
    "product release": (
        'title = "a"\n' + RELEASE + PRODUCT + 'releases = { "3 to x" = "1.0" }',
        "npu.toml is not right: 'x' is not a release number",
    ),
    "product inner": ('title = "a"\n' + RELEASE + PRODUCT + 'releases = { 3 = "new" }', "'new' is not a release number"),
    "quirk of no release": (
        'title = "a"\n' + RELEASE + QUIRK + 'from = "9"',
        "quirk 'Round': there is no [[release]] for 9 and later",
    ),
    "two effects": (
        'title = "a"\n' + RELEASE + QUIRK + QUIRK + 'effect = "refused"',
        "two [[quirk]] are about the same nodes: 'Round'",
    ),
    "foreign": ('title = "a"\n' + RELEASE + QUIRK + 'operators = ["Relu"]', "quirk 'Round': Relu cannot have this form; Round can"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_a_profile_that_is_not_right_is_told_in_a_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "npu.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArgumentError) as caught:
        find_profile(str(path))
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ("opset = { min = 99 }", "for_runtimes: no opset suits all: NPU 1.4 ({path}) loads opset 99 and newer"),
        ("ir_max = 2", "needs at least IR version 3, and the runtimes accept at most 2: NPU 1.4 ({path})"),
    ],
)
def test_what_no_model_can_meet_names_the_file(tmp_path: Path, demand: str, message: str) -> None:
    path = tmp_path / "npu.toml"
    path.write_text('title = "NPU"\n' + RELEASE + demand, encoding="utf-8")
    proto = model("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    with pytest.raises(ArgumentError) as caught:
        convert_version(proto, 13, options=Options(for_runtimes=[str(path)]))
    assert message.format(path=path) in str(caught.value)


def test_a_profile_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    os.mkfifo(path)
    with pytest.raises(ArgumentError, match=r"npu\.toml cannot be read: it is not a regular file"):
        find_profile(str(path))


def test_a_release_has_the_quirks_of_its_range() -> None:
    forms = {name: {quirk.form for quirk in find_profile(name).quirks} for name in ("openvino-2023.3", "openvino-2024.6")}
    assert "Shape with start or end" in forms["openvino-2023.3"] - forms["openvino-2024.6"]
    assert "Negative index" in forms["openvino-2023.3"] & forms["openvino-2024.6"]


def test_all_profiles_say_where_they_are_from() -> None:
    for runtime in known_runtimes().values():
        for facts in runtime.releases:
            assert facts.evidence.startswith(("tried with", "by documentation", "by probe")) and facts.source, runtime.name


def test_the_tolerance_of_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text('title = "a"\ntolerance = { atol = 0.01 }\n' + RELEASE, encoding="utf-8")
    assert find_profile(str(path)).runtime.tolerance == (1e-3, 0.01)


def test_ranges_are_as_deep_as_they_are_stated() -> None:
    releases = Range(parse_release("1.9"), parse_release("1.10"))
    assert parse_release("1.10.3") in releases and parse_release("1.9") in releases
    assert parse_release("1.11") not in releases and parse_release("1.8.9") not in releases


def test_the_list_says_unknown_and_where_from() -> None:
    ended = command_line("--list-runtimes")
    assert ended.status == 0
    assert any(line.split()[:3] == ["candle", "2026", "opsets"] and "unknown" in line for line in ended.out.splitlines())
    one = command_line("--list-runtimes", "openvino").out
    assert "\nShape with start or end\n  silently wrong in 2023.3; by probe of 2023.3.0\n  with --for: start and end are" in one
    assert command_line("--list-runtimes", "nothing").err.startswith("error: --list-runtimes nothing: unknown runtime")


GROUPS = """title = "NPU"
[[release]]
from = "1"
to = "2"
evidence = "by source"
[[release]]
from = "3"
to = "3"
evidence = "by source"
[[operators]]
names = ["Relu"]
[[operators]]
from = "2"
names = ["Abs"]
[[operators]]
to = "2"
names = ["Neg"]
"""


def test_groups_say_what_all_releases_of_a_range_take(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text(GROUPS)
    older, newer = (facts.allowed for facts in read_runtime(path).releases)
    assert older is not None and newer is not None
    assert (older.operators, newer.operators) == ({"Relu", "Neg"}, {"Relu", "Abs"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("g (float[4] x) => (float[4] y) { y = Relu(x) }", r"input 'x' .*: NPU 1 gives inputs of 1 dimension another shape"),
        (
            "g (float[4,1] x) => (float y) { y = ReduceSum<keepdims = 0>(x) }",
            r"output 'y' .*: NPU 1 gives outputs of 0 dimensions another shape",
        ),
        ("g (bool[4,1] x) => (float[4,1] y) { y = Cast<to = 1>(x) }", r"input 'x' .*: NPU 1 takes no inputs of type bool"),
        ("g (float[4,1] x) => (int8[4,1] y) { y = Cast<to = 3>(x) }", r"output 'y' .*: NPU 1 gives no outputs of type int8"),
    ],
)
def test_the_interface_that_a_runtime_takes(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    release = '[[release]]\nfrom = "1"\nevidence = "by source"\n'
    types = 'input_types_refused = ["bool"], output_types_refused = ["int8"]'
    path.write_text(f'title = "NPU"\n{release}interface = {{ rank_min = 2, {types} }}\n')
    with pytest.raises(UnconvertibleError, match=message):
        convert_version(model(text, 13), options=Options(for_runtimes=[str(path)]))


def test_an_input_with_a_default_an_open_shape_and_what_is_reshaped_pass(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text('title = "NPU"\n[[release]]\nfrom = "1"\nevidence = "by source"\ninterface = { rank_min = 2 }\n')
    text = "g (float[N,M] x, float[3] v, float k) => (float[N,M] y, float[1,3] z) <float k = {2}, int64[1] a = {0}> "
    text += "{ y = Mul(x, k) z = Unsqueeze(v, a) }"
    assert convert_version(model(text, 13), options=Options(for_runtimes=[str(path)])).report.target_opset == 13


ROI = "g (float[1,2,8,8] x, float[3,4] r, int64[3] i) => (float[3,2,2,2] y) { y = RoiAlign<output_height = 2, output_width = 2>(x, r, i) }"


def test_an_older_opset_is_chosen_where_the_runtime_lacks_a_version() -> None:
    """onnxruntime has a kernel for RoiAlign of opset 16, and none for that of 22."""
    result = convert_version(model(ROI, 22), options=Options(for_runtimes=["onnxruntime-1.32"]))
    assert result.report.target_opset == 21
    with pytest.raises(
        UnconvertibleError, match=r"ONNX Runtime 1.32 does not support RoiAlign of opset 22. Hint: choose an older opset"
    ):
        convert_version(model(ROI, 22), 22, options=Options(for_runtimes=["onnxruntime-1.32"]))
    assert run(result.model, {"x": np.ones((1, 2, 8, 8), np.float32), "r": np.ones((3, 4), np.float32), "i": np.zeros(3, np.int64)})


def test_what_a_product_has_inside(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text(
        'title = "a"\n' + RELEASE + PRODUCT + 'releases = { "24.02 to 24.10" = "1.1", "23.9" = "1.0" }', encoding="utf-8"
    )
    (board,) = read_runtime(path).products
    assert board.releases is not None
    assert [(known.shown, known.inner) for known in board.releases] == [("23.9", (1, 0)), ("24.02 to 24.10", (1, 1))]
    assert [known.bounds for known in board.releases] == [["23.9"], ["24.02", "24.10"]]


def test_no_release_of_a_product_is_in_two_ranges() -> None:
    """And its ranges follow each other, so that those before and after a release are its neighbours."""
    for runtime in known_runtimes().values():
        for product in runtime.products:
            spans = [known.releases for known in product.releases or ()]
            assert not any(one.overlaps(other) for one, other in combinations(spans, 2)), product.title
            assert product.source.find("2026-") > 0, product.title


GAPS = {
    f"{runtime.name}-{shown}": (before, after)
    for runtime in known_runtimes().values()
    for before, after in pairwise(runtime.releases)
    for last in [before.releases.last]
    if last is not None and after.releases.first is not None
    for shown in [".".join(map(str, (*last[:-1], last[-1] + 1)))]
    if parse_release(shown) not in after.releases
}


@pytest.mark.parametrize("name", GAPS)
def test_between_two_known_releases_both_are_kept_to(name: str) -> None:
    before, after = GAPS[name]
    profile = find_profile(name)
    assert profile.known == (before, after)
    for facts in (before, after):
        mine = profile.facts
        assert (mine.opset.max or 99) <= (facts.opset.max or 99) and (mine.opset.min or 1) >= (facts.opset.min or 1)
        assert (mine.ir_max or 99) <= (facts.ir_max or 99) and mine.functions_refused >= facts.functions_refused
        assert mine.operators_refused >= facts.operators_refused and mine.types_refused >= facts.types_refused
        assert mine.versions_refused >= facts.versions_refused and mine.interface.rank_min >= facts.interface.rank_min
        assert all(mine.interface.types_refused(what) >= facts.interface.types_refused(what) for what in ("input", "output"))
        assert facts.allowed is None or (mine.allowed is not None and _keeps_to(mine.allowed, facts.allowed))
        at = facts.releases.last if facts is before else facts.releases.first
        assert {quirk for quirk in profile.runtime.quirks if at in quirk.releases} <= set(profile.quirks)
    assert (profile.facts.opset.min or 1) <= (profile.facts.opset.max or 99)


def _keeps_to(mine: AllowedList, other: AllowedList) -> bool:
    operators = other.operators is None or (mine.operators is not None and mine.operators <= other.operators)
    rules = all(rule in mine.rules[name] for name in other.rules for rule in other.rules[name])
    return operators and rules and all(rule in mine.every for rule in other.every)


@pytest.mark.parametrize("name", sorted(known_runtimes()))
def test_a_list_has_what_no_runtime_lacks(name: str) -> None:
    """A source may keep the simplest operators apart from the others, and a list that was read from it then lacks them."""
    lists = [facts.allowed for facts in known_runtimes()[name].releases if facts.allowed is not None]
    for operators in (one.operators for one in lists if one.operators is not None):
        assert operators >= {"Add", "Mul", "Relu", "Conv"}
