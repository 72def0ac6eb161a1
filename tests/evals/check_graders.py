#!/usr/bin/env python3
"""Grade the right, the wrong and the cheating submission of every task, on a GPU where there is one; exit code 1 when a
grader errs. Without a GPU tests/evals/test_graders.py does the same; here each grade shows its evidence.

  python tests/evals/check_graders.py                 all tasks, about ten minutes on two cores without a GPU
  python tests/evals/check_graders.py write-elementwise --kind wrong
"""

import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "evals"))
sys.path.insert(0, str(HERE))

KINDS = ("right", "wrong", "cheating")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--kind", choices=KINDS, action="append")
    options = parser.parse_args()
    import grade
    import solutions
    import tasks as catalogue

    errors = 0
    for task in catalogue.load().values():
        for kind in (options.kind or KINDS) if not options.tasks or task.name in options.tasks else ():
            with tempfile.TemporaryDirectory() as folder:
                file = catalogue.ANSWER if task.kind == "decide" else catalogue.SUBMISSION
                Path(folder, file).write_text(getattr(solutions, kind)(task.name), encoding="utf-8")
                document = grade.grade(task, Path(folder))
            good = (document["summary"]["failed"] == 0) == (kind == "right")
            errors += not good
            evidence = " ".join(document["expectations"][-1 if kind == "right" else 0]["evidence"].split())
            failed = [row for row in document["expectations"] if not row["passed"] and not row["undecided"]]
            evidence = " ".join(failed[0]["evidence"].split()) if failed else evidence
            mark = "ok  " if good else "MISS"
            print(f"{mark} {task.name} {kind}: {document['verdict']}: {evidence[:160]}", flush=True)
    return 1 if errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
