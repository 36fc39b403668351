"""Refresh the third-party files kept in the package, so that pages work without a network.

KaTeX typesets the formulas of reports and docs. Only what a page loads is kept: the minified
scripts, the style sheet with its woff2 fonts (every browser of today reads them), the licence.
``MANIFEST.json`` records versions and checksums; a test compares it with the files.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ASSETS = Path(__file__).parents[1] / "src" / "gradone" / "charts" / "assets"
KATEX_VERSION = "0.19.1"
KATEX_FILES = re.compile(
    r"package/(LICENSE|dist/(katex\.min\.(js|css)|contrib/auto-render\.min\.js|fonts/.*\.woff2))"
)
OLDER_FONTS = re.compile(r',url\([^)]*\.(?:woff|ttf)\) format\("(?:woff|truetype)"\)')


def main() -> None:
    """Fetch KaTeX, keep what is used, write the manifest."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("make vendor needs npm, which was not found. On Debian: apt install npm")
    folder = ASSETS / "katex"
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        command = [npm, "pack", "--silent", f"katex@{KATEX_VERSION}"]
        subprocess.run(command, cwd=temporary, check=True)
        with tarfile.open(Path(temporary) / f"katex-{KATEX_VERSION}.tgz") as archive:
            for member in archive.getmembers():
                if KATEX_FILES.fullmatch(member.name):
                    content = archive.extractfile(member)
                    write(folder / kept_path(member.name), content.read() if content else b"")
    style = folder / "katex.min.css"
    style.write_text(OLDER_FONTS.sub("", style.read_text()))

    files = sorted(path for path in folder.rglob("*") if path.is_file())
    checksums = {
        path.relative_to(ASSETS).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    manifest = {"katex": {"version": KATEX_VERSION, "license": "MIT", "sha256": checksums}}
    (ASSETS / "MANIFEST.json").write_text(json.dumps(manifest, indent=2) + "\n")
    print(f"KaTeX {KATEX_VERSION}: {len(files)} files in {folder}")


def kept_path(member: str) -> Path:
    """Place of an archive member below the folder of its library."""
    path = Path(member)
    return Path("fonts", path.name) if path.suffix == ".woff2" else Path(path.name)


def write(path: Path, content: bytes) -> None:
    """Write a file and the folders that lead to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    main()
