"""Which CUDA flavour of nvidia-cutlass-dsl fits this machine, and does what is installed fit? (standard library only)

Run as a script it prints the requirements for pip; ``problem()`` says in one sentence what to install instead.
Minimum drivers: CUDA 13 needs 580, CUDA 12 needs 525 (NVIDIA CUDA Toolkit release notes, table "CUDA Toolkit and
Corresponding Driver Versions", minor-version compatibility).
"""

import re
import shutil
import subprocess
import sys
from importlib import metadata

MINIMUM_DRIVER = {13: 580, 12: 525}


def driver_major():
    """The driver's major version, None without a driver."""
    if shutil.which("nvidia-smi") is None:
        return None
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        text = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.match(r"(\d+)", text.strip())
    return int(found.group(1)) if found else None


def wanted(driver):
    """12 or 13: the newest CUDA that the driver runs; 13 without a driver, where kernels are only compiled."""
    return 13 if driver is None or driver >= MINIMUM_DRIVER[13] else 12


def problem(driver=None, torch_cuda=None, installed=None):
    """One sentence that says what to install, None when driver, torch and nvidia-cutlass-dsl fit together.

    driver: major version or None; torch_cuda: "13.0", "" for a CPU build, None when torch is not installed;
    installed: the set of flavours (12, 13) of nvidia-cutlass-dsl that are there.
    """
    if installed is not None and not installed:
        return f'nvidia-cutlass-dsl is not installed: pip install "{requirement(driver)}"'
    if driver is None:
        return None
    if driver < MINIMUM_DRIVER[12]:
        return f"the NVIDIA driver {driver} is too old for CUDA 12: install driver {MINIMUM_DRIVER[12]} or newer"
    major = wanted(driver)
    if installed is not None and major not in installed and 12 not in installed:
        return f'driver {driver} needs the CUDA {major} flavour: pip install "{requirement(driver)}"'
    if torch_cuda == "":
        return (
            "torch is a CPU build and this machine has a GPU: pip install --force-reinstall torch "
            f"--index-url https://download.pytorch.org/whl/cu{'130' if major == 13 else '126'}"
        )
    if torch_cuda and int(torch_cuda.split(".")[0]) > major:
        return (
            f"torch was built for CUDA {torch_cuda}, which driver {driver} does not run: update the driver to "
            f"{MINIMUM_DRIVER[13]} or newer, or pip install --force-reinstall torch "
            "--index-url https://download.pytorch.org/whl/cu126"
        )
    return None


def requirement(driver):
    """What to hand to pip for this driver."""
    return "nvidia-cutlass-dsl[cu13]" if wanted(driver) == 13 else "nvidia-cutlass-dsl"


def installed_flavours():
    """The CUDA majors whose nvidia-cutlass-dsl libraries are installed."""
    found = set()
    for major in MINIMUM_DRIVER:
        try:
            metadata.version(f"nvidia-cutlass-dsl-libs-cu{major}")
            found.add(major)
        except metadata.PackageNotFoundError:
            pass
    return found


def torch_cuda_version():
    """The CUDA that the installed torch was built for; "" for a CPU build, None without torch. Imports nothing."""
    try:
        distribution = metadata.distribution("torch")
    except metadata.PackageNotFoundError:
        return None
    version_file = distribution.locate_file("torch/version.py")
    try:
        with open(version_file) as handle:
            found = re.search(r"^cuda: Optional\[str\] = (?:'([\d.]+)'|None)", handle.read(), re.MULTILINE)
    except OSError:
        return None
    return (found.group(1) or "") if found else None


def requirements():
    """Every requirement of pyproject.toml, with the flavour that fits this machine, one a line for pip."""
    import importlib
    from pathlib import Path

    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "pip._vendor.tomli")
    project = toml.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())
    lines = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    return "\n".join([*lines, requirement(driver_major())])


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        text = problem(driver_major(), torch_cuda_version(), installed_flavours())
        if text:
            sys.exit(f"error: {text}")
    else:
        print(requirements())
