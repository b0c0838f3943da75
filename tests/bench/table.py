"""Tables of long runs, with a tab between cells: one that is begun again goes on where it was.

The first KEY cells of a row say what it is of; that a row is added twice replaces it. The file is whole after every row, and sorted.
"""

import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEY = 3


class Table:
    """Rows by their key, each a dictionary by column."""

    def __init__(self, path, head):
        self.path, self.head, self.rows = path, head, {}
        if os.path.exists(path):
            with open(path) as file:
                for line in file.read().splitlines()[1:]:
                    self.put(line.split("\t"))

    def put(self, cells):
        self.rows[tuple(cells[:KEY])] = dict(zip(self.head, cells, strict=True))

    def add(self, *cells):
        self.put(cells)
        with open(self.path + ".new", "w") as file:
            for row in self.head, *(self.rows[key].values() for key in sorted(self.rows, key=numbers_last)):
                print(*row, sep="\t", file=file)
        os.replace(self.path + ".new", self.path)


def numbers_last(key):
    """What keys are sorted by: numbers by what they are."""
    return [(word.isdigit() and int(word), word) for word in key]


def add_options(parser, table):
    """Options of what makes a table."""
    parser.add_argument("--table", default=table)
    parser.add_argument("--compiler", default=commit(), help="what the compiler is called in the table")


def commit():
    """What a compiler is called in a table: the commit of this tree, where it has one."""
    said = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return said.stdout.strip() or "unknown"
