"""Writing: what is refused, where payloads go, and that a model is in its place whole or not at all."""

from __future__ import annotations

import errno
import gzip
import os
import random
import resource
import signal
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import run_isolated
from onnx import TensorProto, numpy_helper
from storage_models import everywhere, expected, inputs, noise, runnable, tensors_of, to_external

from split_rewrite.rewriter import InvalidModelError, SplitRewriteError
from split_rewrite.rewriter.storage import layout, read, reading, stage
from split_rewrite.rewriter.storage.skeleton import Skeleton

MODES = ["auto", "keep", "copy", "inline", "split", "split:0", "split:100000"]


@pytest.fixture(autouse=True)
def scanned(monkeypatch):
    monkeypatch.setattr(reading, "PARSED_WHOLE", 0)


@pytest.fixture(params=["scanned", "parsed whole"])
def parsed_whole_too(request, scanned, monkeypatch):
    """Where a payload goes must not depend on how big the file was that it came from."""
    if request.param == "parsed whole":
        monkeypatch.setattr(reading, "PARSED_WHOLE", 1 << 30)


def save(path: Path, model: onnx.ModelProto, data_name: str = "") -> Path:
    """The model in a file, with external data of that name if there is one."""
    if data_name:
        path.with_name(data_name).write_bytes(to_external(model, data_name))
    path.write_bytes(model.SerializeToString(deterministic=True))
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def convert(source: Path, target: Path, mode: str = "auto") -> None:
    with stage(read(source), target, mode) as staged:
        staged.commit()


def loaded(path: Path) -> onnx.ModelProto:
    """What onnx reads there, all data inside; nothing of it passes through the code under test."""
    model = onnx.load(path)
    for tensor in tensors_of(model):
        tensor.ClearField("data_location")
    return model


def run(path: str) -> np.ndarray:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, inputs())[0]


# What is refused, with nothing written


def folder_there(path: Path) -> None:
    path.mkdir()


def link_away(path: Path) -> None:
    (path.parent / "away").mkdir()
    path.symlink_to("away/out.onnx")


REFUSED_TARGETS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "no folder": ("no/such/out.onnx", lambda path: None, "the folder .* does not exist"),
    "a file as the folder": ("model.onnx/out.onnx", lambda path: None, "does not exist"),
    "a folder there": ("out", folder_there, "is a folder"),
    "a link to a folder": ("out", lambda path: path.symlink_to(path.parent), "is a folder"),
    "a FIFO there": ("out.onnx", os.mkfifo, "is not a regular file"),
    "a link to a device, which would be replaced": ("out.onnx", lambda p: p.symlink_to("/dev/null"), "not a regular file"),
    "a link like /dev/stdout": ("out.onnx", lambda p: p.symlink_to("/proc/self/fd/1"), "not a regular file"),
    "a link to itself": ("out.onnx", lambda p: p.symlink_to("out.onnx"), "Too many levels of symbolic links"),
    "a link to no folder": ("out.onnx", lambda p: p.symlink_to("no/out.onnx"), "the folder .* does not exist"),
    "a link into another folder": ("out.onnx", link_away, "is a link into another folder"),
    "a name that is too long": ("o" * 260, lambda path: None, "cannot be written: File name too long"),
}


@pytest.mark.parametrize(("name", "make", "message"), REFUSED_TARGETS.values(), ids=REFUSED_TARGETS.keys())
def test_refuses_target(tmp_path, name, make, message):
    skeleton = read(save(tmp_path / "model.onnx", runnable()))
    make(tmp_path / name)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SplitRewriteError, match=message) as caught, stage(skeleton, tmp_path / name, "split") as staged:
        staged.commit()
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("mode", ["", "none", "split:", "split:1MB", "split:-1", "keep:5", "Split", "split:٣"])
def test_refuses_mode(tmp_path, mode):
    skeleton = read(save(tmp_path / "model.onnx", runnable()))
    with pytest.raises(SplitRewriteError, match="expected auto, keep, copy, inline, split or split:BYTES"):
        stage(skeleton, tmp_path / "out.onnx", mode)
    assert sorted(content(tmp_path)) == ["model.onnx"]


def remove(path: Path) -> None:
    path.unlink()


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def link(path: Path) -> None:
    path.rename(path.with_name("other"))
    path.symlink_to("other")


def hard_link(path: Path) -> None:
    os.link(path, path.with_name("other"))


