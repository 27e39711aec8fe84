"""Finds the packages of `rewriter` and `rules`, which are installed below the namespace `split_rewrite`."""

from setuptools import find_packages, setup

setup(packages=[f"split_rewrite.{package}" for package in find_packages(include=["rewriter*", "rules*"])])
