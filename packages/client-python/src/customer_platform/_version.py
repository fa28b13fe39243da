"""Version of the package, as pyproject.toml has it."""

from importlib.metadata import version

VERSION = version("customer-platform")
