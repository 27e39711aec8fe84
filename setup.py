"""Finds the packages of `rewriter` and `rules`, which are installed in the package `split_rewrite`, the folder of this name."""

from setuptools import find_packages, setup

packages = find_packages(include=["rewriter*", "rules*"], exclude=["rewriter.split_rewrite"])
setup(packages=["split_rewrite", *(f"split_rewrite.{package}" for package in packages)])
