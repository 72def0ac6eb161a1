#!/usr/bin/env python3
"""Start a kernel file from a template or an example: a copy that verifies as it stands.

  python scripts/new_kernel.py my_softmax --from reduction
  python scripts/new_kernel.py work/fused.py --from examples/gemm_bias_gelu.py
  python scripts/new_kernel.py --list

The docstring's paths and commands name the new file; the code is the source's, byte for byte. Edit it at its EDIT
marks. A file that exists is never overwritten. Needs the standard library alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # works from a copied folder, through a link, -P and -I

from kernel_harness import cli, scaffold
from kernel_harness.verdict import ExitCode


def main(argv: list[str] | None = None) -> ExitCode:
    parser = cli.parser(__doc__)
    parser.add_argument("name", nargs="?", metavar="NAME", help="the new file: a name or a path, .py may be left out")
    parser.add_argument("--from", dest="template", metavar="TEMPLATE", help="a name that --list shows, or its path")
    parser.add_argument("--list", action="store_true", help="the templates and examples to start from")
    options = parser.parse_args(argv)
    if options.list and (options.name or options.template):
        raise cli.UsageError("--list creates nothing: leave NAME and --from out, or --list")
    if options.list:
        for name, path in scaffold.sources().items():
            print(f"{name:24} {scaffold.summary(path)}")
        return ExitCode.PASS
    if not options.name or not options.template:
        names = ", ".join(name for name, path in scaffold.sources().items() if path.parent.name == "templates")
        raise cli.UsageError(f"give a NAME and --from TEMPLATE: {names}, or one that --list shows")
    new, source = scaffold.create(options.name, options.template)
    print(f"created={new} from={source.relative_to(scaffold.ROOT)}")
    print(f"next={scaffold.verify_command(new)}")
    return ExitCode.PASS


if __name__ == "__main__":
    raise SystemExit(cli.run(main))
