"""The command ``adareg``: train, predict and look at models from a shell.

Exit codes: 0, done; 1, what was asked cannot be done, with a sentence on the standard error; 2, the command line is wrong; 130,
Ctrl-C.
"""

import sys

from ._parser import make_parser


def _sentence(error):
    """What an error says, on one line."""
    if isinstance(error, OSError) and error.strerror:  # the system's, not one of ours
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}; check the path, its permissions and the space on the disk."
    return " ".join(str(error).split())


def main(arguments=None):
    """Run the command; its exit code."""
    parser = make_parser()
    given = parser.parse_args(arguments)
    if not hasattr(given, "run"):
        parser.print_help()
        return 2
    try:
        given.run(given)
    except KeyboardInterrupt:
        print("\nadareg: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader has gone, as head does
        sys.stderr.close()
        return 0
    except (ValueError, TypeError, OSError, ImportError, MemoryError, AttributeError) as error:
        notes = " ".join(getattr(error, "__notes__", ()))
        print(f"adareg: {_sentence(error)} {notes}".rstrip(), file=sys.stderr)
        return 1
    return 0
