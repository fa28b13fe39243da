"""The package's version, from pyproject.toml."""

from importlib.metadata import version

VERSION = version("customer-platform")
