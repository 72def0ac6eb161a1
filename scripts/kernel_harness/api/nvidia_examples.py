"""The index of NVIDIA's CuTe DSL examples (nvidia_examples.yaml): filter it, and compare it with a checkout."""

import functools
import subprocess
from collections.abc import Sequence
from pathlib import Path

SUFFIXES = (".py", ".ipynb")
# Support files, and folders that the index names as a whole.
_NOT_LISTED = ("helpers/", "utils/", "experimental/")


@functools.cache
def load() -> dict:
    """{"base", "commit", "examples": [{path, ops, archs, learn, old}], "learning_paths": {name: {title, steps}}}."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"), Loader=loader)


def find(words: Sequence[str] = (), op: str | None = None, arch: str | None = None) -> list[dict]:
    """Examples that match all that is given; those written for `arch` first, then what runs there as well."""
    found = [example for example in load()["examples"] if _matches(example, words, op, arch)]
    return sorted(found, key=lambda example: bool(arch) and arch not in example["archs"])


def _matches(example: dict, words: Sequence[str], op: str | None, arch: str | None) -> bool:
    texts = [example["path"], example["learn"], *example["ops"], *example.get("old", ())]
    chip = (arch or "").rstrip("af")
    runs = {name.rstrip("af") for name in example["archs"]} & {chip, "any", "sm_80"}  # sm_80 code runs on later GPUs
    return (
        (not op or op in example["ops"])
        and (not arch or bool(runs))
        and all(any(word.lower() in text.lower() for text in texts) for word in words)
    )


def operations() -> list[str]:
    """All operations and topics that examples are filed under."""
    return sorted({op for example in load()["examples"] for op in example["ops"]})


def archs() -> list[str]:
    """All architectures that examples are written for."""
    found = {arch for example in load()["examples"] for arch in example["archs"]} - {"any"}
    return sorted(found, key=lambda arch: (len(arch), arch))


def url(path: str) -> str:
    """Where to read an indexed example, at the commit that the index describes."""
    index, kind = load(), "blob" if Path(path).suffix else "tree"
    return f"https://github.com/NVIDIA/cutlass/{kind}/{index['commit']}/{index['base']}/{path}"


def differences(checkout: Path) -> list[tuple[str, str]]:
    """(path, problem) for all that the index and a checkout or bare clone do not share; ValueError if it is neither."""
    index = load()
    there = _files(checkout, index["base"])
    known = {example["path"] for example in index["examples"]}
    steps = {step["path"] for path in index["learning_paths"].values() for step in path["steps"]}
    folders = {str(parent) for path in there for parent in Path(path).parents}
    unlisted = {path for path in there - known if path.endswith(SUFFIXES) and not path.startswith(_NOT_LISTED)}
    return [(path, "in the index, not in the checkout") for path in sorted((known | steps) - there - folders)] + [
        (path, "in the checkout, not in the index") for path in sorted(unlisted)
    ]


def _files(root: Path, base: str) -> set[str]:
    command = ["git", "-C", str(root), "ls-tree", "-r", "--name-only", "HEAD", base + "/"]
    try:
        if (root / base).is_dir():
            return {str(path.relative_to(root / base)) for path in (root / base).rglob("*") if path.is_file()}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:  # no git, for one
        raise ValueError(f"{root} cannot be read: {error}") from None
    if done.returncode or not done.stdout:
        raise ValueError(f"{root} is neither a checkout nor a clone of NVIDIA/cutlass (it has no {base})")
    return {line[len(base) + 1 :] for line in done.stdout.splitlines()}
