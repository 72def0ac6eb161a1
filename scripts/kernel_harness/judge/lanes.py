"""Cases side by side. A trial is mostly waiting, for one process or the other: on a GPU with cores to spare further
judges, each with an oracle and a candidate of its own, take cases of a file while the first makes every trial of one.

One of them begins with a plain call of each case, in their order and in one process: what a kernel keeps of one case
and takes for another shows there, as it does where a single judge has them all.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from .outcome import Outcome, Stop

SIDES = 3  # with the first judge and the spare candidate: ten processes that import at once
MEMORY_BYTES = 48 * 2**30  # of the GPU that must be free: each judge holds a case


class Lanes:
    """``sides``, judges whose workers import the file already, beside the ``first`` one."""

    def __init__(self, first, sides: Sequence):
        self.first, self.sides = first, sides
        self.jobs: deque[Callable] = deque()
        self.put_off: list[Callable] = []  # too large to be held beside others
        self.problems: list[BaseException] = []
        self.threads: list[threading.Thread] = []
        self.cases: Sequence[str] = ()
        self.is_joined = False

    def start(self, cases: Sequence[str], jobs: Sequence[Callable]) -> None:
        """Let the sides work through ``jobs`` (each takes a judge), where the GPU has room for it."""
        import torch

        self.cases = cases
        self.jobs.extend(jobs)
        has_room = torch.cuda.is_available() and torch.cuda.mem_get_info()[0] >= MEMORY_BYTES
        needed = min(len(jobs), len(self.sides)) if has_room else 0
        for side in self.sides[needed:]:
            side.close()
        for index, side in enumerate(self.sides[:needed]):
            self.threads.append(threading.Thread(target=self._run, args=(side, index == 0), daemon=True))
            self.threads[-1].start()

    def finish(self) -> None:
        """Help with what is left, wait for the others and take in what they found. Raises what ended one of them."""
        self._work_off(self.first)
        for thread in self.threads:
            thread.join()
        if self.problems:
            raise self.problems[0]
        self._join([side.outcome for side in self.sides])
        for job in self.put_off:
            job(self.first)

    def abandon(self) -> None:
        """End what still runs; what was found until now counts."""
        self.jobs.clear()
        self._join([side.outcome.copy() for side in self.sides])  # before its end shows as one of the kernel's
        self.first.knows_refused.set()
        while any(thread.is_alive() for thread in self.threads):
            for side in self.sides:
                side.kill()
            for thread in self.threads:
                thread.join(0.2)
        self._close()

    def _run(self, side, calls_each: bool) -> None:
        try:
            side.load()
            side.planned = self.first.planned
            if calls_each:
                self._call_each(side)
            self.first.knows_refused.wait()
            side.refused = self.first.refused
            side.put_off = self.put_off
            self._work_off(side)
            if side.loaded:  # others may have been faster
                side.recheck()
        except Stop:
            self.jobs.clear()  # nothing more can be learned from this file
        except BaseException as problem:
            self.problems.append(problem)
            self.jobs.clear()
        finally:
            side.close()

    def _call_each(self, side) -> None:
        from .trials import OneCall

        side.put_off = []
        for case in self.cases:
            OneCall(side, case, thorough=False).run()
        side.outcome.comparisons.clear()  # they are made again, among each case's own

    def _work_off(self, judge) -> None:
        while self.jobs:
            try:
                job = self.jobs.popleft()
            except IndexError:  # another was faster
                return
            job(judge)

    def _join(self, outcomes: Sequence[Outcome]) -> None:
        if self.is_joined:
            return
        self.is_joined = True
        self.first.outcome.join(outcomes, self.cases)
        for side in self.sides:
            for null, passed in side.teeth.items():
                self.first.teeth.setdefault(null, []).extend(passed)

    def _close(self) -> None:
        for side in self.sides:
            side.close()
