"""Wrong usage: the whole message, as docs/errors.md lists it, and exit status 2."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from documentation import unseen
from failures import (
    KNOWN,
    Row,
    a_list_of_lists,
    an_endless_list,
    assert_fails,
    fails,
    module,
    on_a_terminal,
    prepare,
    without_onnxruntime,
)
from library_failures import LIBRARY
from wrong_tables import WRONG_TABLES

USAGE: dict[str, Row] = {
    "no-arguments": Row("", "Missing argument 'INPUT'."),
    "no-output": Row("m.onnx", "Missing argument 'OUTPUT': name the file to write."),
    "no-command": Row("doctor", "doctor: there is no such file or command; the commands are inspect, explain, reproduce, probe"),
    "command-of-another-tool": Row(
        "convert m.onnx o.onnx", "convert: there is no such file or command; the commands are inspect, explain, reproduce, probe"
    ),
    "help-as-a-command": Row("help", "help: there is no such file or command; did you mean '--help'?"),
    "version-as-a-command": Row("version", "version: there is no such file or command; did you mean '--version'?"),
    "misspelt-command": Row("inspct m.onnx", "inspct: there is no such file or command; did you mean 'inspect'?"),
    "empty-output": Row("m.onnx --output=", "Missing argument 'OUTPUT': name the file to write."),
    "output-twice": Row("m.onnx o.onnx -o p.onnx", "OUTPUT is given twice, as an argument and by -o."),
    "output-option-twice": Row("m.onnx -o o.onnx --output p.onnx", "--output is given twice."),
    "target-twice": Row("m.onnx o.onnx -t 13 --opset=15", "--target-opset is given twice."),
    "target-twice-to-reproduce": Row("reproduce m.onnx o.onnx -t13 -t 13", "--target-opset is given twice."),
    "output-of-a-dry-run": Row("m.onnx o.onnx --dry-run", "--dry-run writes nothing: leave OUTPUT out."),
    "three-files": Row("m.onnx o.onnx p.onnx", "p.onnx: is not a folder; name one for the results of several models"),
    "many-without-output": Row("folder", "Missing argument 'OUTPUT': name the folder to write to, or say --in-place."),
    "in-place-and-output": Row(
        "m.onnx --in-place -o folder", "--in-place writes where the models are: leave -o and --dry-run out."
    ),
    "several-to-standard-output": Row(
        "m.onnx weights.onnx -", "- reads one model, but there are several inputs; @- reads a list of paths from standard input"
    ),
    "a-report-in-the-place-of-a-model": Row(
        "m.onnx model.xml new/ --report model.xml", "model.xml: a report would replace INPUT, model.xml; choose another name"
    ),
    "no-custom-operators": Row(
        "m.onnx o.onnx --custom-ops weights.onnx",
        "--custom-ops: … is neither a .py file nor a shared library (.so, .dylib, .dll)",
    ),
    "no-models": Row("folder new/", "there are no models (.onnx files) in folder"),
    "no-match": Row("no*.onnx new/", "no*.onnx: nothing matches"),
    "no-list": Row("@no.txt new/", "@no.txt: the list cannot be read: No such file or directory"),
    "long-list": Row("@- new/", "@-: the list is longer than 0 MiB; split it", an_endless_list),
    "list-of-itself": Row("@- new/", "@-: there are more than 0 lists; does one name itself?", a_list_of_lists),
    "file-and-folder": Row(
        "m.onnx r_pages new/ --report new/r.html",
        "new/r_pages/00001.html: the page of a model needs a folder where the result of r_pages, new/r_pages, would be; "
        "choose another name",
    ),
    "two-to-one": Row("m.onnx folder/m.onnx new/", "new/m.onnx: would be the result of both m.onnx and folder/m.onnx"),
    "over-an-input": Row(
        "m.onnx folder/m.onnx folder",
        "folder/m.onnx: the result of m.onnx would replace it, and it belongs to the input folder/m.onnx",
    ),
    "over-itself": Row(
        "m.onnx .",
        "m.onnx: its result in the folder '.' would replace it; "
        "name another folder, or use --in-place without a folder (in_place=True in Python)",
    ),
    "stdin-among-many": Row(
        "- m.onnx new/", "- reads one model, but there are several inputs; @- reads a list of paths from standard input"
    ),
    "json-of-many": Row(
        "m.onnx new/ --report r.json", "--report: of many models FILE.jsonl has a line for each; FILE.json is for one."
    ),
    "bare-shape-of-many": Row(
        "m.onnx new/ --test-input-shape 1,2",
        "--test-input-shape: put NAME: before the shape; each model has inputs of its own.",
    ),
    "resume-by-another-file": Row("m.onnx new/ --resume m.onnx", "expected a name that ends with .jsonl, not 'm.onnx'"),
    "resume-by-other-lines": Row(
        "m.onnx new/ --resume other.jsonl", "other.jsonl: line 1 is not the report of a model; name a report to resume"
    ),
    "resume-by-a-device": Row("m.onnx new/ --resume null.jsonl", "null.jsonl: is not a regular file, and cannot be resumed"),
    "no-dask": Row(
        "m.onnx new/ --scheduler tcp://host:1", "--scheduler needs Dask: pip install 'split-rewrite[dask]'", module("distributed")
    ),
    "no-scheduler": Row(
        "m.onnx new/ --scheduler tcp://host:1",
        "--scheduler tcp://host:1: no Dask scheduler answers there: timed out",
        module("distributed", Client=fails(OSError("timed out"))),
    ),
    "no-fsspec": Row(
        "s3://zoo/m.onnx new/",
        "s3://zoo/m.onnx: URIs need fsspec; pip install 'split-rewrite[remote]'",
        module("fsspec.core"),
    ),
    "clobber-or-not": Row("--in-place --no-clobber m.onnx", "--in-place replaces files, and --no-clobber forbids that."),
    "only-and-skip": Row("m.onnx o.onnx -t 13 --only split --skip Split", "only and skip both name split"),
    "little-and-much": Row(
        "m.onnx o.onnx -t 18 --minimal --modernize",
        "minimal and modernize exclude each other: modernize changes what need not be changed",
    ),
    "rules-no-such-word": Row(
        "--list-rules splti", "--list-rules splti: no rule has this in its line; did you mean 'Split' or 'split' or 'splits'?"
    ),
    "reproduce-to-a-stream": Row("reproduce m.onnx - -t 13", "reproduce writes a file: name OUTPUT."),
    "text-of-two": Row("--text m.onnx two.onnx", "--text prints one model."),
    "no-such-option": Row("m.onnx o.onnx --fast", "No such option '--fast'."),
    "beginning-of-an-option": Row("m.onnx o.onnx --target 13", "No such option '--target'; did you mean '--target-opset'?"),
    "misspelt-option": Row("m.onnx o.onnx --quite", "No such option '--quite'; did you mean '--quiet'?"),
    "quiet-and-verbose": Row("m.onnx o.onnx -q -v", "-q and -v exclude each other."),
    "opset-0": Row("m.onnx o.onnx -t 0", f"the target opset 0 is unknown: {KNOWN}"),
    "opset-negative": Row("m.onnx o.onnx -t -1", f"the target opset -1 is unknown: {KNOWN}"),
    "opset-too-new": Row("m.onnx o.onnx -t 99", f"the target opset 99 is unknown: {KNOWN} (a newer onnx may know it)"),
    "opset-of-a-newer-onnx": Row("young.onnx o.onnx", f"the model's opset 99 is unknown: {KNOWN} (a newer onnx may know it)"),
    "opset-no-number": Row("m.onnx o.onnx --opset abc", "expected a number or 'latest', not 'abc'"),
    "assumed-opset-0": Row("m.onnx o.onnx --assume-opset 0", "0 is not in the range x>=1."),
    "assumed-opset-of-a-newer-onnx": Row(
        "m.onnx o.onnx --assume-opset 99", f"--assume-opset 99: {KNOWN} (a newer onnx may know it)"
    ),
    "ml-opset-too-new": Row(
        "m.onnx o.onnx --ml-opset 99",
        f"--ml-opset 99: the installed onnx {onnx.__version__} knows ai.onnx.ml 1 to {onnx.helper.VERSION_TABLE[-1][3]}",
    ),
    "ml-opset-of-runtime": Row(
        "m.onnx o.onnx --ml-opset 5 --for onnxruntime-1.16", "--ml-opset 5: ONNX Runtime 1.16 loads ai.onnx.ml up to 3"
    ),
    "ir-version-too-low": Row("m.onnx o.onnx --ir-version 2", "--ir-version 2: this model needs at least IR version 3"),
    "ir-version-too-new": Row(
        "m.onnx o.onnx --ir-version 99", f"--ir-version 99: the installed onnx knows IR versions up to {onnx.IR_VERSION}"
    ),
    "only-no-such-rule": Row("m.onnx o.onnx --only nosuch", "--only: there is no rule 'nosuch' (--list-rules lists all)"),
    "skip-no-such-rule": Row(
        "m.onnx o.onnx --skip split.nosuch", "--skip: there is no rule 'split.nosuch'… (--list-rules lists all)"
    ),
    "compare-no-such-way": Row("m.onnx o.onnx --compare maybe", "'maybe' is not one of auto, model, nodes, required, off"),
    "compare-nodes-with-data": Row(
        "m.onnx o.onnx --compare nodes --input-data x:good.npy",
        "--compare nodes: given inputs, and tolerances of named outputs, need the whole model",
    ),
    "compare-nodes-with-a-bound": Row(
        "m.onnx o.onnx --compare nodes --atol a:1",
        "--compare nodes: given inputs, and tolerances of named outputs, need the whole model",
    ),
    "runtime-no-such": Row("m.onnx o.onnx --runtime tensorrt", "'tensorrt' is not one of auto, onnxruntime, reference, both"),
    "runtime-not-installed": Row(
        "m.onnx o.onnx -t 13 --runtime onnxruntime",
        "--runtime onnxruntime: onnxruntime is not installed; pip install onnxruntime",
        without_onnxruntime,
    ),
    "one-of-both-not-installed": Row(
        "m.onnx o.onnx -t 13 --runtime both",
        "--runtime both: onnxruntime is not installed; pip install onnxruntime",
        without_onnxruntime,
    ),
    "rtol-negative": Row("m.onnx o.onnx --rtol -1", "expected a number from 0 on, or OUTPUT:NUMBER, not '-1'"),
    "rtol-nan": Row("m.onnx o.onnx --rtol nan", "expected a number from 0 on, or OUTPUT:NUMBER, not 'nan'"),
    "rtol-twice": Row("m.onnx o.onnx --rtol 0 --rtol 1", "--rtol is given twice for all outputs."),
    "atol-infinite": Row("m.onnx o.onnx --atol inf", "expected a number from 0 on, or OUTPUT:NUMBER, not 'inf'"),
    "atol-twice-for-one": Row("m.onnx o.onnx --atol a:0 --atol a:1", "--atol is given twice for a."),
    "atol-no-such-output": Row("m.onnx o.onnx -t 13 --atol d:1", "--atol d: no such output; the outputs are a, b, c"),
    "budget-of-nothing": Row("m.onnx o.onnx --compare-budget 0", "0.0 is not in the range x>0."),
    "seed-negative": Row("m.onnx o.onnx --seed -1", "-1 is not in the range x>=0."),
    "external-data-no-such-way": Row(
        "m.onnx o.onnx --external-data away", "--external-data: expected auto, keep, copy, inline, split or split:BYTES, not 'away'"
    ),
    "external-data-for-a-runtime-without": Row(
        "m.onnx o.onnx --for opencv-4.12 --external-data copy",
        "--external-data copy: OpenCV dnn 4.12 reads no external data; leave the option out",
    ),
    "external-data-size": Row(
        "m.onnx o.onnx --external-data split:1k",
        "--external-data: expected auto, keep, copy, inline, split or split:BYTES, not 'split:1k'",
    ),
    "report-no-such-format": Row(
        "m.onnx o.onnx --report r.txt",
        "'r.txt' should end with one of .json, .html, .jsonl, .xml, .sarif, or be - for JSON on standard output",
    ),
    "report-of-an-inspection": Row("inspect m.onnx --report r.xml", "--report r.xml: its name has to end with .json or .html."),
    "report-is-a-folder": Row("m.onnx o.onnx --report folder.json", "folder.json: is a folder; name the file to write"),
    "both-to-standard-output": Row("m.onnx - --report -", "OUTPUT and --report are both -: only one can be standard output."),
    "kept-beside-standard-output": Row(
        "m.onnx - --keep-different",
        "OUTPUT is -, and --keep-different writes a file beside OUTPUT: name a file.",
    ),
    "data-to-standard-output": Row(
        "m.onnx - --external-data split",
        "OUTPUT is -, so there can be no data file: use --external-data inline, or name a file.",
    ),
    "from-a-terminal": Row("- o.onnx", "INPUT is -, but standard input is a terminal: send a model to it.", on_a_terminal),
    "to-a-terminal": Row(
        "m.onnx -", "OUTPUT is -, but standard output is a terminal: send it to a file or a program.", on_a_terminal
    ),
    "report-in-no-folder": Row("m.onnx o.onnx --report no/r.json", "no/r.json: the folder no does not exist"),
    "shape-no-number": Row("m.onnx o.onnx --test-input-shape x:2,q", "expected whole numbers as in 1,3,224,224, not 'q'"),
    "shape-empty": Row("m.onnx o.onnx --test-input-shape=", "expected NAME:1,3,224,224, not ''"),
    "shape-no-name": Row("m.onnx o.onnx --test-input-shape :2,7", "expected NAME:1,3,224,224, not ':2,7'"),
    "shape-no-such-input": Row(
        "m.onnx o.onnx -t 13 --test-input-shape y:2,7", "--test-input-shape y: no such input; the inputs are x float32[N,7]"
    ),
    "shape-wrong-rank": Row(
        "m.onnx o.onnx -t 13 --test-input-shape 7", "--test-input-shape x: shape [7] does not fit the declared float32[N,7]"
    ),
    "shape-wrong-size": Row(
        "m.onnx o.onnx -t 13 --test-input-shape x:2,8", "--test-input-shape x: shape [2,8] does not fit the declared float32[N,7]"
    ),
    "shape-negative": Row(
        "m.onnx o.onnx -t 13 --test-input-shape x:-1,7", "--test-input-shape x: shape [-1,7] does not fit the declared float32[N,7]"
    ),
    "shape-twice": Row(
        "m.onnx o.onnx --test-input-shape x:2,7 --test-input-shape 3,7", "--test-input-shape: input 'x' is given twice."
    ),
    "shape-of-which-input": Row(
        "two.onnx o.onnx --test-input-shape 2,7", "--test-input-shape: put NAME: before the shape; the inputs are x, z."
    ),
    "fixed-shape-no-such-input": Row(
        "m.onnx o.onnx --overwrite-input-shape y:2,7", "--overwrite-input-shape: there is no input 'y'; inputs are x"
    ),
    "fixed-shape-no-tensor": Row(
        "sequence.onnx o.onnx --overwrite-input-shape x:2", "--overwrite-input-shape: input 'x' is not a tensor"
    ),
    "fixed-shape-wrong-rank": Row(
        "m.onnx o.onnx --overwrite-input-shape x:7", "--overwrite-input-shape: input 'x' has rank 2, and 1 dimensions were given"
    ),
    "fixed-shape-known-size": Row(
        "m.onnx o.onnx --overwrite-input-shape x:2,8", "--overwrite-input-shape: dimension 1 of input 'x' is 7, not 8"
    ),
    "fixed-shape-negative": Row(
        "m.onnx o.onnx --overwrite-input-shape x:-1,7", "--overwrite-input-shape: input 'x' cannot have a dimension of -1"
    ),
    "fixed-shape-two-sizes": Row(
        "square.onnx o.onnx --overwrite-input-shape x:2,3",
        "--overwrite-input-shape: 'N' would be both 2 and 3, in dimension 1 of 'x'",
    ),
    "declared-not-split": Row("m.onnx o.onnx --declare float[2,7]", "expected NAME:float[N,64], not 'float[2,7]'"),
    "declared-twice": Row("m.onnx o.onnx --declare y:float --declare y:float", "--declare: value 'y' is given twice."),
    "declared-no-such-value": Row(
        "m.onnx o.onnx --declare q:float[2]", "--declare: there is no value 'q' in the graphs of the model"
    ),
    "declared-no-type": Row("m.onnx o.onnx --declare x:flaot[2]", "--declare: 'flaot[2]' of 'x' is not a type as in float[N,64]"),
    "declared-two-types": Row(
        "m.onnx o.onnx --declare x:float[2]q,int64", "--declare: 'float[2]q,int64' of 'x' is not a type as in float[N,64]"
    ),
    "declared-otherwise": Row("m.onnx o.onnx --declare x:int64[N,7]", "--declare: 'x' is float[N,7], not int64[N,7]"),
    "declared-number-for-a-symbol": Row("m.onnx o.onnx --declare x:float[2,7]", "--declare: 'x' is float[N,7], not float[2,7]"),
    "fixed-shape-of-which-input": Row(
        "two.onnx o.onnx --overwrite-input-shape 2,7", "--overwrite-input-shape: put NAME: before the shape; the inputs are x, z."
    ),
    "data-no-name": Row("m.onnx o.onnx --input-data good.npy", "expected NAME:FILE.npy or FILE.npz, not 'good.npy'"),
    "data-no-array-file": Row("m.onnx o.onnx --input-data x:m.onnx", "expected NAME:FILE.npy or FILE.npz, not 'x:m.onnx'"),
    "data-missing": Row("m.onnx o.onnx --input-data x:nosuch.npy", "nosuch.npy cannot be read: No such file or directory"),
    "data-npz-missing": Row("m.onnx o.onnx --input-data nosuch.npz", "nosuch.npz cannot be read: No such file or directory"),
    "data-empty": Row("m.onnx o.onnx --input-data x:empty.npy", "empty.npy cannot be read: …"),
    "data-garbage": Row("m.onnx o.onnx --input-data x:garbage.npy", "garbage.npy cannot be read: …"),
    "data-npz-garbage": Row("m.onnx o.onnx --input-data garbage.npz", "garbage.npz cannot be read: …"),
    "data-npz-truncated": Row("m.onnx o.onnx --input-data cut.npz", "cut.npz cannot be read: …"),
    "data-objects": Row("m.onnx o.onnx --input-data x:objects.npy", "objects.npy cannot be read: …"),
    "data-npy-in-npz": Row(
        "m.onnx o.onnx --input-data array.npz", "array.npz cannot be read: the contents do not match the ending of the name"
    ),
    "data-twice": Row(
        "m.onnx o.onnx --input-data x:good.npy --input-data x:good.npy", "--input-data: input 'x' is given twice in one sample."
    ),
    "data-no-such-input": Row(
        "m.onnx o.onnx -t 13 --input-data y:good.npy", "--input-data y: no such input; the inputs are x float32[N,7]"
    ),
    "data-wrong-type": Row(
        "m.onnx o.onnx -t 13 --input-data x:double.npy", "--input-data x: float64 does not fit the declared float32[N,7]"
    ),
    "data-wrong-shape": Row(
        "m.onnx o.onnx -t 13 --input-data x:flat.npy", "--input-data x: shape [14] does not fit the declared float32[N,7]"
    ),
    "data-of-a-sequence": Row(
        "sequence.onnx o.onnx --input-data x:flat.npy", "--input-data x: an array does not fit the declared seq(float32[N])"
    ),
}


@pytest.mark.parametrize("row", USAGE.values(), ids=USAGE)
def test_usage(folder: Path, monkeypatch: pytest.MonkeyPatch, row: Row) -> None:
    prepare(folder, row.arguments)
    row.circumstance(monkeypatch)
    assert_fails(folder, row.arguments, 2, row.message)


def test_no_message_is_missing() -> None:
    of_tables = [f"pyproject.toml: [tool.split-rewrite] {message}" for _, message in WRONG_TABLES.values()]
    of_tables.append("pyproject.toml: [tool.split-rewrite] has to be a table of options")
    messages = [*(row.message for row in USAGE.values()), *(message for _, message in LIBRARY.values()), *of_tables]
    assert unseen("Wrong usage (status 2)", messages) == set()
