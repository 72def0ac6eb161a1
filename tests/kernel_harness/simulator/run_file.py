"""run_file.py KERNEL.py CASE_JSON [SMS [ARCH]]: one case of a kernel file in the simulator, on a GPU of that many SMs,
against its reference; prints JSON. Of the case, "config" goes to kernel_fn; "in_place" is the input that is its out;
"names" of the module get other values."""

import importlib.util
import json
import sys
from pathlib import Path

from kernel_harness import simulation
from kernel_harness.simulator import driver, host

driver.prepare(sys.argv[4] if len(sys.argv) > 4 else "sm_90a")

import torch  # noqa: E402


def frozen(value):
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def main(path, case, sms=None):
    case = json.loads(case)
    in_place, names = case.pop("in_place", None), case.pop("names", {})
    options = {"config": frozen(case.pop("config"))} if "config" in case else {}
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    if sms:
        host.DEVICE_ATTRIBUTES[16] = int(sms)  # cudaDevAttrMultiProcessorCount
    with driver.SimulatedDevice(registers_of=simulation._registers) as device:
        spec.loader.exec_module(module)
        vars(module).update(names)
        torch.manual_seed(0)
        inputs = module.get_inputs(**case)
        expected = module.reference_fn(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
        options |= {} if in_place is None else {"out": inputs[in_place]}
        outputs = module.kernel_fn(*inputs, **options)
    pairs = [
        (o.double().nan_to_num(neginf=0), e.double().nan_to_num(neginf=0))
        for o, e in zip(*([x] if isinstance(x, torch.Tensor) else list(x) for x in (outputs, expected)), strict=True)
    ]
    row = {"errors": [float((o - e).abs().max()) for o, e in pairs], "scales": [float(e.abs().max()) for _, e in pairs]}
    print(json.dumps(row | {"launches": len(device.launches), "findings": [str(f) for f in device.findings]}))


if __name__ == "__main__":
    main(*sys.argv[1:4])