BROKEN = {"missing": remove, "short": shorten, "a symbolic link": link, "a hard link": hard_link}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("break_data", BROKEN.values(), ids=BROKEN.keys())
def test_refuses_data_files_before_anything_is_written(tmp_path, mode, break_data):
    source = save(tmp_path / "model.onnx", runnable(), "w.bin")
    break_data(tmp_path / "w.bin")
    before = content(tmp_path)
    with pytest.raises(InvalidModelError, match=r"w\.bin"):
        stage(read(source), tmp_path / "out.onnx", mode)
    assert content(tmp_path) == before


def test_refuses_a_cut_tensor_that_does_not_fit_its_shape(tmp_path):
    """Nobody else would see it: the checker is not shown the data."""
    model = runnable()
    model.graph.initializer[0].dims[:] = [32, 65]
    source = save(tmp_path / "model.onnx", model)
    with pytest.raises(InvalidModelError, match=r"tensor 'w': has 8192 bytes of data, but its type .* take 8320"):
        stage(read(source), tmp_path / "out.onnx")


def test_refuses_to_keep_data_that_is_in_another_folder(tmp_path):
    source = save(tmp_path / "model.onnx", runnable(), "w.bin")
    (tmp_path / "other").mkdir()
    with pytest.raises(SplitRewriteError, match="kept"):
        stage(read(source), tmp_path / "other" / "out.onnx", "keep")
    assert content(tmp_path / "other") == {}


def test_refuses_more_than_one_file_can_hold(tmp_path, monkeypatch):
    source = save(tmp_path / "model.onnx", runnable())
    monkeypatch.setattr(layout, "LARGEST_PROTOBUF", 20000)
    with pytest.raises(SplitRewriteError, match="split its data off"):
        stage(read(source), tmp_path / "out.onnx", "inline")
    assert sorted(content(tmp_path)) == ["model.onnx"]


def _convert_as_nobody(source: Path) -> None:
    """For a child process, which can cease to be root."""
    if os.getuid() == 0:
        os.setuid(65534)
    convert(source, source.with_name("out.onnx"))


def test_refuses_a_read_only_folder():
    with tempfile.TemporaryDirectory() as folder:
        source = save(Path(folder, "model.onnx"), runnable())
        Path(folder).chmod(0o555)
        with pytest.raises(SplitRewriteError, match=r"out\.onnx: cannot be written: Permission denied"):
            run_isolated(_convert_as_nobody, source)
        assert sorted(content(Path(folder))) == ["model.onnx"]
        Path(folder).chmod(0o755)


def test_refuses_a_read_only_file():
    """As any program that opens it for writing would be; as nobody, because root may write everything."""
    with tempfile.TemporaryDirectory() as folder:
        source = save(Path(folder, "model.onnx"), runnable())
        Path(folder, "out.onnx").write_bytes(b"precious")
        Path(folder, "out.onnx").chmod(0o444)
        Path(folder).chmod(0o777)
        with pytest.raises(SplitRewriteError, match=r"out\.onnx: cannot be written: Permission denied"):
            run_isolated(_convert_as_nobody, source)
        assert content(Path(folder))["out.onnx"] == b"precious"


def with_small_disk(limit: int, function: Callable[[], object]) -> object:
    """Run `function` in a child process where no file can grow beyond `limit` bytes."""

    def limited() -> object:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return function()

    return run_isolated(limited)


@pytest.mark.parametrize("mode", ["inline", "split"])
@pytest.mark.parametrize("limit", [0, 1000, 9000, 20000])
def test_a_full_disk_leaves_nothing_behind(tmp_path, mode, limit):
    source = save(tmp_path / "model.onnx", runnable())
    (tmp_path / "out.onnx").write_bytes(b"old")
    before = content(tmp_path)
    with pytest.raises(SplitRewriteError, match=r"out\.onnx: cannot be written: File too large"):
        with_small_disk(limit, lambda: convert(source, tmp_path / "out.onnx", mode))
    assert content(tmp_path) == before


# Where payloads go


