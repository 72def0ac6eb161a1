"""Call the exported GELU from a process that has neither its source nor compiles anything: python load.py FOLDER.

Needs the runtime libraries of nvidia-cutlass-dsl and apache-tvm-ffi. Exit code 0: right on this GPU, 1: wrong,
6: loaded here, but there is no GPU to run it on.
"""

import sys
from pathlib import Path

import torch
from cutlass.cute.runtime import load_module


def main(folder):
    gelu = load_module(str(Path(folder, "gelu.o")), enable_tvm_ffi=True)["gelu"]
    x = torch.randn(1000, dtype=torch.bfloat16)
    if not torch.cuda.is_available():
        try:
            gelu(x, torch.empty_like(x))
        except (ValueError, TypeError) as error:  # what the object checks before it touches a GPU
            print(f"loaded; a CPU tensor is refused: {error}")
        print("no GPU here: nothing was launched")
        return 6
    x = x.cuda()
    out = torch.empty_like(x)
    gelu(x, out)
    torch.testing.assert_close(out, torch.nn.functional.gelu(x, approximate="tanh"))
    print("PASS")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
