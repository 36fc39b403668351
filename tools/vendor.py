"""Refresh the third-party files kept in the package, so that pages work without a network.

KaTeX typesets the formulas of reports and docs, plotly.js draws interactive charts. Only what a
page loads is kept: minified scripts, the style sheet with its woff2 fonts (every browser of today
reads them), the licences. ``MANIFEST.json`` records versions and checksums; a test compares it
with the files.
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
# Folder -> package, version, and the files of the package that are kept.
LIBRARIES = {
    "katex": (
        "katex",
        "0.19.1",
        re.compile(
            r"package/(LICENSE"
            r"|dist/(katex\.min\.(js|css)|contrib/auto-render\.min\.js|fonts/.*\.woff2))"
        ),
    ),
    # The cartesian build: lines, bars and heat maps in a third of the size of the full one.
    "plotly": (
        "plotly.js-cartesian-dist-min",
        "4.1.1",
        re.compile(r"package/(LICENSE|plotly-cartesian\.min\.js)"),
    ),
}
OLDER_FONTS = re.compile(r',url\([^)]*\.(?:woff|ttf)\) format\("(?:woff|truetype)"\)')


def main() -> None:
    """Fetch the libraries, keep what is used, write the manifest."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("make vendor needs npm, which was not found. On Debian: apt install npm")
    manifest = {}
    for name, (package, version, kept) in LIBRARIES.items():
        folder = ASSETS / name
        fetch(npm, package, version, kept, folder)
        if name == "katex":
            style = folder / "katex.min.css"
            style.write_text(OLDER_FONTS.sub("", style.read_text()))
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        checksums = {
            path.relative_to(ASSETS).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
        }
        manifest[name] = {"version": version, "license": "MIT", "sha256": checksums}
        print(f"{package} {version}: {len(files)} files in {folder}")
    (ASSETS / "MANIFEST.json").write_text(json.dumps(manifest, indent=2) + "\n")


def fetch(npm: str, package: str, version: str, kept: re.Pattern[str], folder: Path) -> None:
    """Put the files of a package that are kept into its folder, and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        command = [npm, "pack", "--silent", f"{package}@{version}"]
        subprocess.run(command, cwd=temporary, check=True)
        with tarfile.open(Path(temporary) / f"{package}-{version}.tgz") as archive:
            for member in archive.getmembers():
                if kept.fullmatch(member.name):
                    content = archive.extractfile(member)
                    write(folder / kept_path(member.name), content.read() if content else b"")


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
