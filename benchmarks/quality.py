"""How good is one pass over raw data without tuning? Ours and the peers, on a folder of data sets.

``python benchmarks/quality.py DATA_DIR`` prints a table of shares, 0 the tuned batch model and 1
the constant predictor, and the streams. Without a folder it runs on what ships with scikit-learn and river.
``benchmarks/README.md`` says how to read it.
"""

import argparse
from collections import defaultdict

import numpy as np
from data_sets.folder import TASKS, add_folder_arguments, open_folder, reference
from learning.chunked_streams import run_streams
from learning.learners import (
    SETTINGS,
    SMALL_ENOUGH_FOR_FULL,
    fit,
    has_river,
    has_vw,
    ours,
    own_pass,
    river_pass,
    scores_of,
    sgd_fit,
    sgd_pass,
    vw_pass,
)
from reporting.records import environment, save, working_on
from threadpoolctl import threadpool_limits

COLUMNS = ("adareg", "diag", "full", "sgd1 raw", "sgd1", "sgd", "vw", "river")
AT_LEAST_ROWS = 5000  # below, a fit is over before a clock can tell


def measure(split, figures, peers):
    """All learners on one data set: a dict of losses, shares and seconds."""
    d = split.X.shape[1]
    outcomes = {}

    def run(name, work, *args, **params):
        working_on(f"{split.name}: {name}")
        outcomes[name] = work(*args, **params)
        return outcomes[name]

    chosen = run("adareg", own_pass, split).chosen
    for name, params in SETTINGS.items():
        if all(chosen.get(key) == value for key, value in params.items()):
            outcomes[name] = outcomes["adareg"]
        elif params["structure"] != "full" or d <= SMALL_ENOUGH_FOR_FULL:
            run(name, own_pass, split, **params)
    scaled = split.scaled()
    run("sgd1 raw", sgd_pass, split)
    run("sgd1", sgd_pass, scaled)
    run("sgd raw", sgd_fit, split)
    run("sgd", sgd_fit, scaled)
    if peers and has_vw():
        run("vw", vw_pass, split)
    if peers and has_river():
        run("river", river_pass, split)
    losses = {name: outcome.loss for name, outcome in outcomes.items()}
    if np.isfinite(figures.vw1):
        losses.setdefault("vw", figures.vw1)
    return {
        "data": split.name,
        "task": split.task,
        "rows": split.X.shape[0],
        "features": d,
        "density": split.X.nnz / (split.X.shape[0] * d),
        "const": figures.const,
        "batch": figures.batch,
        "chosen": chosen,
        "losses": losses,
        "shares": {name: figures.share(loss) for name, loss in losses.items()},
        "seconds": {name: outcome.cpu for name, outcome in outcomes.items()},
    }


def ratios(row):
    """Processor time of our pass over SGD's fit on scaled rows, on raw rows, and its one pass."""
    seconds = row["seconds"]
    return [seconds["adareg"] / seconds[peer] for peer in ("sgd", "sgd raw", "sgd1 raw")]


def print_head():
    """Column names of the share table."""
    print(f"{'':36}{'share (0 batch, 1 constant)':^{9 * len(COLUMNS)}}{'our pass':>10}{'time over SGD’s':>20}")
    print(
        f"{'data':21}{'auto':>15}"
        + "".join(f"{name:>9}" for name in COLUMNS)
        + f"{'ms':>10}{'fit':>7}{'fit raw':>8}{'pass':>7}"
    )


def print_row(row):
    """One data set."""
    chosen = row["chosen"]
    auto = chosen.get("failed", f"{chosen.get('structure')} {chosen.get('potential')}")[:14]
    print(
        f"{row['data']:21}{auto:>15}"
        + "".join(_cell(row["shares"].get(name)) for name in COLUMNS)
        + f"{1e3 * row['seconds']['adareg']:10.1f}"
        + "{:7.2f}{:8.2f}{:7.2f}".format(*ratios(row)),
        flush=True,
    )


def _cell(share, width=9):
    return " " * width if share is None else f"{share:{width}.3f}"


def print_means(task, rows):
    """Means of a task over the sets that a learner has run on, when it has run on all."""
    means = {}
    for name in COLUMNS:
        shares = [row["shares"][name] for row in rows if name in row["shares"]]
        if len(shares) == len(rows):
            means[name] = float(np.mean(shares))
    print(f"{'mean, ' + task:36}" + "".join(_cell(means.get(name)) for name in COLUMNS) + "\n")
    return means


