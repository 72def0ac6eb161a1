"""The library behind the scripts: layered, imported as a sibling, never installed.

    verdict        exit codes and the order in which they outrank one another
    contract       load a kernel file, its cases and optional names; ContractError
    cli            arguments, formats and the top-level error boundary of every script
    environment    GPU, driver, versions, hashes: stamped into every JSON
    flavour        which CUDA flavour of nvidia-cutlass-dsl fits this machine
    devices        what GPUs have of each resource, with sources
    values         tensors and scalars to files and back, byte for byte; outputs: the tensors of a result      torch
    report         one document -> table | plain | json; the only module that imports rich
    scaffold, package    new_kernel.py; the archive

    api            what is known of nvidia-cutlass-dsl: names, changes, messages, pages
    processes      workers with a time limit, and without a name
    compiled       a file compiled without a GPU, and the facts in what came out
    simulator      PTX on the CPU; simulation.py runs kernel files in it                                        numpy
    inputs         inputs that no kernel file has seen                                                          torch
    comparison     is a result right, and where is it wrong?                                                    torch
    performance    benchmark, tune, profile
    observation    what a call of kernel_fn did, from inside its process
    roles          what a worker process runs: oracle, candidate, contender, referee, capture_child             torch
    judge          the verdict; it never imports the kernel file

Each folder's ``__init__.py`` names its modules. A folder imports those above it and these modules,
of which contract knows api (tests/test_layering.py has the list).
Nothing imports torch, cutlass or rich at module level unless it runs in a worker or is marked here, so that `--help`, a
wrong path and a contract error need the standard library alone.
"""
