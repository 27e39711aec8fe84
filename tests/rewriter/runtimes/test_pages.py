"""The pages in docs/runtimes/ are those that are made from the profiles."""

from __future__ import annotations

from pathlib import Path

from split_rewrite.rewriter.runtimes.pages import main, pages

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "runtimes"


def test_the_pages_are_up_to_date() -> None:
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert found == pages(), "run python -m split_rewrite.rewriter.runtimes.pages docs/runtimes"


def test_a_page_says_what_goes_wrong_and_what_is_done(tmp_path: Path) -> None:
    main(tmp_path / "new")
    page = (tmp_path / "new" / "openvino.md").read_text(encoding="utf-8")
    assert "| Shape with start or end | 2023.3 | silently wrong | " in page
    assert "2024.2 does not support ConcatFromSequence, " in page and "| 2024.2 | 6 to 17, best 17 | up to 14 | tried with " in page
    tensorrt = (tmp_path / "new" / "tensorrt.md").read_text(encoding="utf-8")
    assert "`--for jetpack-4.6` is `--for tensorrt-8.0.1`." in tensorrt
    assert (
        "\n`jetpack`, `jetson`, `jetson-agx-orin`, `jetson-orin`, `jetson-orin-nano`, `jetson-orin-nx`, `jp`: JetPack 4.2.2 has 5.1.6, "
        in tensorrt
        and "Source: developer.nvidia.com, " in tensorrt
    )
    assert "| [MNN" not in pages()["index.md"] and "| [Alibaba MNN](mnn.md) | 3.6 | " in pages()["index.md"]


def test_a_page_says_what_the_model_needs_and_how_that_is_known() -> None:
    found = pages()
    assert "\n- fixed shapes of all nodes: `--overwrite-input-shape` sets those that are open\n" in found["qnn.md"]
    assert "\nNothing is known beside the tables; whether it takes open shapes is stated nowhere.\n" in found["hailo.md"]
    rows = {row.split("](")[0]: row.rpartition(" | ")[2] for row in found["index.md"].splitlines() if row.startswith("| [")}
    assert (rows["| [OpenVINO"], rows["| [NVIDIA TensorRT"], rows["| [Hailo Dataflow Compiler"]) == (
        "tried |",
        "by source |",
        "by documentation |",
    )
    assert rows["| [ONNX Runtime"] == "tried, by documentation |"
