"""The programs in the public pages and the README type-check and run unchanged."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from mypy import api

from customer_platform import Client

HERE = Path(__file__).parent
DOCS = HERE / "../../../docs"
PAGES = [HERE / "../README.md", *(page for page in sorted(DOCS.glob("*.md")) if "```python" in page.read_text("utf-8"))]


def program_of(page: Path) -> str:
    """A page's Python blocks, in order."""
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    return "\n".join(blocks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_programs_of_a_page_are_typed(page: Path, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(program_of(page), "utf-8")
    output, errors, status = api.run(["--strict", "--config-file", str(HERE / "../pyproject.toml"), str(file)])
    assert (status, errors) == (0, ""), output


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_programs_of_a_page_run(page: Path, platform: Client, capsys: pytest.CaptureFixture[str]) -> None:
    program = program_of(page).replace("https://api.example.com", platform._api.settings.base_url)
    exec(compile(program, page.name, "exec"), {"__name__": "guide"})
    printed = capsys.readouterr().out
    if page.name == "client-python.md":
        assert "invalid_request name" in printed
        assert "500 0 0" in printed
        assert os.environ["CUSTOMER_PLATFORM_KEY"] not in printed
