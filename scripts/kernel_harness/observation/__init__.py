"""What a call of kernel_fn did, seen from inside its process.

    audit                    where the file's code looks, by CPython's audit events
    integrity, watched       what it leaves changed: functions (watched: which), flags, modes, files
    surroundings             what it wrote to free memory behind its results
    census, graph_nodes      the kernels that it launched, and those of a CUDA graph
    tracing                  which code ran: the author's, a library's, native extensions
    slots, poison            inputs at addresses of the judge's choice; bytes in memory that is allocated next
    in_turn                  calls in a row in the same memory
    fingerprint, witness     outputs in stream order, and again later
    own_inputs, reference_guard  kernel_fn on get_inputs' own tensors; reference_fn must not be called
    interpreter              Triton kernels on CPU tensors
    failures                 an exception as the judge reads it
"""