def test_a_model_that_nobody_touched_has_the_same_bytes(tmp_path):
    source = save(tmp_path / "model.onnx", everywhere())
    for mode in ("auto", "keep", "copy", "inline"):
        convert(source, tmp_path / "out.onnx", mode)
        assert content(tmp_path)["out.onnx"] == content(tmp_path)["model.onnx"]
        assert sorted(content(tmp_path)) == ["model.onnx", "out.onnx"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("same_folder", [True, False], ids=["same folder", "other folder"])
@pytest.mark.parametrize("data_name", ["", "w.bin"], ids=["inside", "external"])
def test_every_mode(tmp_path, mode, same_folder, data_name):
    """The staged file runs, the committed one runs and is the same model, and only the files that should be there are."""
    if mode == "keep" and data_name and not same_folder:
        pytest.skip("refused")
    source = save(tmp_path / "model.onnx", runnable(), data_name)
    before = content(tmp_path)
    original = loaded(source)
    target = tmp_path / "out.onnx" if same_folder else tmp_path / "other" / "out.onnx"
    target.parent.mkdir(exist_ok=True)
    with stage(read(source), target, mode) as staged:
        assert staged.path.parent == target.parent
        assert staged.path.name.startswith(".")
        assert not target.exists()
        np.testing.assert_array_equal(run_isolated(run, str(staged.path)), expected())
        staged.commit()
    np.testing.assert_array_equal(run_isolated(run, str(target)), expected())
    result = loaded(target)
    is_copied = bool(data_name) and (mode == "copy" or (mode == "auto" and not same_folder))
    has_data = is_copied or mode in ("split", "split:0")
    if mode not in ("split", "split:0"):
        assert result == original  # else the numbers that were floats on the wire are raw data now
    written = {"out.onnx", "out.onnx.data"} if has_data else {"out.onnx"}
    assert content(target.parent).keys() - (before.keys() if same_folder else set()) == written
    assert {name: content(tmp_path)[name] for name in before} == before


def test_split_moves_what_is_big_and_no_shape(tmp_path, parsed_whole_too):
    source = save(tmp_path / "model.onnx", everywhere())
    convert(source, tmp_path / "out.onnx", "split:5000")
    result = onnx.load(tmp_path / "out.onnx", load_external_data=False)
    initializers = {tensor.name: tensor.data_location for tensor in result.graph.initializer}
    moved = {name for name, location in initializers.items() if location == TensorProto.EXTERNAL}
    assert moved == {"w", "big vector", "explicit default location"}
    assert initializers.keys() - moved == {
        "shape",  # small
        "double_data",  # 4800 bytes
        "vector that may be a shape",
        "int32_data",  # packed integers are no raw data
        "int64_data",
        "uint64_data",
    }
    for before, after in zip(tensors_of(onnx.load(source)), tensors_of(onnx.load(tmp_path / "out.onnx")), strict=True):
        np.testing.assert_array_equal(numpy_helper.to_array(after), numpy_helper.to_array(before))
        assert (after.name, after.dims, after.doc_string) == (before.name, before.dims, before.doc_string)


def test_data_that_tensors_share_is_written_once(tmp_path):
    model = runnable()
    to_external(model, "w.bin")
    copy = model.graph.initializer.add()
    copy.CopyFrom(model.graph.initializer[0])
    copy.name = "the same"
    (tmp_path / "w.bin").write_bytes(bytes(40000))
    source = save(tmp_path / "model.onnx", model)
    convert(source, tmp_path / "out.onnx", "copy")
    places = [
        {entry.key: entry.value for entry in tensor.external_data}
        for tensor in tensors_of(onnx.load(tmp_path / "out.onnx", load_external_data=False))
        if tensor.data_location == TensorProto.EXTERNAL
    ]
    assert len(places) == 4
    assert len({place["offset"] for place in places}) == 3
    assert all(int(place["offset"]) % 4096 == 0 for place in places)
    assert (tmp_path / "out.onnx.data").stat().st_size == 3 * 8192


def test_a_part_of_external_data_runs(tmp_path):
    """What folding a Split leaves: a tensor that refers to a piece out of the middle of another."""
    source = save(tmp_path / "model.onnx", runnable(), "w.bin")
    skeleton = read(source)
    graph = skeleton.proto.graph
    rolled = np.roll(noise(0), 1, axis=0)
    (tmp_path / "w.bin").write_bytes((tmp_path / "w.bin").read_bytes() + noise(0).tobytes() + rolled[:1].tobytes())
    skeleton = read(source)
    graph = skeleton.proto.graph
    whole = graph.initializer[0]
    end = (tmp_path / "w.bin").stat().st_size - 8192 - 256
    del whole.external_data[:]
    for key, value in {"location": "w.bin", "offset": end, "length": 8192 + 256}.items():
        whole.external_data.add(key=key, value=str(value))
    whole.dims[:] = [33, 64]
    part = skeleton.part(whole, 64, 33 * 64, [32, 64], "w")
    whole.CopyFrom(part)
    with stage(skeleton, tmp_path / "out.onnx") as staged:
        staged.commit()
    w, k, v, z = (noise(i) for i in range(4))
    w = np.concatenate([w, rolled[:1]])[1:]
    np.testing.assert_array_equal(run_isolated(run, str(tmp_path / "out.onnx")), (inputs()["x"] + w) * k - v + z)


def test_auto_splits_what_one_file_cannot_hold(tmp_path, monkeypatch):
    source = save(tmp_path / "model.onnx", runnable())
    monkeypatch.setattr(layout, "LARGEST_PROTOBUF", 20000)
    convert(source, tmp_path / "out.onnx", "auto")
    assert sorted(content(tmp_path)) == ["model.onnx", "out.onnx", "out.onnx.data"]
    np.testing.assert_array_equal(run_isolated(run, str(tmp_path / "out.onnx")), expected())


def test_auto_takes_external_data_along_when_it_splits(tmp_path, monkeypatch):
    model = runnable()
    model.graph.initializer.add(name="inside", data_type=1, dims=[10000], raw_data=bytes(40000))
    content_of_data = to_external(model, "w.bin", minimum=8192)
    inside = model.graph.initializer[2]
    inside.Clear()
    inside.CopyFrom(TensorProto(name="inside", data_type=1, dims=[10000], raw_data=bytes(40000)))
    (tmp_path / "w.bin").write_bytes(content_of_data)
    source = save(tmp_path / "model.onnx", model)
    monkeypatch.setattr(layout, "LARGEST_PROTOBUF", 40000)
    convert(source, tmp_path / "out.onnx", "auto")
    locations = {
        entry.value
        for tensor in tensors_of(onnx.load(tmp_path / "out.onnx", load_external_data=False))
        for entry in tensor.external_data
        if entry.key == "location"
    }
    assert locations == {"out.onnx.data"}


def test_writing_is_deterministic(tmp_path):
    source = save(tmp_path / "model.onnx", everywhere(), "w.bin")
    results = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        convert(source, tmp_path / folder / "out.onnx", "split")
        results.append(content(tmp_path / folder))
    assert results[0] == results[1]


def test_a_model_in_memory(tmp_path):
    model = runnable()
    with stage(Skeleton.of(model), tmp_path / "inside.onnx") as staged:
        staged.commit()
    assert (tmp_path / "inside.onnx").read_bytes() == model.SerializeToString(deterministic=True)
    (tmp_path / "w.bin").write_bytes(to_external(model, "w.bin"))
    with stage(Skeleton.of(model, tmp_path), tmp_path / "outside.onnx", "split") as staged:
        staged.commit()
    np.testing.assert_array_equal(run_isolated(run, str(tmp_path / "outside.onnx")), expected())
    with pytest.raises(InvalidModelError, match="folder of the model is not known"):
        stage(Skeleton.of(model), tmp_path / "nowhere.onnx")


def test_a_name_with_gz_is_packed_the_same_each_time(tmp_path):
    source = save(tmp_path / "m.onnx", runnable(), "m.bin")
    packed = tmp_path / "out.onnx.gz"
    for _ in range(2):
        with stage(read(source), packed) as staged:
            staged.pack()
            staged.commit()
        content_once = packed.read_bytes()
    assert packed.read_bytes() == content_once and content_once[:2] == b"\x1f\x8b"
    unpacked = onnx.load_from_string(gzip.decompress(content_once))
    assert not any(tensor.external_data for tensor in tensors_of(unpacked)), "all in one file"
    assert {path.name for path in tmp_path.iterdir()} == {"m.onnx", "m.bin", "out.onnx.gz"}


def test_permissions(tmp_path):
    source = save(tmp_path / "model.onnx", runnable())
    umask = os.umask(0o022)
    try:
        convert(source, tmp_path / "new.onnx", "split")
    finally:
        os.umask(umask)
    source.chmod(0o640)
    convert(source, source)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"new.onnx": 0o644, "new.onnx.data": 0o644, "model.onnx": 0o640}


