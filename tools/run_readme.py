"""Run every Python example of a Markdown file, each in a fresh interpreter and an empty folder.

Usage: python tools/run_readme.py README.md

The interpreter is the one that runs this script, so the environment under test decides what
``import gradone`` finds.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main(markdown: Path) -> int:
    """Run the examples; return the number that failed, and count finding none as a failure."""
    text = markdown.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    if not blocks:
        print(f"{markdown.name} has no Python example")
        return 1
    failures = 0
    for block in blocks:
        line = text.count("\n", 0, block.start()) + 1
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "example.py"
            script.write_text(block[1], encoding="utf-8")
            run = subprocess.run([sys.executable, script.name], cwd=folder, check=False)
        failures += run.returncode != 0
        print(f"{markdown.name}:{line}: {'failed' if run.returncode else 'ok'}", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
