"""How fast is a pass? Ours and a peer in turns, peer, ours, peer, ours …, and the best of each.

``python benchmarks/speed.py [DATA_DIR]`` prints one line for each work; ``--short`` takes less than
a minute and fails only when a ratio is below half of what is required. ``benchmarks/README.md``
says how to read it.
"""

import argparse
import gc
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
from data_sets.folder import Folder, add_folder_arguments
from learning.learners import clocked
from reporting.figures import plot_speed
from reporting.records import environment, save
from threadpoolctl import threadpool_limits
from timing.lines import PLAIN, REFRESHES, Works, dense, one_pass

# Lines known to be far from what is asked: they are printed, and do not fail the short form.
REPORTED = (", in order", ", d = 8")
GROSS = 2.0  # a regression by this factor fails the short form


def race(line, seconds, most=15):
    """Best wall and processor seconds a row, ours and the peer's, in turns for ``seconds``."""
    best = {"ours": [np.inf, np.inf], "peer": [np.inf, np.inf]}
    rows = {"ours": line.our_rows, "peer": line.their_rows or line.our_rows}
    begun, turns = time.perf_counter(), 0
    while turns < most and (turns < 2 or time.perf_counter() - begun < seconds):
        for name, work in (("peer", line.theirs), ("ours", line.ours)):
            _, wall, cpu = clocked(work)
            best[name] = [min(best[name][0], wall / rows[name]), min(best[name][1], cpu / rows[name])]
        turns += 1
        if time.perf_counter() - begun > 8 * seconds:
            break
    return best, turns


def measure(line, seconds):
    """One line of the table, as a dict."""
    gc.collect()
    best, turns = race(line, seconds)
    result = {
        "work": line.work,
        "peer": line.peer,
        "required": line.required,
        "ours": best["ours"],
        "theirs": best["peer"],
        "wall": best["peer"][0] / best["ours"][0],
        "cpu": None if line.wall_only else best["peer"][1] / best["ours"][1],
        "turns": turns,
    }
    if line.floor is not None:
        floor = min(clocked(line.floor)[1] for _ in range(5)) / line.our_rows
        result["over_floor"] = best["ours"][0] / floor
    return result


def print_line(row):
    """One line of the table."""
    ratio = f"{row['wall']:8.2f}" + (f"{row['cpu']:8.2f}" if row["cpu"] else " " * 8)
    floor = f"{row['over_floor']:8.1f}" if "over_floor" in row else ""
    print(
        f"{row['work']:48} {row['peer']:36}"
        f"{1e6 * row['ours'][0]:10.3f}{1e6 * row['theirs'][0]:11.3f}"
        f"{ratio}{row['required']:9.2f} {_verdict(row):6}{floor}",
        flush=True,
    )


def _best_ratio(row):
    """The better of both clocks counts: a busy machine spoils the one on the wall."""
    return max(row["wall"], row["cpu"] or 0.0)


def _verdict(row):
    return "yes" if _best_ratio(row) >= row["required"] else "no"


# ---- what is not a ratio of two times ---------------------------------------------


def exactness_of_refreshes(works):
    """Progressive loss of full AdaGrad, with ``refresh=0.5`` and with a decomposition a round."""
    called, X, y = works.named("a9a")
    n = 2000 if works.short else len(y)
    params = {"potential": "adagrad", "structure": "full", "shuffle": False, **PLAIN}
    lazy = one_pass(**params).fit(X[:n], y[:n]).progressive_loss_
    exact = one_pass(**{**params, "refresh": 0}).fit(X[:n], y[:n]).progressive_loss_
    print(
        f"full adagrad, {called}, {n} rows: progressive loss with refresh=0.5 {lazy:.5f}, "
        f"with a decomposition a round {exact:.5f}, ratio {lazy / exact:.5f}"
    )
    return {"lazy": lazy, "exact": exact}