NAMES = ["m", "model", "mödel 模型.onnx", "m" * 250]


@pytest.mark.parametrize("name", NAMES)
def test_names(tmp_path, name):
    source = save(tmp_path / "model.onnx", runnable())
    convert(source, tmp_path / name, "split")
    assert sorted(content(tmp_path)) == sorted(["model.onnx", name, f"{name}.data"])
    np.testing.assert_array_equal(run_isolated(run, str(tmp_path / name)), expected())


def test_refuses_a_name_that_no_tensor_can_refer_to(tmp_path):
    source = save(tmp_path / "model.onnx", runnable())
    with pytest.raises(SplitRewriteError, match="not valid Unicode"):
        stage(read(source), tmp_path / os.fsdecode(b"m\xff.onnx"), "split")


def test_relative_paths(tmp_path, monkeypatch):
    save(tmp_path / "model.onnx", runnable(), "w.bin")
    monkeypatch.chdir(tmp_path)
    convert(Path("model.onnx"), Path("out.onnx"), "auto")
    convert(Path("model.onnx"), Path("split.onnx"), "split")
    assert sorted(content(tmp_path)) == ["model.onnx", "out.onnx", "split.onnx", "split.onnx.data", "w.bin"]


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no second file system")
@pytest.mark.parametrize("mode", ["auto", "copy", "split"])
def test_output_on_another_file_system(tmp_path, mode):
    source = save(tmp_path / "model.onnx", runnable(), "w.bin")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        convert(source, Path(folder, "out.onnx"), mode)
        np.testing.assert_array_equal(run_isolated(run, f"{folder}/out.onnx"), expected())


