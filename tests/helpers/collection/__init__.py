"""A collection of tables about people, each column with the role that an expert gives it.

Every value is made up, from seeds. The first part was looked at while the rules of `shoal init`
were made; the second has other domains, languages, vocabularies and seeds, and was not. The third
has the columns of well-known public files, and was labelled when the rules were finished.

How the expert decides:

- identifier (i): names a person, a device, an address or a record, alone.
- person (p): the identifier that says whose row it is, where people have several rows.
- quasi-identifier (q): others may know it about a person. Exact sums of money in which nearly every
  row has a value of its own belong here, too: they are generalised, not published.
- sensitive (s): private, hardly known to others, and shared by enough rows.
- insensitive (n): the same in every row.
- drop (d): free text; a fingerprint that nobody needs, such as a survey weight or a measurement
  with a value of its own in nearly every row; what follows from a quasi-identifier that is kept
  (the finer of the two is kept, unless it singles out most rows by itself).
- wide (w): in a wide table, what is neither demographic nor clearly private. Nobody can tell
  without asking: generalised and asked about is right, and so is dropped.
"""

from tests.helpers.collection.first import FIRST
from tests.helpers.collection.makers import Table
from tests.helpers.collection.second import SECOND
from tests.helpers.collection.third import THIRD

__all__ = ["FIRST", "ROLES", "SECOND", "THIRD", "Table"]

ROLES = {
    "i": "identifier",
    "p": "person",
    "q": "quasi-identifier",
    "s": "sensitive",
    "n": "insensitive",
    "d": "drop",
}
