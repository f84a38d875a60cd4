"""The command line, and what ``--help`` teaches."""

import argparse
import ast

import sklearn_adareg

from . import _info, _merge, _predict, _train

DESCRIPTION = """\
Linear models learnt online, in one pass, from files of any size.
No learning rate, no scaling, no preprocessing: name the file and the column to predict.

  adareg train clicks.parquet --target clicked --model clicks.skops
  adareg info clicks.skops
  adareg predict new.parquet --model clicks.skops --output predictions.csv
  adareg merge monday.skops tuesday.skops -o both.skops
"""
EPILOG = """\
Files: .parquet, .csv and .tsv (need pyarrow), .svm (svmlight); text also with .gz, .bz2 or .xz.
Models: .skops (needs skops) or .adareg. pip install "sklearn_adareg[files]" installs both.
Exit codes: 0 done, 1 cannot be done, 2 wrong command line, 130 Ctrl-C.
"""
TRAIN = """\
Learn from files in one pass.

  adareg train clicks.parquet --target clicked --model clicks.skops
  adareg train day1.csv day2.csv --target y --categorical zip,shop --model m.skops
  adareg train messung.csv --delimiter ';' --decimal , --target y --model m.skops
  adareg train rows.svm.gz --features 47236 --classes=-1,1 --model m.skops
  adareg train big.parquet --target y --model m.skops --checkpoint big.checkpoint

All other columns are features: numbers as they are, text hashed into 2^18 columns.
A table shows the mean loss of each row before it was learnt from: a progressive estimate
of the loss on new rows, so that no test set is needed. With --checkpoint the same
command goes on where it was killed, and ends with the same model, to the bit.
"""
PREDICT = """\
Predict the rows of files, chunk by chunk.

  adareg predict new.parquet --model m.skops --output predictions.csv
  adareg predict new.csv --model m.skops --proba | head
  adareg predict test.parquet --model m.skops --target y --output /dev/null

With --target the loss on these rows is printed to the standard error.
"""
MERGE = """\
Make one model of several that learnt from different rows.

  adareg train day1.parquet --target y --model day1.skops
  adareg train day2.parquet --target y --model day2.skops
  adareg merge day1.skops day2.skops -o both.skops

It is about what one pass over all rows would have given, and goes on learning (train --start).
Give every model the same options and, with --classes, the same labels.
"""


LAYOUT = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}


