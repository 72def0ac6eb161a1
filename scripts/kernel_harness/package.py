"""Pack the skill for installation: package.py FILE.zip (standard library only).

The archive holds one folder, cute-dsl-kernels/, with what a user needs: no tests, results, CI or development files, and
no link to one. It is the same, byte for byte, for the same files.
"""

import argparse
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "cute-dsl-kernels"
FILES = ("SKILL.md", "README.md", "CHANGELOG.md", "LICENSE", "SECURITY.md", "Makefile", "pyproject.toml")
FOLDERS = (".claude-plugin", ".cursor-plugin", "agents", "scripts", "templates", "examples", "references")
LINK_OUT = re.compile(rb"\[([^\]]+)\]\((?:\.\./)*(?:results|tests|evals)/[^)]*\)")
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first date that a zip archive can hold


def contents(root: Path = ROOT) -> list[Path]:
    """The files of the archive relative to ``root``: in a checkout what git tracks or would add, else all."""
    git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", *FILES, *FOLDERS]
    is_checkout = (root / ".git").exists() and shutil.which("git")
    listed = subprocess.run(git, capture_output=True, text=True) if is_checkout else None
    if listed is not None and listed.returncode == 0:
        found = [Path(name) for name in listed.stdout.split("\0") if name]
    else:
        walked = [path for folder in FOLDERS for path in (root / folder).rglob("*")]
        found = [path.relative_to(root) for path in (*walked, *(root / name for name in FILES))]
    wanted = sorted(path for path in found if (root / path).is_file() and "__pycache__" not in path.parts)
    links = [str(path) for path in wanted if (root / path).is_symlink()]
    if links:
        raise SystemExit(f"error: {', '.join(links)}: installers do not follow symbolic links; put the file there")
    return wanted


def build(archive: Path, root: Path = ROOT) -> list[Path]:
    """Write the archive; its files, relative to the skill's folder."""
    paths = contents(root)
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in paths:
            entry = zipfile.ZipInfo(f"{NAME}/{path.as_posix()}", EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            executable = (root / path).stat().st_mode & 0o100
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            content = (root / path).read_bytes()
            file.writestr(entry, LINK_OUT.sub(rb"\1", content) if path.suffix == ".md" else content)
    return paths


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, metavar="FILE.zip")
    archive = parser.parse_args().archive
    if archive.suffix != ".zip":
        parser.error(f"{archive} does not end in .zip")
    paths = build(archive)
    print(f"{archive}: {len(paths)} files, {archive.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
