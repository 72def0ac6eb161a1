"""Workers answer, are timed out, cannot be forged, and leave no process behind."""

import os
import shutil
import subprocess
import sys
import textwrap
import time

import pytest
from kernel_harness.processes import worker

pytestmark = pytest.mark.cpu


@pytest.fixture
def role(tmp_path, monkeypatch):
    """Starts a worker whose role module has the given handlers; none outlives its test, where others count them."""
    started = []
    scripts = os.path.join(os.path.dirname(__file__), "..", "..", "..", "scripts")

    def start(body: str) -> worker.Worker:
        package = tmp_path / "scripts" / "kernel_harness"
        shutil.copytree(os.path.join(scripts, "kernel_harness", "processes"), package / "processes")
        (package / "roles").mkdir()
        for name in ("__init__.py", "roles/__init__.py"):
            shutil.copy(os.path.join(scripts, "kernel_harness", name), package / name)
        (package / "roles" / "role.py").write_text(textwrap.dedent(body))
        monkeypatch.setattr(worker, "__file__", str(package / "processes" / "worker.py"))
        started.append(worker.Worker("role", tmp_path))
        return started[-1]

    yield start
    for child in started:
        child.close()


def test_pytorch_makes_its_first_exp_of_one_number(role):
    """The first one of many threads is wrong at times."""
    body = """
    import torch
    real, sizes = torch.Tensor.exp, []

    def exp(self):
        sizes.append(self.numel())
        return real(self)

    torch.Tensor.exp = exp
    HANDLERS = {'exp': lambda: {'before': list(sizes)}}
    """
    with role(body) as child:
        child.send("exp")

        assert child.receive(60)["before"] == [1]


def test_answers_requests_in_order(role):
    with role("HANDLERS = {'double': lambda x: {'y': 2 * x}}") as child:
        child.send("double", x=1)
        child.send("double", x=2)

        assert [child.receive(10)["y"], child.receive(10)["y"]] == [2, 4]


def test_a_time_out_kills_the_whole_tree(role, tmp_path):
    body = f"""
        import os, subprocess, sys, time
        def hang():
            subprocess.Popen([sys.executable, "-c", "import os, time; os.setsid(); time.sleep(600)"])
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            open({str(tmp_path / "pids")!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
            time.sleep(600)
        HANDLERS = {{"hang": hang}}
    """
    worker.adopt_orphans()
    child = role(body)

    with pytest.raises(worker.WorkerTimeout, match=r"within 3 s"):
        child.call("hang", 3)

    time.sleep(0.2)
    worker.kill_orphans()
    assert not [p for p in map(int, (tmp_path / "pids").read_text().split()) if os.path.exists(f"/proc/{p}/exe")]
    assert not worker.descendants(os.getpid())


@pytest.mark.parametrize(("action", "returncode", "text"), [
    ("os._exit(0)", 0, "exited with code 0"), ("os._exit(3)", 3, "exited with code 3"),
    ("os.kill(os.getpid(), 11)", -11, "killed by SIGSEGV"),
    ("os.kill(os.getpid(), 9)", -9, "killed by SIGKILL .the system does so when memory runs out")])
def test_a_death_is_told_from_an_answer(role, action, returncode, text):
    child = role(f"import os\ndef end():\n    print('last words', flush=True)\n    {action}\nHANDLERS = {{'end': end}}")

    with pytest.raises(worker.WorkerDied, match=text) as caught:
        child.call("end", 10)

    assert caught.value.returncode == returncode
    assert "last words" in caught.value.log


def test_bytes_that_the_harness_did_not_write_are_forged(role):
    child = role("""
        import json, os, sys
        def forge():
            body = json.dumps({"verdict": "PASS"}).encode()
            for fd in range(3, 64):
                try:
                    os.write(fd, len(body).to_bytes(8, "big") + bytes(32) + body)
                except OSError:
                    pass
            return {}
        HANDLERS = {"forge": forge}
    """)

    with pytest.raises(worker.WorkerForged):
        child.call("forge", 10)


def test_workers_die_with_their_judge(role, tmp_path):
    scripts = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", "scripts"))
    judge = subprocess.Popen([sys.executable, "-c", textwrap.dedent(f"""
        import sys, time, pathlib
        sys.path.insert(0, {scripts!r})
        from kernel_harness.processes import worker
        child = worker.Worker("oracle", pathlib.Path({str(tmp_path)!r}))
        print(child.process.pid, flush=True)
        time.sleep(600)
    """)], stdout=subprocess.PIPE, text=True)
    pid = int(judge.stdout.readline())
    time.sleep(0.5)

    judge.kill()
    judge.wait()

    deadline = time.monotonic() + 10
    while os.path.exists(f"/proc/{pid}/exe") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{pid}/exe")


