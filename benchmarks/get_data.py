"""Gather the data sets of the benchmarks in a folder, and check that they are the ones the figures were measured on.

``python benchmarks/get_data.py DATA_DIR`` takes what installed packages have (river) and downloads what is published as it is used.
``--mirror PLACE`` takes ``NAME.svm.gz`` from a folder or an address instead; sets that had to be prepared are to be had only there.
``--list`` prints every set with its source and licence. What is in DATA_DIR already is checked and kept.
"""

import argparse
import bz2
import gzip
import io
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from data_sets.sources import SOURCES, fingerprint, six_digits
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

TIMEOUT = 60  # seconds without an answer


class Refused(Exception):
    """Why a set is not in the folder, in one sentence."""


def main(arguments=None):
    """Gather, check, report; the exit code is 1 when a set is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="DATA_DIR", nargs="?", help="where the sets go")
    parser.add_argument("--mirror", metavar="PLACE", help="folder or address with NAME.svm.gz")
    parser.add_argument("--data", nargs="+", metavar="NAME", help="only these sets")
    parser.add_argument("--list", action="store_true", help="sources and licences")
    args = parser.parse_args(arguments)
    if args.list:
        print_sources()
        return 0
    if args.folder is None:
        parser.error("give the folder DATA_DIR, or --list")
    unknown = [name for name in args.data or () if name not in SOURCES]
    if unknown:
        parser.error(f"there is no set {unknown[0]}; --list has the names")
    wanted = [name for name in SOURCES if not args.data or name.removesuffix(".t") in args.data]
    folder = Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    missing = 0
    for name in wanted:
        try:
            print(f"{name:24} {get(name, folder, args.mirror)}", flush=True)
        except Refused as refusal:
            missing += 1
            print(f"{name:24} MISSING: {refusal}", flush=True)
    print(f"\n{len(wanted) - missing} of {len(wanted)} files are in {folder}")
    return 1 if missing else 0


def get(name, folder, mirror):
    """Put one set into the folder, checked; where it came from."""
    target = folder / f"{name}.svm.gz"
    if target.exists():
        check(name, target)
        return "was there"
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        fresh = Path(scratch) / target.name
        if mirror:
            fresh.write_bytes(from_mirror(name, mirror))
            came_from = "mirror"
        else:
            came_from = make(name, fresh)
        check(name, fresh)
        fresh.replace(target)  # whole or not at all
    return came_from


def from_mirror(name, mirror):
    """The bytes of a set from a folder or an address."""
    if "://" in mirror:
        return download(f"{mirror.rstrip('/')}/{name}.svm.gz")
    file = Path(mirror) / f"{name}.svm.gz"
    if not file.is_file():
        raise Refused(f"the mirror has no file {file}")
    return file.read_bytes()


def make(name, target):
    """Write a set from an installed package or from its published file; where it came from."""
    source = SOURCES[name]
    if source.package:
        try:
            X, y = source.package()
        except ImportError as error:
            raise Refused(f"it comes with a package that is not installed ({error})") from None
        came_from = "installed package"
    elif source.url:
        try:
            X, y = source.read(unpacked(download(source.url)))
        except (ValueError, KeyError) as error:
            raise Refused(f"{source.url} is not in the format that was expected ({error})") from None
        came_from = source.url
    else:
        raise Refused(f"it was prepared from {source.origin}; use --mirror")
    X = sparse.csr_matrix(X)
    X.data = six_digits(X.data)
    with gzip.open(target, "wb", compresslevel=6) as file:
        text = io.BytesIO()
        dump_svmlight_file(X, y, text, zero_based=False)
        file.write(text.getvalue())
    return came_from


def download(url):
    """The bytes at an address."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            return answer.read()
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        raise Refused(f"{url} cannot be read ({getattr(error, 'reason', error)})") from None


def unpacked(content):
    """What a bzip2 file holds; tar archives stay as they are."""
    return bz2.decompress(content) if content.startswith(b"BZh") else content


def check(name, file):
    """Refuse rows that are not those of the figures."""
    try:
        found = fingerprint(*load_svmlight_file(str(file), zero_based=False))
    except (ValueError, OSError) as error:
        raise Refused(f"{file} is not a gzipped svmlight file ({error})") from None
    if found != SOURCES[name].fingerprint:
        raise Refused(
            f"the rows of {file} are not those that the figures were measured on "
            f"(fingerprint {found}, not {SOURCES[name].fingerprint})"
        )


def print_sources():
    """Every set, how it is had, and under which licence."""
    print(f"{'file':24} {'from':22} {'licence':46} origin")
    for name, source in SOURCES.items():
        had = "installed package" if source.package else "download" if source.url else "--mirror"
        print(f"{name:24} {had:22} {source.licence:46} {source.origin}")


if __name__ == "__main__":
    sys.exit(main())
