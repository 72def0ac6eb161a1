"""Say why a kernel is as fast as it is: Nsight Compute's metrics, a diagnosis with its evidence, the page to read.

  python scripts/profile_kernel.py KERNEL.py --case n=2^24
  python scripts/profile_kernel.py KERNEL.py --compare OTHER.py    both kernels, metric by metric
  python scripts/profile_kernel.py KERNEL.py --compare reference   against reference_fn

Without ncu it says how to get it and reports what CUPTI sees, every launch with its time, grid, registers and shared
memory, what the compiled code tells (inspect_kernel.py), and what each source line moves in a simulated call: bytes,
sectors, bank conflicts; without a GPU the last two alone. For a timeline, the same program runs under nsys with NVTX
ranges around the case and each call.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # works from a copied folder, under -P and -I

from kernel_harness import cli
from kernel_harness.verdict import ExitCode


def main(argv: list[str] | None = None) -> ExitCode:
    parser = cli.parser(__doc__)
    parser.add_argument("kernel", type=Path, metavar="KERNEL.py", help="the kernel file")
    parser.add_argument("--case", metavar="NAME", help="one of BENCH_CASES or TEST_CASES (the first)")
    parser.add_argument("--compare", metavar="OTHER.py",
                        help="another kernel file, on the inputs of KERNEL.py, or reference for reference_fn")
    parser.add_argument("--ncu", metavar="PATH", help="the ncu to use (the one on the PATH)")
    parser.add_argument("--timeout", type=cli.positive(float), default=300.0, metavar="S",
                        help="seconds for each profiled process (300)")
    cli.add_output(parser)
    options = parser.parse_args(argv)
    cli.check_output(options.output)
    from kernel_harness.contract import read_source
    from kernel_harness.performance import profile_report

    for file in (options.kernel, *([Path(options.compare)] if options.compare not in (None, "reference") else [])):
        read_source(file)
    cli.require("torch")
    return profile_report.run(options)


if __name__ == "__main__":
    raise SystemExit(cli.run(main))