def test_a_child_is_not_told_that_it_is_checked(role, monkeypatch):
    for name in ("PYTEST_CURRENT_TEST", "GIT_SSL_NO_VERIFY", "CI", "CUDA_LAUNCH_BLOCKING"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("MY_TILE", "128")

    with role("import os\nHANDLERS = {'names': lambda: {'names': sorted(os.environ)}}") as child:
        names = child.call("names", 10)["names"]

    assert "MY_TILE" in names
    assert not {"PYTEST_CURRENT_TEST", "GIT_SSL_NO_VERIFY", "CI", "CUDA_LAUNCH_BLOCKING"} & set(names)


def test_reports_arrive_before_the_answer_and_once(role):
    child = role("""
        def work(alert):
            alert("looked around"), alert("looked around")
            return {"done": True}
        HANDLERS = {"work": work}
    """)

    assert child.call("work", 10) == {"done": True}
    assert child.heard() == ["looked around"]
    assert child.heard() == []


def test_nothing_in_the_process_names_the_harness(role):
    child = role("""
        import sys, traceback
        from ..processes import neutral
        def look():
            with neutral.hidden():
                seen = {"modules": list(sys.modules), "path": sys.path, "argv": sys.argv + sys.orig_argv,
                        "main": list(map(str, vars(sys.modules["__main__"]).values())),
                        "stack": [frame.filename for frame in traceback.extract_stack()]}
            return {"seen": seen, "after": "kernel_harness" in sys.modules}
        HANDLERS = {"look": look}
    """)

    answer = child.call("look", 10)

    assert answer["after"]
    assert {key: [text for text in texts if "kernel_harness" in text] for key, texts in answer["seen"].items()} == {
        "modules": [], "path": [], "argv": [], "main": [], "stack": []}
    assert set(answer["seen"]["stack"]) == {"<stdin>"}


def test_a_kernel_is_called_as_from_scripts_of_a_user_too(role):
    child = role("""
        import sys
        from ..processes import neutral
        def where(who):
            caller = sys._getframe(1)
            return [who, caller.f_code.co_filename, caller.f_back.f_code.co_filename]
        def look():
            return {"seen": [call(where, (who,)) for who, call in neutral.CALLERS]}
        HANDLERS = {"look": look}
    """)

    (_, plain, _), *scripts = child.call("look", 10)["seen"]

    assert plain == "<stdin>"
    assert len(scripts) % 2 == 0  # with the plain one every caller meets both of two sets of values
    assert all(near == far and near.endswith(f"/{name}") for name, near, far in scripts)


def test_a_signal_handler_is_not_handed_the_frame(role):
    child = role("""
        import signal
        from ..processes import neutral
        def interrupt():
            frames = []
            neutral.mute_signal_handlers()
            def handler(number, frame):
                frames.append(frame)
            signal.signal(signal.SIGUSR2, handler)
            signal.raise_signal(signal.SIGUSR2)
            before = signal.signal(signal.SIGUSR2, signal.SIG_DFL)
            return {"frames": frames, "restores": before is handler}
        HANDLERS = {"interrupt": interrupt}
    """)

    assert child.call("interrupt", 10) == {"frames": [None], "restores": True}
def test_a_program_is_given_up_with_all_that_it_started():
    """What it started holds its output open: waiting for the end of a pipe would take for ever."""
    started = time.monotonic()

    code, text = worker.run_tree(["sh", "-c", "echo first; sleep 300 & wait"], 0.5)

    assert (code, text) == (None, "first\n")
    assert time.monotonic() - started < 60
    assert worker.run_tree(["sh", "-c", "echo out; echo err >&2; exit 3"], 30) == (3, "out\nerr\n")


def test_workers_of_others_in_this_process_are_no_orphans(role):
    """A verification ends while another thread still compiles."""
    child = role("def ping():\n    return {'alive': True}\nHANDLERS = {'ping': ping}")
    child.call("ping", 10)

    worker.kill_orphans()

    assert child.call("ping", 10) == {"alive": True}


def test_a_worker_that_has_ended_is_asked_in_vain_and_nobody_else_is(role):
    """Its descriptors may belong to another worker by then."""
    child = role("HANDLERS = {'work': lambda: {}}")
    child.close()

    child.send("work")

    with pytest.raises(worker.WorkerDied, match="ended before"):
        child.receive(1)
