"""Runs every corpus kernel on this machine's GPU and in the simulator, and compares; then whole programs.

    python tests/kernel_harness/simulator/programs.py simulated FOLDER      # anywhere: inputs and simulated outputs
    python tests/kernel_harness/simulator/compare_with_gpu.py FOLDER -o results/<name>.json     # on the GPU

Bitwise, except where the PTX ISA documents an error bound (approximations). Programs that use approximations or
floating-point matrix products of ordinary data differ in the last bits: programs.RULE bounds by how much.
"""

import argparse
import ctypes
import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(HERE)]


class Gpu:
    """The few driver calls that launching a PTX kernel takes."""

    def __init__(self):
        from cuda.bindings import driver

        self.driver = driver
        self.call(driver.cuInit(0))
        self.call(driver.cuCtxSetCurrent(self.call(driver.cuDevicePrimaryCtxRetain(self.call(driver.cuDeviceGet(0))))))

    @staticmethod
    def call(result):
        error, *values = result
        if int(error):
            raise RuntimeError(str(error))
        return values[0] if values else None

    def run(self, case):
        """The case's buffers after the launch."""
        import lane_corpus

        driver, call = self.driver, self.call
        module = call(driver.cuModuleLoadData(case.ptx.encode() + b"\0"))
        function = call(driver.cuModuleGetFunction(module, b"test"))
        arrays = [np.ascontiguousarray(array).copy() for array in case.buffers]
        addresses = []
        for array in arrays:
            addresses.append(int(call(driver.cuMemAlloc(max(array.nbytes, 16)))))
            call(driver.cuMemcpyHtoD(addresses[-1], array.ctypes.data, array.nbytes))
        aligned = [_aligned(value) for value in lane_corpus.bind_params(case, addresses)]
        pointers = (ctypes.c_void_p * len(aligned))(*(address for address, _ in aligned))
        if case.shared > 48 * 1024:
            call(
                driver.cuFuncSetAttribute(
                    function, driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, case.shared
                )
            )
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = case.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = case.block
        config.sharedMemBytes = case.shared
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z = case.cluster
        config.attrs, config.numAttrs = [attribute], 1
        call(driver.cuLaunchKernelEx(config, function, ctypes.addressof(pointers), 0))
        call(driver.cuCtxSynchronize())
        for array, address in zip(arrays, addresses, strict=True):
            call(driver.cuMemcpyDtoH(array.ctypes.data, address, array.nbytes))
            call(driver.cuMemFree(address))
        call(driver.cuModuleUnload(module))
        return arrays


def _aligned(value):
    """Tensor maps must lie at multiples of 64: (address, what keeps it alive)."""
    holder = ctypes.create_string_buffer(len(value) + 64)
    address = -(-ctypes.addressof(holder) // 64) * 64
    ctypes.memmove(address, value, len(value))
    return address, holder


def all_cases():
    import group_corpus
    import lane_corpus

    return lane_corpus.lane_cases() + group_corpus.group_cases() + group_corpus.unelected_cases()


def compare_corpus(first):
    """Prints a JSON row per case from case `first` on; ends when an error has cost the CUDA context."""
    import lane_corpus

    gpu = Gpu()
    for case in all_cases()[first:]:
        row = {"case": case.name, "rule": "bitwise" if not case.tolerance else f"within {case.tolerance}"}
        lost = False
        try:
            simulated, report = lane_corpus.run_simulated(case)
            real = gpu.run(case)
            masks = [lane_corpus.wrong(case, a, b) for a, b in zip(simulated, real, strict=True)]
            row["different"] = sum(int(mask.sum()) for mask in masks)
            row["elements"] = sum(int(array.size) for array in real)
            row["findings"] = len(report.findings)
            row["gpu_sha256"] = lane_corpus.digest(real)
            bits = [
                [x.reshape(-1).view(f"u{x.dtype.itemsize}") for x in pair] for pair in zip(simulated, real, strict=True)
            ]
            row["different_bits"] = sum(int((a != b).sum()) for a, b in bits)
            row |= example(case, masks, bits)
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"[:300]
            lost = "CUDA_ERROR" in str(error) and "PTX" not in str(error)
        print(json.dumps(row), flush=True)
        if lost:
            return


def example(case, masks, bits):
    """The first element beyond tolerance: inputs and both results, as bits."""
    for position, (mask, (simulated, real)) in enumerate(zip(masks, bits, strict=True)):
        for index in np.flatnonzero(mask)[:1].tolist():
            inputs = [
                hex(int(x.reshape(-1).view(f"u{x.dtype.itemsize}")[index])) for x in case.buffers[1:] if x.size > index
            ]
            found = {
                "buffer": position,
                "index": index,
                "simulated": hex(int(simulated[index])),
                "gpu": hex(int(real[index])),
            }
            return {"example": found | {"inputs": inputs}}
    return {}


def in_processes():
    """Rows of all cases; a new process continues after each lost context."""
    rows, total = [], len(all_cases())
    while len(rows) < total:
        command = [sys.executable, __file__, "--first", str(len(rows))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        new = [json.loads(line) for line in done.stdout.splitlines()]
        if not new:
            raise RuntimeError(done.stderr[-1000:])
        rows += new
    return rows


def environment():
    import cutlass
    import torch

    return {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "nvidia_cutlass_dsl": cutlass.__version__,
        "numpy": np.__version__,
        "driver_cuda": torch.version.cuda,
        "date": time.strftime("%Y-%m-%d"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="what programs.py simulated wrote")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first is not None:
        compare_corpus(options.first)
        return
    import programs

    files = sorted((ROOT / "scripts/kernel_harness/simulator").glob("*.py"))
    files += [HERE / name for name in ("lane_corpus.py", "group_corpus.py", "dsl_kernels.py")]
    files += sorted({ROOT / path for path, _ in programs.FILES.values()})
    started = time.time()
    rows = in_processes()
    print(f"corpus: {len(rows)} kernels in {time.time() - started:.0f} s")
    for row in rows:
        if row.get("different") or "error" in row:  # beyond the case's tolerance
            print(json.dumps(row))
    result = {
        "schema": 1, "topic": "simulator", "environment": environment(),
        "files": {str(f.relative_to(ROOT)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files},
        "method": "outputs of the PTX simulator against the GPU's, bit by bit", "cases": rows,
    }  # fmt: skip
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    rows += programs.compare(options.folder, programs.names())
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    for row in rows[-len(programs.names()) :]:
        print(json.dumps(row))
    print(f"all done in {time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