@pytest.mark.parametrize("error", [errno.EXDEV, errno.ENOSYS, errno.EOPNOTSUPP])
def test_copies_where_the_kernel_cannot(tmp_path, monkeypatch, error):
    def cannot(*args: object) -> int:
        raise OSError(error, os.strerror(error))

    source = save(tmp_path / "model.onnx", runnable())
    monkeypatch.setattr(os, "copy_file_range", cannot, raising=False)
    convert(source, tmp_path / "out.onnx")
    assert content(tmp_path)["out.onnx"] == content(tmp_path)["model.onnx"]


def test_a_kernel_that_copies_a_little_at_a_time(tmp_path, monkeypatch):
    def little(source: int, target: int, count: int, offset: int) -> int:
        return os.write(target, os.pread(source, min(count, 1000), offset))

    source = save(tmp_path / "model.onnx", runnable())
    monkeypatch.setattr(os, "copy_file_range", little, raising=False)
    convert(source, tmp_path / "out.onnx")
    assert content(tmp_path)["out.onnx"] == content(tmp_path)["model.onnx"]


@pytest.fixture
def kernel_copies(monkeypatch) -> list[tuple[int, int]]:
    """Offset and length of each range that the kernel was asked to copy."""
    copies: list[tuple[int, int]] = []

    def note(source: int, target: int, count: int, offset: int) -> int:
        copies.append((offset, count))
        return os.write(target, os.pread(source, count, offset))

    monkeypatch.setattr(os, "copy_file_range", note, raising=False)
    return copies


def test_tensors_that_follow_each_other_are_copied_at_once(tmp_path, kernel_copies):
    source = save(tmp_path / "model.onnx", runnable(), "w.bin")
    (tmp_path / "other").mkdir()
    convert(source, tmp_path / "other" / "out.onnx", "copy")
    assert kernel_copies == [(0, (tmp_path / "w.bin").stat().st_size)]
    np.testing.assert_array_equal(run_isolated(run, str(tmp_path / "other" / "out.onnx")), expected())


def test_data_that_moves_within_the_page_is_not_for_the_kernel(tmp_path, kernel_copies):
    source = save(tmp_path / "model.onnx", runnable())
    skeleton = read(source)
    skeleton.proto.producer_name += "longer"
    with stage(skeleton, tmp_path / "out.onnx") as staged:
        staged.commit()
    assert kernel_copies == []
    np.testing.assert_array_equal(run_isolated(run, str(tmp_path / "out.onnx")), expected())


# In place of the input, and of older results


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("data_name", ["", "w.bin", "model.onnx.data"])
def test_output_is_input(tmp_path, mode, data_name):
    source = save(tmp_path / "model.onnx", runnable(), data_name)
    original = loaded(source)
    before = content(tmp_path)
    convert(source, source, mode)
    assert content(tmp_path).get(data_name) == before.get(data_name)
    np.testing.assert_array_equal(run_isolated(run, str(source)), expected())
    if mode not in ("split", "split:0"):
        assert loaded(source) == original
    used = {
        entry.value
        for tensor in tensors_of(onnx.load(source, load_external_data=False))
        for entry in tensor.external_data
        if entry.key == "location"
    }
    assert set(content(tmp_path)) == {"model.onnx"} | used | ({data_name} - {""})


