"""Is this version as fast as another? The same lines in two checkouts, in turns, and the median of the ratios.

``python benchmarks/versions.py OTHER [DATA_DIR] [--short] [--lines TEXT]`` runs the lines of ``speed.py`` with the compiled package
of this checkout and with that of the checkout ``OTHER``, each in a process of its own that keeps its data: other, ours, other, ours
…. Times are processor time, repeated until they are long enough to be read; a ratio is ours over the other's of the same turn, so
1.03 is 3 % slower. Lines that the other version cannot run are left out.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

TURNS = 7
LEAST = 0.15  # seconds that a measurement takes at least
OURS = Path(__file__).resolve().parents[1]


class Side:
    """A process that runs the lines with the package of one checkout."""

    def __init__(self, checkout, arguments):
        here = Path(__file__).resolve()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(checkout), os.environ.get("PYTHONPATH", "")])}
        self.process = subprocess.Popen(
            [sys.executable, str(here), "--serve", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=here.parent,
            text=True,
        )

    def ask(self, word):
        """The answer to a request."""
        print(word, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def serve(args):
    """Answer "next" with the name of the next line, and "run" with processor seconds of one run."""
    from data_sets.folder import Folder
    from timing.lines import Works

    import sklearn_adareg

    print(json.dumps(sklearn_adareg.__file__), flush=True)
    works = Works(Folder(args.folder) if args.folder else None, args.short)
    lines = works.lines()
    repeats, line = 1, None
    for word in sys.stdin:
        answer = None
        if word.strip() == "next":
            line = next((each for each in lines if args.lines is None or args.lines in each.work), None)
            answer, repeats = line and f"{line.work} ({line.peer})", 1
        else:
            gc.collect()
            while True:
                try:
                    answer = _seconds(line.ours, repeats)
                except Exception as error:  # an older version may not know what is asked
                    answer = f"{type(error).__name__}: {error}"
                    break
                if answer * repeats >= LEAST:
                    break
                repeats *= 2
        print(json.dumps(answer), flush=True)


def _seconds(work, repeats):
    begun = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - begun) / repeats


def main():
    """Print a line per work: our time, theirs, and the median ratio with its quartiles."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("checkout", nargs="?", help="another checkout, compiled in place")
    parser.add_argument("folder", nargs="?", help="data, as for speed.py")
    parser.add_argument("--short", action="store_true", help="smaller data")
    parser.add_argument("--lines", metavar="TEXT", help="only the lines whose work contains this")
    args = parser.parse_args()
    passed = ["--short"] * args.short + (["--lines", args.lines] if args.lines else [])
    if args.serve:
        args.folder = args.checkout
        serve(args)
        return
    if args.checkout is None:
        parser.error("which other checkout?")
    passed += [str(Path(args.folder).resolve())] if args.folder else []
    other, ours = Side(Path(args.checkout).resolve(), passed), Side(OURS, passed)
    for name, side in (("other", other), ("ours", ours)):
        print(f"{name}: {json.loads(side.process.stdout.readline())}")
    print(f"{'work':64}{'other, µs':>14}{'ours, µs':>14}{'ours/other':>12}{'quartiles':>16}")
    while (work := other.ask("next")) is not None:
        if ours.ask("next") != work:
            sys.exit(f"The two checkouts differ in their lines at {work!r}.")
        times = np.array([[other.ask("run"), ours.ask("run")] for _ in range(TURNS)])
        if times.dtype.kind != "f":
            print(f"{work:64}{max(map(str, times[0]), key=len):.60}")  # what the error says
            continue
        theirs, own = 1e6 * np.median(times, axis=0)
        low, middle, high = np.quantile(times[:, 1] / times[:, 0], [0.25, 0.5, 0.75])
        print(f"{work:64}{theirs:14.1f}{own:14.1f}{middle:12.3f}{low:8.2f}{high:8.2f}", flush=True)


if __name__ == "__main__":
    main()