def python_beside_fit(short):
    """Speed of a Python loop beside a fit in another thread, over its speed alone."""
    X, y = dense(2000 if short else 20000, 500)

    def count(seconds):
        loops, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            loops += 1
        return loops

    alone = max(count(0.2) for _ in range(3))
    done = threading.Event()

    def fit():
        while not done.is_set():
            one_pass(potential="adagrad", structure="diag", **PLAIN).fit(X, y)

    worker = threading.Thread(target=fit)
    worker.start()
    beside = max(count(0.2) for _ in range(5))
    done.set()
    worker.join()
    alone = max(alone, *(count(0.2) for _ in range(3)))
    print(f"a Python loop beside a fit in another thread keeps {beside / alone:.0%} of its speed")
    return beside / alone


def memory(short):
    """Peak extra memory of ``fit``, in processes of their own."""
    size = 128 if short else 1024
    print(f"\npeak extra memory of fit, diag, {size} MB of input")
    print(
        f"{'input':22}{'rows':>10}{'extra MB':>10}{'less state, %':>15}{'bytes a row':>13}"
        f"{'state, doubles a coefficient':>30}{'scaling=None':>14}"
    )
    rows = []
    for kind, d in (("dense", 500), ("dense", 10), ("csr", 100_000)):
        command = [sys.executable, str(Path(__file__).with_name("memory.py")), kind, str(d), str(size)]
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        row = {"kind": kind, **json.loads(run.stdout)}
        beyond = row["extra"] - row["state"]
        print(
            f"{kind + ', d = ' + str(d):22}{row['rows']:10d}{row['extra'] / 2**20:10.1f}"
            f"{100 * beyond / row['input']:15.2f}{beyond / row['rows']:13.1f}"
            f"{row['state'] / 8 / (d + 1):30.2f}{row['plain_state'] / 8 / (d + 1):14.2f}",
            flush=True,
        )
        rows.append(row)
    return rows


def main():
    """Measure, print, save; the exit code of the short form tells of gross regressions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_folder_arguments(parser, nargs="?")
    parser.add_argument("--json", metavar="FILE", help="save everything measured")
    parser.add_argument("--figure", metavar="FILE", help="draw the ratios")
    parser.add_argument("--short", action="store_true", help="less than a minute; fails on gross regressions")
    parser.add_argument(
        "--narrow", action="store_true", help="only the defaults with few features, and fit beside batch solvers"
    )
    parser.add_argument("--lines", metavar="TEXT", help="only the lines whose work contains this text")
    args = parser.parse_args()
    works = Works(Folder(args.folder, args.cache) if args.folder else None, args.short)
    print(f"{'work':48} {'peer':36}{'µs a row':>21}{'peer’s/ours':>16}")
    print(f"{'':48} {'':36}{'ours':>10}{'peer':>11}{'wall':>8}{'CPU':>8}{'at least':>9} {'':6}{'over X@w':>8}")
    rows = []
    saved = {"environment": environment(), "lines": rows}
    with threadpool_limits(limits=1):
        for line in works.narrow() if args.narrow else works.lines():
            if args.lines is None or args.lines in line.work:
                rows.append(measure(line, 0.4 if args.short else 4.0))
                print_line(rows[-1])
        if args.lines is None and not args.narrow:
            print()
            if REFRESHES:
                saved["refreshes"] = exactness_of_refreshes(works)
            saved["python_beside_fit"] = python_beside_fit(args.short)
            saved["memory"] = memory(args.short)
    if args.json:
        save(saved, args.json)
    if args.figure:
        plot_speed(rows, args.figure)
    slow = [row for row in rows if GROSS * _best_ratio(row) < row["required"] and not row["work"].endswith(REPORTED)]
    if args.short and slow:
        print("\nmore than twice as slow as required: " + "; ".join(row["work"] for row in slow))
        sys.exit(1)


if __name__ == "__main__":
    main()
