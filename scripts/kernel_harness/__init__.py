"""The library behind the scripts: layered, imported as a sibling, never installed.

    verdict        exit codes and the order in which they outrank one another
    contract       load a kernel file, its cases and optional names; ContractError
    cli            arguments, formats and the top-level error boundary of every script
    environment    GPU, driver, versions, hashes: stamped into every JSON
    flavour        which CUDA flavour of nvidia-cutlass-dsl fits this machine
    report         one document -> table | plain | json; the only module that imports rich

    worker, child, neutral   processes with a time limit, and without a name; the whole process tree is killed
    bytecode       of installed packages, kept where Python keeps none
    values         tensors and scalars to files and back, byte for byte                              torch
    oracle         role: get_inputs and reference_fn only                                            torch
    candidate      role: kernel_fn only; with outputs, poison, fingerprint, census, tracing          torch
    integrity, audit     what a kernel file leaves changed, and where it looks
    variations     inputs that no kernel file has seen; with signs, nonfinite, ties, integers           torch
    interpreter    Triton kernels on CPU tensors
    seeding        one draw of get_inputs, other than the last also where the file fixes its seed    torch
    rare_draws     draws of get_inputs whose integers and masks are unlike those of others           torch
    flushed        fp8 subnormals that became zero, which compare does not see                       torch
    compare        acceptance rule, null kernels, where and how a result is wrong                    torch
    contraction    inputs and products that an element of a result may be made of
    verification, trials, judgement, structure, findings    the judge; it never imports the kernel file
    simulation     kernel files on machines without a GPU, through the simulator; shrinking, shrunk_trials
    second_look    the same beside a GPU, for what that forgives
    verify_command verify_kernel.py behind its arguments

    capture        any file compiled without a GPU; capture_child, compile_errors, stand_in, listen_*, import_hook,
                   cuda_source, cuda_extension (with cuda_host/ in C++), cubin, ptx, sass
    inspection     instruction facts, EXPECT, occupancy; kernel_facts, expect, occupancy, devices

    timing         CUPTI and events behind a GPU-side backlog; cupti, cuda_driver, gpu_state
    statistics     medians, paired ratios with their intervals, rotation
    roofline       ceilings measured in the same run, floor time, percent of the limit
    benchmark      contenders in turn, verified; arena, contender, input_sets, referee, evidence, burst_evidence,
                   benchmark_document, benchmark_report, benchmark_plot, run_comparison
    tuning, tuning_journal, profiling, profile_report, profile_target

    api_index, api_source    the installed wheel's names; api_changes.yaml, api_since.json
    doc_fences     runs the fences of references/; nvidia_examples.yaml is find_example.py's data
    scaffold, package        new_kernel.py; the archive
    simulator      runs PTX on the CPU                                                                numpy

Nothing imports torch, cutlass or rich at module level unless it runs in a worker or is marked here, so that `--help`, a
wrong path and a contract error need the standard library alone. tests/test_layering.py holds the layering.
"""
