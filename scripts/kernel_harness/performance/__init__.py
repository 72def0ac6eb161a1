"""How fast, and why: benchmark_kernel.py, tune_kernel.py, profile_kernel.py.

    timing                   CUPTI and events behind a GPU-side backlog; cupti, cuda_driver, gpu_state
    statistics               medians, paired ratios with their intervals, rotation
    roofline                 ceilings measured in the same run, floor time, percent of the limit
    arena, benchmark         contenders in turn, verified; evidence, burst_evidence: timing cheats
    benchmark_document, benchmark_report, benchmark_plot, run_comparison
    tuning                   a space in interleaved rounds; tuning_journal, checked_configurations (without a GPU)
    profiling, profile_target, profile_report, line_counters
"""
