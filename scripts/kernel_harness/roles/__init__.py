"""What a worker process runs: one module a role, its HANDLERS are what can be asked of it.

    oracle          get_inputs and reference_fn, for the judge                                     torch
    candidate       kernel_fn, watched (observation)                                               torch
    contender       kernel_fn, timed                                                               torch
    referee         the ceilings of the machine, and the comparison of timed results               torch
    capture_child   kernel_fn on a GPU that is not there: what it compiles and launches
"""
