"""Workers that are forked from one process: as fresh, as alone and as dead in the end as started ones."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from kernel_harness.processes import worker

pytestmark = pytest.mark.cpu


@pytest.fixture
def nursery(tmp_path):
    with_imports = worker.start_nursery(tmp_path, ["colorsys", "no_such_module"])
    yield with_imports
    with_imports.close()


def file(tmp_path, body):
    path = tmp_path / "kernel.py"
    path.write_text(body + "\n\ndef kernel_fn(x):\n    return x\n\n\nreference_fn = kernel_fn\n\n\n"
                    "def get_inputs():\n    return []\n")
    return str(path)


def load(child, path):
    return child.call("load", 60, path=path, reference=None, simulate=False)


def test_a_forked_worker_has_what_the_nursery_imported_and_no_parent_but_the_judge(nursery, tmp_path):
    path = file(tmp_path, f"""import os, sys
facts = "colorsys" in sys.modules, os.getppid(), os.getsid(0) == os.getpid()
open({str(tmp_path / "seen")!r}, "a").write(f"{{facts}}\\n")""")
    with worker.Worker("oracle", tmp_path, nursery) as one, worker.Worker("oracle", tmp_path, nursery) as other:
        assert "contract" not in load(one, path)
        assert "contract" not in load(other, path)
        assert one.process.pid != other.process.pid

    assert (tmp_path / "seen").read_text() == f"(True, {os.getpid()}, True)\n" * 2
    assert not [pid for pid in worker.descendants(os.getpid()) if pid != nursery.process.pid]


def test_it_holds_no_descriptor_of_another_worker_or_of_the_nursery(nursery, tmp_path):
    """Each would be a way to answer in the name of another. Its own: two pipes beside the three of every process."""
    path = file(tmp_path, f"""import os
own = [f"/proc/self/fd/{{n}}" for n in os.listdir("/proc/self/fd") if int(n) > 2]
kinds = [os.readlink(name).partition(":")[0] for name in own if os.path.islink(name)]
open({str(tmp_path / "seen")!r}, "w").write(" ".join(kind for kind in kinds if kind in ("pipe", "socket")))""")
    with worker.Worker("oracle", tmp_path, nursery), worker.Worker("oracle", tmp_path, nursery) as child:
        load(child, path)

    assert (tmp_path / "seen").read_text() == "pipe pipe"


def test_random_numbers_differ_between_forks(nursery, tmp_path):
    path = file(tmp_path, f"""import random, numpy
open({str(tmp_path / "seen")!r}, "a").write(f"{{random.random()}} {{numpy.random.rand()}}\\n")""")
    for _ in range(2):
        with worker.Worker("oracle", tmp_path, nursery) as child:
            load(child, path)

    (a, b), (c, d) = (line.split() for line in (tmp_path / "seen").read_text().splitlines())
    assert a != c
    assert b != d


@pytest.mark.parametrize(("ends", "returncode"), [("os._exit(3)", 3), ("os.kill(os.getpid(), 9)", -signal.SIGKILL)])
def test_how_it_ended_is_known(nursery, tmp_path, ends, returncode):
    with worker.Worker("oracle", tmp_path, nursery) as child, pytest.raises(worker.WorkerDied) as died:
        load(child, file(tmp_path, f"import os, sys\nprint('last words', flush=True)\n{ends}"))

    assert died.value.returncode == returncode
    assert "last words" in died.value.log


def test_a_limit_of_time_ends_it_with_what_it_started(nursery, tmp_path):
    path = file(tmp_path, f"""import os, subprocess, sys, time
child = subprocess.Popen([{sys.executable!r}, "-c", "import os, time; os.setsid(); time.sleep(600)"])
open({str(tmp_path / "seen")!r}, "w").write(str(child.pid))
time.sleep(600)""")
    with worker.Worker("oracle", tmp_path, nursery) as child, pytest.raises(worker.WorkerTimeout):
        child.call("load", 5, path=path, reference=None, simulate=False)

    assert child.process.returncode == -signal.SIGKILL
    worker.kill_orphans()
    assert not os.path.exists(f"/proc/{(tmp_path / 'seen').read_text()}/exe")


def test_without_a_nursery_that_lives_the_worker_starts_by_itself(nursery, tmp_path):
    nursery.process.kill()
    nursery.process.wait()
    with worker.Worker("oracle", tmp_path, nursery) as child:
        assert "contract" not in load(child, file(tmp_path, ""))


def test_a_nursery_that_takes_too_long_is_given_up(tmp_path, monkeypatch):
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("kernel_harness.processes.nursery.START_SECONDS", 8)
    nursery = worker.start_nursery(tmp_path, ["endless"])
    with worker.Worker("oracle", tmp_path, nursery) as one, worker.Worker("oracle", tmp_path, nursery) as other:
        assert nursery.process.returncode == -signal.SIGKILL
        assert "contract" not in load(one, file(tmp_path, ""))
        assert "contract" not in load(other, file(tmp_path, ""))


def test_nothing_lives_on_when_it_is_closed(tmp_path):
    nursery = worker.start_nursery(tmp_path)
    child = worker.Worker("oracle", tmp_path, nursery)
    nursery.close()
    assert child.process.poll() is None  # a worker does not hang on it
    child.close()
    time.sleep(0.05)

    assert not worker.descendants(os.getpid())


@pytest.mark.parametrize("forked", [True, False])
def test_openmp_threads_of_a_worker_yield_and_its_environment_does_not_say_so(tmp_path, monkeypatch, forked):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setenv("OMP_DISPLAY_ENV", "true")  # libgomp prints what it has read
    nursery = worker.start_nursery(tmp_path)
    path = file(tmp_path, f"""import os
open({str(tmp_path / "seen")!r}, "w").write(str("OMP_WAIT_POLICY" in os.environ))""")
    with worker.Worker("oracle", tmp_path, nursery if forked else None) as child:
        assert "contract" not in load(child, path)
        said = (tmp_path / "nursery.log").read_text() if forked else child.log_tail()
    nursery.close()

    assert "OMP_WAIT_POLICY = 'PASSIVE'" in said
    assert (tmp_path / "seen").read_text() == "False"


def test_what_a_killed_verification_leaves_is_removed(tmp_path):
    kernel = file(tmp_path, "import time\ntime.sleep(600)")
    script = pathlib.Path(__file__).parents[3] / "scripts" / "verify_kernel.py"
    left = tmp_path / "temporary"
    left.mkdir()
    program = f"""import sys
sys.path.insert(0, {str(script.parent)!r})
from kernel_harness.judge import outcome, startup, verification
startup.memory_folder = lambda: {str(left)!r}
verification.verify(outcome.Settings(kernel=__import__("pathlib").Path({kernel!r})))"""
    judge = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    _until(lambda: list(left.glob("*/first/oracle-*.log")))
    judge.kill()
    judge.wait()

    _until(lambda: not list(left.iterdir()))


def _until(is_so, seconds=60):
    started = time.monotonic()
    while not is_so():
        assert time.monotonic() - started < seconds
        time.sleep(0.1)