@pytest.mark.parametrize("mode", ["auto", "inline", "split"])
@pytest.mark.parametrize("data_name", ["", "w.bin", "model.onnx.data"])
def test_output_is_a_hard_link_to_the_input(tmp_path, mode, data_name):
    """The link becomes a file of its own; the input stays as it was."""
    source = save(tmp_path / "model.onnx", runnable(), data_name)
    before = content(tmp_path)
    os.link(source, tmp_path / "link.onnx")
    convert(source, tmp_path / "link.onnx", mode)
    assert {name: content(tmp_path)[name] for name in before} == before
    np.testing.assert_array_equal(run_isolated(run, str(tmp_path / "link.onnx")), expected())


@pytest.mark.parametrize("mode", ["auto", "inline", "split"])
@pytest.mark.parametrize("data_name", ["", "w.bin", "model.onnx.data"])
def test_a_symbolic_link_stays_one(tmp_path, mode, data_name):
    """What it points to is replaced: here the input itself, and then another file."""
    source = save(tmp_path / "model.onnx", runnable(), data_name)
    (tmp_path / "link.onnx").symlink_to("model.onnx")
    (tmp_path / "new.onnx").symlink_to("not yet.onnx")
    convert(tmp_path / "link.onnx", tmp_path / "link.onnx", mode)
    convert(source, tmp_path / "new.onnx", mode)
    for name, target in {"link.onnx": "model.onnx", "new.onnx": "not yet.onnx"}.items():
        assert os.readlink(tmp_path / name) == target
        np.testing.assert_array_equal(run_isolated(run, str(tmp_path / name)), expected())
    assert (tmp_path / "not yet.onnx.data").exists() == (mode == "split")


def test_a_link_into_another_folder_is_followed_where_no_data_file_is_needed(tmp_path):
    source = save(tmp_path / "model.onnx", runnable())
    link_away(tmp_path / "out.onnx")
    convert(source, tmp_path / "out.onnx")
    assert sorted(content(tmp_path / "away")) == ["out.onnx"]
    assert (tmp_path / "out.onnx").is_symlink()


def test_output_through_another_path_to_the_folder_of_the_input(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "linked").symlink_to("models")
    source = save(tmp_path / "models" / "model.onnx", runnable())
    convert(source, tmp_path / "linked" / "model.onnx", "split")
    assert sorted(content(tmp_path / "models")) == ["model.onnx", "model.onnx.data"]
    np.testing.assert_array_equal(run_isolated(run, str(source)), expected())


def notes_of(source: Path, target: Path, mode: str) -> list[str]:
    """What is to be said of the data files of this conversion."""
    with stage(read(source), target, mode) as staged:
        staged.commit()
        return staged.notes


def test_data_goes_to_a_file_that_nothing_has(tmp_path):
    """The usual name may belong to any model: it is never overwritten, be it the input's or nobody's."""
    source = save(tmp_path / "model.onnx", runnable(1), "out.onnx.data")
    (tmp_path / "out.onnx.1.data").mkdir()
    (tmp_path / "out.onnx.2.data").symlink_to("nothing")
    before = content(tmp_path)
    (note,) = notes_of(source, tmp_path / "out.onnx", "split")
    assert note == "the data is in out.onnx.3.data, because out.onnx.data exists and may be needed by another model"
    assert {name: content(tmp_path)[name] for name in before} == before
    assert sorted(content(tmp_path)) == ["model.onnx", "out.onnx", "out.onnx.3.data", "out.onnx.data"]
    np.testing.assert_array_equal(run_isolated(run, str(tmp_path / "out.onnx")), expected(1))


def test_the_same_data_is_used_again(tmp_path, kernel_copies):
    """Neither converting once more nor converting in place writes it a second time."""
    source = save(tmp_path / "model.onnx", runnable())
    target = tmp_path / "out.onnx"
    convert(source, target, "split")
    data = (tmp_path / "out.onnx.data").stat()
    for again in (source, target):
        assert notes_of(again, target, "split") == []
        assert (tmp_path / "out.onnx.data").stat() == data
        assert sorted(content(tmp_path)) == ["model.onnx", "out.onnx", "out.onnx.data"]
        np.testing.assert_array_equal(run_isolated(run, str(target)), expected())


@pytest.mark.parametrize("spoil", [hard_link, link], ids=["hard link", "symbolic link"])
def test_the_same_data_is_not_used_again_where_onnx_would_refuse_it(tmp_path, spoil):
    source = save(tmp_path / "model.onnx", runnable())
    convert(source, tmp_path / "out.onnx", "split")
    spoil(tmp_path / "out.onnx.data")
    convert(source, tmp_path / "out.onnx", "split")
    assert (tmp_path / "out.onnx.1.data").exists()
    np.testing.assert_array_equal(run_isolated(run, str(tmp_path / "out.onnx")), expected())


