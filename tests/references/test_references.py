"""Every page does what it says: blocks run, outputs match, names resolve, paths exist, numbers have a source.

The pages are held against the nvidia-cutlass-dsl that is installed: `make references` for the pinned release,
`make references-latest` for the newest.
"""

import collections
import contextlib
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from kernel_harness.api import doc_fences  # noqa: E402

pytestmark = pytest.mark.compile

REFERENCES = sorted((ROOT / "references").glob("*.md"))
PAGES = REFERENCES + [page for page in (ROOT / "SKILL.md", ROOT / "README.md") if page.exists()]
MAX_LINES = 250
by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)

# Between these comments stand names that the page says are gone, or operations of the compiler's IR.
NO_API = re.compile(r"<!-- (removed|mlir) -->.*?<!-- end \1 -->", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
MEASURED = re.compile(r"(?<![\w.])\d[\d,.]*\s?(?:us|µs|ms|GB/s|TB/s|TFLOP/s|TFLOPS)(?!\w)")


def examples(page: Path) -> list[doc_fences.Example]:
    """The examples of a page; README.md may show a command's output, which the other checks do not run."""
    return doc_fences.examples(page, loose_text=page not in REFERENCES)


@functools.cache
def outcomes(page: Path) -> dict[str, doc_fences.Outcome]:
    """Run all python blocks of a page."""
    return doc_fences.run([example.code for example in examples(page) if example.code.mode != "kernel"])


@functools.cache
def help_text(script: Path) -> str:
    done = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{script} --help failed:\n{done.stderr}"
    return done.stdout


def _examples():
    found = []
    for page in PAGES:
        with contextlib.suppress(ValueError):  # test_fences_are_tagged reports it
            found += examples(page)
    return found


@pytest.mark.parametrize("example", _examples(), ids=lambda example: example.code.name)
def test_python_block_does_what_its_tag_says(example, tmp_path):
    """Run the block; compare its output with the text block that follows it."""
    if example.code.mode == "kernel":
        return _check_kernel_file(example.code, tmp_path)
    outcome = outcomes(example.code.page)[example.code.name]

    if example.code.mode == "fails":
        assert outcome.status > 0, f"{example.code.name} was to raise and did not:\n{outcome.stdout}"
        assert example.output, f"{example.code.name}: a block that fails needs the text it fails with"
        printed = " ".join((outcome.stdout + outcome.stderr).split())
        assert " ".join(example.output.body.split()) in printed, outcome.stderr
    else:
        assert outcome.status == 0, f"{example.code.name}:\n{outcome.stdout}{outcome.stderr}"
        if example.output:
            assert example.output.body.rstrip() == outcome.stdout.rstrip()


def _check_kernel_file(fence, folder):
    path = folder / f"{fence.name}.py"
    path.write_text("\n" * (fence.line - 1) + fence.body, encoding="utf-8")
    command = [sys.executable, ROOT / "scripts" / "verify_kernel.py", path, "--compile-only", "--arch", fence.arch]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{fence.name}:\n{done.stdout}{done.stderr}"


@by_page
def test_fences_are_tagged(page):
    """No block escapes the checks."""
    doc_fences.parse(page)
    examples(page)


@by_page
def test_console_commands_exist(page):
    """Scripts, paths and flags on `$ ` lines are real."""
    fences = [fence for fence in doc_fences.parse(page) if fence.language == "console"]

    assert [text for fence in fences for text in doc_fences.console_problems(fence, ROOT, help_text)] == []


@by_page
def test_api_names_resolve_in_the_installed_wheel(page):
    """Each dotted name of the page, in prose and in code, exists, unless the page says that it is gone."""
    text = NO_API.sub("", page.read_text(encoding="utf-8"))
    text = "\n".join(line for line in text.splitlines() if "lookup_api.py" not in line)  # asks after old names
    for fence in doc_fences.parse(page):
        if fence.mode == "fails" or fence.language == "text":
            text = text.replace(fence.body, "")

    assert sorted({name for name in doc_fences.DOTTED.findall(text) if not doc_fences.resolves(name)}) == []


@by_page
def test_paths_and_links_exist(page):
    """Each path of this repository that the page names is there; so is each page that it links."""
    text = page.read_text(encoding="utf-8")
    paths = {path for path in doc_fences.OWN_PATH.findall(text) if not path.startswith("examples/python/CuTeDSL")}
    links = {link for link in LINK.findall(text) if "://" not in link}

    assert sorted(path for path in paths if not list(ROOT.glob(path))) == []
    assert sorted(link for link in links if not (page.parent / link).exists()) == []


@by_page
def test_measured_numbers_name_their_source(page):
    """A paragraph or table with a time or a rate names the results/ file or the source that it came from."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    sections = re.split(r"\n(?=#)", text)
    bare = [s.strip()[:80] for s in sections if MEASURED.search(s) and "results/" not in s and "Source:" not in s]

    assert bare == []


@pytest.mark.parametrize("page", REFERENCES, ids=lambda page: page.name)
def test_page_is_short(page):
    """A reader can take in a page whole."""
    assert len(page.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_headings_are_unique_across_pages():
    """A search for a heading leads to one place."""
    seen = collections.Counter()
    for page in REFERENCES:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        seen.update(line.lstrip("# ").strip() for line in text.splitlines() if line.startswith("#"))

    assert [heading for heading, count in seen.items() if count > 1] == []


def test_pages_are_there():
    """The checks above are about something."""
    assert len(REFERENCES) >= 15


PATTERN_FIELDS = ("When", "Mechanism", "Metrics", "Code", "Evidence", "Pitfalls", "Interactions")
PATTERN_PAGES = ("patterns-memory.md", "patterns-compute.md", "anti-patterns.md")


def test_patterns_have_every_field_and_stand_in_the_index():
    """A pattern without evidence or pitfalls is an opinion; one that is not in the index is not found."""
    index = (ROOT / "references" / "patterns.md").read_text(encoding="utf-8")
    lacking = []
    for name in PATTERN_PAGES:
        text = (ROOT / "references" / name).read_text(encoding="utf-8")
        for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
            heading = section.splitlines()[0]
            lacking += [f"{heading}: {field}" for field in PATTERN_FIELDS if f"\n**{field}** " not in f"\n{section}"
                        and f"\n**{field}**\n" not in section]  # fmt: skip
            lacking += [f"{heading}: not in the index"] if heading not in index else []

    assert lacking == []
