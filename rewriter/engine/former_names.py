"""What rules and their modules were called before. Reports and scripts have the old names, so --only and --skip take them."""

from __future__ import annotations

from collections.abc import Iterable

MODULES: dict[str, tuple[str, ...]] = {
    "axes": ("negative_axes",),
    "constant_types": ("constant",),
    "counting": ("non_zero",),
    "decompose_cache": ("tensor_scatter",),
    "decompose_cast": ("cast",),
    "decompose_comparison": ("equal", "is_inf", "is_nan", "less_greater", "sign"),
    "decompose_cumulative": ("cumulative",),
    "decompose_deform_conv": ("deform_conv",),
    "decompose_det": ("det",),
    "decompose_dft": ("dft",),
    "decompose_einsum": ("einsum",),
    "decompose_elu": ("celu",),
    "decompose_erf": ("erf",),
    "decompose_grid_sample": ("grid_sample",),
    "decompose_hyperbolic": ("hyperbolic",),
    "decompose_images": ("affine_grid", "col2im"),
    "decompose_indexing": ("gather_elements", "gather_nd", "reverse_sequence", "scatter", "where"),
    "decompose_integers": ("bit_cast", "bit_shift", "bitwise", "mod"),
    "decompose_mel": ("mel_weight_matrix",),
    "decompose_normalization": ("group_normalization", "layer_normalization", "mean_variance_normalization"),
    "decompose_one_hot": ("compress", "one_hot"),
    "decompose_quantized": ("integer_products",),
    "decompose_random": ("bernoulli",),
    "decompose_roi_align": ("roi_align",),
    "decompose_rounding": ("quantization", "round"),
    "decompose_scan": ("scan",),
    "decompose_shapes": ("constant_of_shape", "expand", "eye_like", "range", "trilu"),
    "decompose_stft": ("stft",),
    "decompose_strings": ("string_normalizer",),
    "decompose_suppression": ("non_max_suppression",),
    "decompose_tfidf": ("tf_idf_vectorizer",),
    "decompose_unique": ("unique",),
    "decompose_windows": ("windows",),
    "extremes": ("max_min", "pow"),
    "normalization": ("group_normalization", "instance_normalization", "mean_variance_normalization"),
}
"""Each former module, and the modules that its rules are in now."""


def current_names(names: Iterable[str]) -> frozenset[str]:
    """`names` of rules ("split.sizes_to_input") or modules ("split"), with the present ones in the place of former ones."""
    current: set[str] = set()
    for name in names:
        module, dot, rule = name.partition(".")
        current.update(f"{now}{dot}{rule}" for now in MODULES.get(module, (module,)))
    return frozenset(current)