def test_data_that_only_looks_the_same_is_not_used_again(tmp_path):
    """No model refers to it, so that nobody knows whether it is whole, or whose it is."""
    source = save(tmp_path / "model.onnx", runnable())
    convert(source, tmp_path / "out.onnx", "split")
    (tmp_path / "out.onnx").unlink()
    (note,) = notes_of(source, tmp_path / "out.onnx", "split")
    assert "the data is in out.onnx.1.data" in note


def test_data_of_an_older_result_stays(tmp_path):
    """A sibling, made with "keep", has it too."""
    source = save(tmp_path / "model.onnx", runnable(1))
    target, sibling = tmp_path / "out.onnx", tmp_path / "sibling.onnx"
    convert(source, target, "split")
    convert(target, sibling, "keep")
    (note,) = notes_of(target, target, "inline")
    assert note == "out.onnx no longer needs out.onnx.data, which may be needed by another model"
    save(source, runnable(2))
    notes_of(source, target, "split")
    np.testing.assert_array_equal(run_isolated(run, str(sibling)), expected(1))
    np.testing.assert_array_equal(run_isolated(run, str(target)), expected(2))
    (note,) = notes_of(sibling, target, "inline")
    assert note == "out.onnx no longer needs out.onnx.1.data, which may be needed by another model"


def test_nothing_is_said_of_data_that_the_input_needs(tmp_path):
    source = save(tmp_path / "model.onnx", runnable(), "w.bin")
    convert(source, tmp_path / "out.onnx", "keep")
    assert notes_of(source, tmp_path / "out.onnx", "inline") == []


def test_the_model_that_is_replaced_may_be_anything(tmp_path):
    source = save(tmp_path / "model.onnx", runnable())
    for old in (b"no model", b"", b"\x3a\xff", b"\x08location" * 3):
        (tmp_path / "out.onnx").write_bytes(old)
        assert notes_of(source, tmp_path / "out.onnx", "auto") == []


def test_what_another_program_writes_meanwhile_is_not_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PARSED_WHOLE", 1 << 30)  # nothing is read from the file again
    source = save(tmp_path / "model.onnx", runnable())
    with stage(read(source), source) as staged:
        source.write_bytes(b"a better model")
        with pytest.raises(InvalidModelError, match="changed on disk"):
            staged.commit()
    assert content(tmp_path) == {"model.onnx": b"a better model"}


def test_two_conversions_to_the_same_output_at_once(tmp_path):
    """Whichever is the last, its model has its data."""
    sources = [save(tmp_path / f"{seed}.onnx", runnable(seed)) for seed in (1, 2)]
    target = tmp_path / "out.onnx"
    with stage(read(sources[0]), target, "split") as first, stage(read(sources[1]), target, "split") as second:
        first.commit()
        np.testing.assert_array_equal(run_isolated(run, str(target)), expected(1))
        second.commit()
    np.testing.assert_array_equal(run_isolated(run, str(target)), expected(2))
    with stage(read(sources[0]), target, "split") as first, stage(read(sources[1]), target, "split"):
        first.commit()
    np.testing.assert_array_equal(run_isolated(run, str(target)), expected(1))


def test_what_is_not_committed_is_discarded(tmp_path):
    source = save(tmp_path / "model.onnx", runnable())
    before = content(tmp_path)
    with stage(read(source), source, "split"):
        assert len(content(tmp_path)) == 3
    assert content(tmp_path) == before
    with pytest.raises(KeyboardInterrupt), stage(read(source), source, "split"):
        raise KeyboardInterrupt
    assert content(tmp_path) == before


def test_an_input_that_changes_meanwhile_is_refused(tmp_path):
    source = save(tmp_path / "model.onnx", runnable())
    skeleton = read(source)
    source.write_bytes(source.read_bytes() + b"\x12\x01p")
    before = content(tmp_path)
    with pytest.raises(InvalidModelError, match="changed on disk"):
        stage(skeleton, tmp_path / "out.onnx")
    assert content(tmp_path) == before


# Killed at any moment

OLD, NEW = 0, 10


def which(path: Path) -> int:
    """The seed of the model there. Fails the test if it is neither, or not whole."""
    values = [value_of(tensor, path.parent) for tensor in tensors_of(onnx.load(path, load_external_data=False))]
    for seed in (OLD, NEW):
        wanted = [value_of(tensor, path.parent) for tensor in tensors_of(runnable(seed))]
        if values == wanted:
            return seed
    raise AssertionError("a mixture of both")


