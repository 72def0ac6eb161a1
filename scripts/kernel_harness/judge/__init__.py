"""The verdict. Nothing here imports the kernel file.

    verify_command           verify_kernel.py behind its arguments
    verification             one file: startup, workers, cases, lanes (cases side by side), closing
    case_choice              which case meets every trial
    trials                   of one case; value_trials, hostile_trials, nonfinite_trials, gradient_trials,
                             rule_breaker, rule_breakers, integer_breakers, simulated_trials, device_trials,
                             call_trials, derived_trials, shrunk_trials, vast_trials
    judgement, file_checks   one result, and what is asked once a file; answers: is what was asked a trial?
    findings, outcome, told  what was found, in order of rank, and how it is told
    second_look, sanitize    beside a GPU: the simulator; compute-sanitizer
    unjudged_code            without one: what large cases launch and no simulated one does
"""