def print_summary(rows):
    """The sentences that one looks for in the table."""
    by_task = defaultdict(list)
    for row in rows:
        by_task[row["task"]].append(row)
    for task, group in by_task.items():
        shares = [row["shares"]["adareg"] for row in group]
        worst = group[int(np.argmax(shares))]
        beside = [row["shares"] for row in group if "vw" in row["shares"]]
        better = sum(shares["adareg"] < shares["vw"] for shares in beside)
        print(
            f"{task}: mean share {np.mean(shares):.3f}, median {np.median(shares):.3f}, "
            f"worst {max(shares):.3f} ({worst['data']})"
            + f", better than Vowpal Wabbit on {better} of {len(beside)}"
            * bool(beside)
        )
    for row in rows:
        if "failed" in row["chosen"]:
            print(f"no model for {row['data']}: {row['chosen']['failed']}")
    large = [
        row
        for row in rows
        if row["rows"] >= AT_LEAST_ROWS and row["task"] != "regression" and np.isfinite(ratios(row)).all()
    ]
    cheap = [row for row in large if row["chosen"].get("structure") == "diag" or row["features"] <= 128]
    dear = [row for row in large if row not in cheap]
    sparse_diag = [row for row in large if row["chosen"].get("structure") == "diag" and row["density"] < 0.1]
    print(f"\nour pass, classifiers, sets of {AT_LEAST_ROWS} rows and more:")
    for text, group, peer in (
        ("over SGD's fit, auto diagonal or at most 128 features", cheap, 0),
        ("over SGD's fit, other sets", dear, 0),
        ("over one SGD pass, auto diagonal and sparse rows", sparse_diag, 2),
    ):
        if group:
            slowest = max(group, key=lambda row, peer=peer: ratios(row)[peer])
            print(f"  {text}: at most {ratios(slowest)[peer]:.2f} ({slowest['data']})")


def run_shares(folder, tasks, only, args):
    """The share table, printed as it grows."""
    rows, means = [], {}
    for task in tasks:
        names = [name for name in folder.names(task) if not only or name in only]
        if not names:
            continue
        if not rows:
            print_head()
        group = []
        for name in names:
            working_on(f"{name}: reading")
            split = folder.split(name)
            group.append(measure(split, reference(split, args.recompute), args.peers))
            print_row(group[-1])
        means[task] = print_means(task, group)
        rows += group
    if rows:
        print_summary(rows)
    return rows, means


def run_orders(folder, tasks, only, orders):
    """The share of one default pass in several orders of the rows, not cut."""
    print(f"\n{'data':22}" + "".join(f"{f'order {k + 1}':>10}" for k in range(orders)) + f"{'mean':>10}{'worst':>10}")
    rows = []
    for task in tasks:
        group = []
        for name in (name for name in folder.names(task) if not only or name in only):
            shares = []
            for seed in range(1, orders + 1):
                split = folder.split(name, seed)
                working_on(f"{name}: order {seed}")
                shares.append(reference(split).uncut_share(own_pass(split).loss))
            group.append({"data": name, "task": task, "shares": shares})
            figures = [*shares, np.mean(shares), np.max(shares)]
            print(f"{name:22}" + "".join(_cell(share, 10) for share in figures), flush=True)
        if group:
            means = np.mean([row["shares"] for row in group], axis=0)
            figures = [*means, means.mean(), means.max()]
            print(f"{'mean, ' + task:22}" + "".join(_cell(share, 10) for share in figures) + "\n")
        rows += group
    return rows


def run_curves(folder, tasks, only, orders):
    """The test loss of the default model after so many rows above that of the constant: the worst of several orders."""
    after = (50, 100, 200, 400, 800)
    print(f"\nworst of {orders} orders, test loss above that of the constant (regression: shares of it)\n")
    print(f"{'data':22}" + "".join(f"{f'{n} rows':>12}" for n in after))
    rows = []
    for task in tasks:
        for name in (name for name in folder.names(task) if not only or name in only):
            above = []
            for seed in range(1, orders + 1):
                split = folder.split(name, seed)
                constant, model, done = reference(split).const, ours(task), 0
                classes = {} if task == "regression" else {"classes": np.unique(split.y)}
                above.append([])
                for n in (n for n in after if n <= len(split.y)):
                    model.partial_fit(split.X[done:n], split.y[done:n], **classes)
                    loss, done = split.loss(scores_of(model, task, split.X_test)), n
                    above[-1].append(loss / constant - 1.0 if task == "regression" else loss - constant)
            rows.append({"data": name, "task": task, "above": np.max(above, axis=0).tolist()})
            print(f"{name:22}" + "".join(f"{value:12.3f}" for value in rows[-1]["above"]), flush=True)
    return rows