def value_of(tensor: TensorProto, folder: Path) -> bytes:
    """The bytes of a tensor, by plain access to the file."""
    if tensor.data_location != TensorProto.EXTERNAL:
        return numpy_helper.to_array(tensor).tobytes()
    entries = {entry.key: entry.value for entry in tensor.external_data}
    offset, length = int(entries["offset"]), int(entries["length"])
    return (folder / entries["location"]).read_bytes()[offset : offset + length]


STEPS = ["replace", "unlink", "fsync", "open", "write", "fchmod"]


def die_at(number: int, work: Callable[[], object]) -> bool:
    """Do `work` in a child that dies before its call number `number` to what changes the disk; whether it lived on."""
    pid = os.fork()
    if pid == 0:
        calls = iter(range(10**6))

        def deadly(function: Callable[..., object]) -> Callable[..., object]:
            def call(*args: object, **kwargs: object) -> object:
                if next(calls) == number:
                    os._exit(42)
                return function(*args, **kwargs)

            return call

        for step in STEPS:
            setattr(os, step, deadly(getattr(os, step)))
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize("mode", ["inline", "split"])
@pytest.mark.parametrize("old_mode", ["inline", "split"])
def test_death_between_any_two_steps_leaves_the_old_or_the_new_model(tmp_path, mode, old_mode):
    save(tmp_path / "old.onnx", runnable(OLD))
    source = save(tmp_path / "new.onnx", runnable(NEW))
    target = tmp_path / "out.onnx"
    outcomes = []
    for number in range(100):
        convert(tmp_path / "old.onnx", target, old_mode)
        lived = die_at(number, lambda: convert(source, target, mode))
        outcomes.append(which(target))
        for file in tmp_path.glob("[.o]*"):
            file.unlink()
        save(tmp_path / "old.onnx", runnable(OLD))
        if lived:
            break
    assert lived
    assert outcomes == sorted(outcomes)
    assert {OLD, NEW} <= set(outcomes)


@pytest.mark.parametrize("old_mode", ["inline", "split"])
def test_death_when_output_is_input(tmp_path, old_mode):
    target = tmp_path / "model.onnx"
    for number in range(100):
        for stray in tmp_path.iterdir():
            stray.unlink()
        save(tmp_path / "old.onnx", runnable(OLD))
        convert(tmp_path / "old.onnx", target, old_mode)
        lived = die_at(number, lambda: convert(target, target, "split"))
        assert which(target) == OLD
        if lived:
            break
    assert lived


def test_killed_at_random_moments(tmp_path):
    sources = [save(tmp_path / f"{seed}.onnx", runnable(seed)) for seed in (OLD, NEW)]
    target = tmp_path / "out.onnx"
    convert(sources[0], target, "split")
    moments = random.Random(5)
    for _ in range(12):
        pid = os.fork()
        if pid == 0:
            while True:
                for source in sources:
                    for mode in ("split", "inline"):
                        convert(source, target, mode)
        time.sleep(moments.uniform(0.01, 0.1))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert which(target) in (OLD, NEW)


@pytest.mark.parametrize("step", ["replace", "fsync", "open", "fchmod"])
@pytest.mark.parametrize("number", range(6))
def test_an_error_between_any_two_steps_leaves_a_whole_model(tmp_path, monkeypatch, step, number):
    """As the test of death, but the process lives on and cleans up."""
    save(tmp_path / "old.onnx", runnable(OLD))
    source = save(tmp_path / "new.onnx", runnable(NEW))
    target = tmp_path / "out.onnx"
    convert(tmp_path / "old.onnx", target, "split")
    original, calls = getattr(os, step), iter(range(100))

    def failing(*args: object, **kwargs: object) -> object:
        if next(calls) == number:
            raise OSError(errno.EIO, "Input/output error")
        return original(*args, **kwargs)

    monkeypatch.setattr(os, step, failing)
    try:
        convert(source, target, "split")
    except SplitRewriteError as error:
        assert "Input/output error" in str(error)
    monkeypatch.undo()
    which(target)
    used = {entry.value for t in tensors_of(onnx.load(target, load_external_data=False)) for entry in t.external_data}
    assert set(content(tmp_path)) - used <= {"old.onnx", "new.onnx", "out.onnx", "out.onnx.data", "out.onnx.1.data"}