def make_parser():
    """The parser of the whole command."""
    parser = argparse.ArgumentParser("adareg", description=DESCRIPTION, epilog=EPILOG, **LAYOUT)
    parser.add_argument("--version", action="version", version=sklearn_adareg.__version__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_train(commands)
    _add_predict(commands)
    info = _add(commands, "info", "Show what is in a model: parameters, rows, losses, weights.", _info.run)
    info.add_argument("model", help="the model file")
    info.add_argument("--weights", type=_count, default=10, metavar="N", help="largest weights to show (10)")
    _add_merge(commands)
    return parser


def _add(commands, name, description, run):
    parser = commands.add_parser(name, help=description.splitlines()[0], description=description, **LAYOUT)
    parser.set_defaults(run=run)
    return parser


def _add_train(commands):
    parser = _add(commands, "train", TRAIN, _train.run)
    parser.add_argument("files", nargs="+", metavar="FILE", help="the rows; several files are one stream")
    parser.add_argument("--model", required=True, metavar="FILE", help="where the model goes: .skops or .adareg")
    parser.add_argument("--target", metavar="COLUMN", help="the column to predict (not for svmlight)")
    parser.add_argument("--start", metavar="FILE", help="a model to go on from; its parameters and columns stay")
    _add_file_options(parser)
    parser.add_argument("--quiet", action="store_true", help="print nothing")

    add = parser.add_argument_group("the model").add_argument
    why = "auto: labels if the target is text, true/false, or has at most two values"
    add("--task", choices=("auto", "classification", "regression"), default="auto", help=why)
    add("--loss", help="log_loss, hinge, … or squared_error, huber, quantile, poisson, …")
    add("--structure", help="full, block, diag, iso, …: the matrix of step sizes (auto)")
    add("--potential", help="adagrad, ons, pnorm (auto)")
    which = "any other parameter of AdaRegClassifier or AdaRegRegressor; may be repeated"
    add("--set", action="append", default=[], type=_setting, metavar="NAME=VALUE", help=which)
    add("--classes", type=_names, metavar="A,B,…", help="all labels; saves a reading of the target")

    add = parser.add_argument_group("columns of tables").add_argument
    add("--categorical", type=_names, metavar="A,B,…", help="numbers that are categories")
    add("--drop", type=_names, metavar="A,B,…", help="columns not to use")
    add("--weight", metavar="COLUMN", help="the column with the weights of rows")
    add("--bits", type=_bits, metavar="N", help="categories are hashed into 2^N columns (18)")
    add("--max-weights", type=_count, metavar="N", help="refuse models with more weights: labels times columns (2^27)")
    what = "a missing number is refused, is 0, or is 0 and marked in a further column (error)"
    add("--missing", choices=("error", "zero", "indicator"), help=what)

    add = parser.add_argument_group("long runs").add_argument
    add("--checkpoint", metavar="FILE", help="save here on the way, and go on from here")
    add("--every", type=_count, default=100_000, metavar="ROWS", help="rows between checkpoints (100,000)")
    add("--predictions", metavar="FILE", help="a CSV file of what was predicted for each row before it was learnt from")


def _add_predict(commands):
    parser = _add(commands, "predict", PREDICT, _predict.run)
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="the rows")
    add("--model", required=True, metavar="FILE", help="the model file")
    add("--output", metavar="FILE", help="a CSV file for the predictions; the standard output without it")
    add("--proba", action="store_true", help="probabilities of the classes instead of labels")
    add("--target", metavar="COLUMN", help="the column with the true values, to measure the loss")
    _add_file_options(parser)


def _add_file_options(parser):
    add = parser.add_argument_group("reading").add_argument
    sign = {"type": _sign, "metavar": "SIGN"}
    add("--delimiter", **sign, help="what separates the values of a CSV file, such as ';' or tab (a comma)")
    add(
        "--decimal",
        **sign,
        help="the decimal point of a CSV file; , reads 1,5, with ; between the values unless --delimiter says otherwise",
    )
    without = "the first line of a CSV file has no names; its columns are called 0, 1, …"
    add("--no-header", action="store_true", help=without)
    add("--encoding", metavar="NAME", help="how a CSV file is stored, such as cp1252 (utf-8)")
    add("--features", type=_count, metavar="N", help="number of features of svmlight files; saves a reading")
    add("--max-columns", type=_count, metavar="N", help="refuse CSV files with more columns (50,000)")
    add("--max-line-bytes", type=_count, metavar="N", help="refuse text with longer lines (2^26 bytes)")
    add("--chunk-rows", type=_count, metavar="N", help="rows of a chunk of Parquet files (10,000)")


def _add_merge(commands):
    add = _add(commands, "merge", MERGE, _merge.run).add_argument
    add("models", nargs="+", metavar="MODEL", help="the models")
    base = "the model that all of them were trained on from (train --start); it counts once"
    add("--base", metavar="MODEL", help=base)
    add("-o", "--output", required=True, metavar="FILE", help="where the model goes")


def _names(text):
    return [name.strip() for name in text.split(",") if name.strip()]


def _count(text):
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _bits(text):
    if _count(text) > 30:
        raise argparse.ArgumentTypeError(f"2^{text} columns are too many; 30 is the most")
    return int(text)


def _sign(text):
    """A character; a tab may be spelt."""
    sign = "\t" if text in ("tab", "\\t") else text
    if len(sign) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one character")
    return sign


def _setting(text):
    """(name, value) of NAME=VALUE; a value is a Python literal, or else text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
