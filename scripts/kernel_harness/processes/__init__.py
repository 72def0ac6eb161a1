"""Processes with a time limit, whose whole tree is killed, and without a name (standard library only).

    worker         the judge's side: start, ask, read answers that cannot be forged
    child          the entry point of every worker
    nursery        imports once what every worker needs, and forks them
    neutral        makes a worker look like any Python process
    freed_memory   stays with the judge and the oracle
    bytecode       of installed packages, kept where Python keeps none
"""
