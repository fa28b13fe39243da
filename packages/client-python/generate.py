"""
Generates the client's models, inputs, events, error classes and resources from docs/reference/openapi.json. With
--check, writes nothing and fails if a file is not up to date.

Needs the packages of requirements-dev.txt.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from generator import kinds, models, resources
from generator.document import Document

HERE = Path(__file__).parent
TARGET = HERE / "src" / "customer_platform"


def main() -> int:
    """Writes or compares the files. Returns the exit code."""
    texts = _formatted(_files(Document(HERE / "../../docs/reference/openapi.json")))
    stale = [name for name, text in texts.items() if _text(TARGET / name) != text]
    if "--check" in sys.argv:
        for name in stale:
            print(f"{name} is not up to date: run npm run -w packages/client-python generate", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (TARGET / name).write_text(texts[name], "utf-8")
    print(f"client-python: {len(stale)} of {len(texts)} files written")
    return 0


def _files(document: Document) -> dict[str, str]:
    operations = document.operations()
    inputs = models.inputs(document, operations)
    written = [resources.ResourceWriter(document, inputs, is_async=each) for each in (False, True)]
    return {
        "models.py": models.models(document, operations),
        "inputs.py": resources.query_fields(inputs),
        "events.py": kinds.events(document),
        "_error_codes.py": kinds.error_codes(document),
        "_resources.py": written[0].source(operations),
        "_async_resources.py": written[1].source(operations),
    }


def _formatted(texts: dict[str, str]) -> dict[str, str]:
    """Formats the sources with the settings of pyproject.toml."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            Path(folder, name).write_text(text, "utf-8")
        ruff = [sys.executable, "-m", "ruff", "--config", str(HERE / "pyproject.toml")]
        for arguments in (["check", "--select", "F401,I", "--fix", "--quiet"], ["format", "--quiet"]):
            subprocess.run([*ruff[:3], *arguments, *ruff[3:], folder], check=True, timeout=120)
        return {name: Path(folder, name).read_text("utf-8") for name in texts}


def _text(file: Path) -> str | None:
    return file.read_text("utf-8") if file.exists() else None


if __name__ == "__main__":
    sys.exit(main())