def run_convergence(folder, tasks, only, recomputed):
    """Default ``fit`` of ours on raw rows and of SGD on scaled rows, each to its own stopping."""
    print("\ndefault fit to its own stopping: ours on raw rows, SGD (average=True) on scaled rows\n")
    print(f"{'data':22}{'share':>18}{'seconds':>20}{'passes':>16}{'time over':>11}")
    print(f"{'':22}" + f"{'ours':>9}{'SGD':>9}{'ours':>10}{'SGD':>10}{'ours':>8}{'SGD':>8}{'SGD’s':>11}")
    rows = []
    for task in tasks:
        for name in folder.names(task):
            if only and name not in only:
                continue
            split = folder.split(name)
            figures = reference(split, recomputed)
            working_on(f"{name}: fit")
            mine = fit(lambda task=task: ours(task, random_state=0), split, repeats=2)
            peer = sgd_fit(split.scaled())
            row = {
                "data": name,
                "task": task,
                "shares": [figures.share(mine.loss), figures.share(peer.loss)],
                "seconds": [mine.cpu, peer.cpu],
                "passes": [mine.chosen.get("n_iter"), peer.chosen.get("n_iter")],
            }
            rows.append(row)
            print(
                f"{name:22}"
                + "".join(f"{share:9.4f}" for share in row["shares"])
                + "".join(f"{seconds:10.3f}" for seconds in row["seconds"])
                + "".join(f"{passes or '':>8}" for passes in row["passes"])
                + f"{mine.cpu / peer.cpu:11.2f}",
                flush=True,
            )
        group = [row for row in rows if row["task"] == task]
        if group:
            shares = np.mean([row["shares"] for row in group], axis=0)
            sooner = sum(row["seconds"][0] < row["seconds"][1] for row in group)
            print(f"{'mean, ' + task:22}{shares[0]:9.4f}{shares[1]:9.4f}   sooner on {sooner} of {len(group)}\n")
    return rows


def main():
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_folder_arguments(parser, nargs="?")
    parser.add_argument("--json", metavar="FILE", help="save everything measured")
    parser.add_argument("--figure", metavar="FILE", help="save the dot plot of shares")
    parser.add_argument("--only", choices=[*TASKS, "streams"], help="one task, or the streams")
    parser.add_argument("--data", nargs="+", metavar="NAME", help="only these sets")
    parser.add_argument("--peers", action="store_true", help="run Vowpal Wabbit and river, if installed")
    parser.add_argument("--convergence", action="store_true", help="default fits to their own stopping instead")
    parser.add_argument("--orders", type=int, metavar="N", help="only our pass, in N orders of the rows, instead")
    parser.add_argument(
        "--curves", type=int, metavar="N", help="only the first 800 rows, the worst of N orders, instead"
    )
    parser.add_argument("--recompute", action="store_true", help="measure const and batch again: slow")
    args = parser.parse_args()
    folder = open_folder(args.folder, args.cache)
    if args.peers:
        missing = [name for name, there in (("vowpalwabbit", has_vw()), ("river", has_river())) if not there]
        if missing:
            print(f"not installed, so not run: {', '.join(missing)} (pip install 'sklearn_adareg[bench]')\n")
    tasks = [task for task in TASKS if args.only in (None, task)]
    saved = {"environment": environment()}
    with threadpool_limits(limits=1):
        if args.convergence:
            saved["convergence"] = run_convergence(folder, tasks, args.data, args.recompute)
        elif args.curves:
            saved["curves"] = run_curves(folder, tasks, args.data, args.curves)
        elif args.orders:
            saved["orders"] = run_orders(folder, tasks, args.data, args.orders)
        else:
            saved["shares"], saved["means"] = run_shares(folder, tasks, args.data, args)
            if args.figure and saved["shares"]:
                from reporting.figures import plot_shares

                plot_shares(saved["shares"], args.figure)
            if args.only in (None, "streams"):
                saved["streams"] = run_streams(folder, args.data, args.peers)
    if args.json:
        save(saved, args.json)


if __name__ == "__main__":
    main()
