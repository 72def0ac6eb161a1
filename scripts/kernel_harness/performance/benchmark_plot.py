"""Charts of a benchmark: times by case, and the kernels under the measured limits (matplotlib, an optional extra)."""

from __future__ import annotations

from pathlib import Path

KINDS = ("copy", "read", "write")


def write(document: dict, path: Path) -> None:
    """Write both charts to ``path`` (.svg or .png)."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    cases = [case for case in document["cases"] if case["contenders"]]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(6 + max(6, len(cases)), 5), layout="constrained")
    _times(left, cases)
    ceilings = next(iter(document["ceilings"]), None)
    if ceilings and ceilings["flops"] and all(case["contenders"][0]["flops"] for case in cases):
        _roofline(right, cases, ceilings)
    else:
        _bandwidth(right, cases, ceilings)
    gpu = (document.get("environment", {}).get("gpu") or {}).get("name", "the CPU")
    figure.suptitle(f"{Path(document['kernel']['file']).name} on {gpu}")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _times(axes, cases: list[dict]) -> None:
    """A mark at the median, a line from p10 to p90; a logarithmic axis has no zero for a bar to stand on."""
    names = list(dict.fromkeys(entry["name"] for case in cases for entry in case["contenders"]))
    for place, name in enumerate(names):
        rows = [(at + 0.12 * (place - (len(names) - 1) / 2), entry) for at, case in enumerate(cases)
                for entry in case["contenders"] if entry["name"] == name and "median_us" in entry]
        medians = [entry["median_us"] for _, entry in rows]
        reach = [[entry["median_us"] - entry["p10_us"] for _, entry in rows],
                 [entry["p90_us"] - entry["median_us"] for _, entry in rows]]
        axes.errorbar([x for x, _ in rows], medians, yerr=reach, fmt="o", capsize=3, label=name)
    axes.set_yscale("log")
    _plain_numbers(axes.yaxis)
    axes.set_ylabel("device time, us (p10 to p90)")
    _name_cases(axes, cases)
    axes.legend()


def _bandwidth(axes, cases: list[dict], ceilings: dict | None) -> None:
    """Bytes a second by case, with the measured traffic as lines."""
    for at, case in enumerate(cases):
        entry = case["contenders"][0]
        axes.bar(at, entry["bytes_moved"] / entry["median_us"] / 1e3, 0.5, color="tab:blue")
    for kind in KINDS if ceilings else ():
        axes.axhline(ceilings[kind] / 1e9, color="black", linewidth=0.8)
        axes.annotate(f" {kind}", (1, ceilings[kind] / 1e9), xycoords=("axes fraction", "data"), fontsize=8,
                      va="center")
    axes.set_ylabel("GB/s (the lines are measured)" if ceilings else "GB/s")
    _name_cases(axes, cases)


def _roofline(axes, cases: list[dict], ceilings: dict) -> None:
    """Operations a second over operations a byte, under the measured roof."""
    bandwidth, roof = max(ceilings[kind] for kind in KINDS), ceilings["flops"]
    points = [(entry["flops"] / entry["bytes_moved"], entry["flops"] / entry["median_us"] / 1e6, case["name"])
              for case in cases for entry in case["contenders"][:1]]
    low = min(point[0] for point in points) / 4
    high = max(4 * max(point[0] for point in points), 4 * roof / bandwidth)
    grid = sorted([low, roof / bandwidth, high])
    axes.loglog(grid, [min(bandwidth * x, roof) / 1e12 for x in grid], color="black")
    for x, y, name in points:
        axes.plot(x, y, "o")
        axes.annotate(name, (x, y), textcoords="offset points", xytext=(5, -10), fontsize=8)
    _plain_numbers(axes.xaxis)
    _plain_numbers(axes.yaxis)
    axes.set_xlabel("operations a byte")
    axes.set_ylabel("TFLOP/s (the line is measured)")


def _name_cases(axes, cases: list[dict]) -> None:
    axes.set_xticks(range(len(cases)), [case["name"] for case in cases], rotation=30, ha="right")
    axes.set_xlim(-0.6, len(cases) - 0.4)


def _plain_numbers(axis) -> None:
    """1, 2, 5, 10, ... in place of powers of ten; 1, 10, 100 where there is no room for more."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
