"""What the name of a column says about it: a vocabulary in several languages.

A name is cut into words (``PatientFirstName``, ``code_postal``, ``Geburtsdatum``), accents are
dropped, and the words are looked up. Names only ever support a guess; the values decide kinds,
and a person decides in the end.
"""

from __future__ import annotations

import re
import unicodedata

from shoal.io.vocabulary import HINTS, SMALL_WORDS, VOCABULARY

__all__ = ["Topic", "hints_of", "says_only", "topics_of", "words_of"]

Topic = str
"""What a name is about: ``"person"``, ``"postcode"``, ``"diagnosis"`` and so on."""

_LONGEST = 200


def _pattern(words: str) -> re.Pattern[str]:
    joined = "|".join(re.escape(word).replace(r"\~", "~") for word in words.split())
    return re.compile(f"(?:^|_)(?:{joined.replace('~', '[a-z0-9]*')})(?=_|$)")


_PATTERNS = {topic: _pattern(words) for topic, words in VOCABULARY.items()}
_WIDE = _PATTERNS | {
    topic: _pattern(f"{VOCABULARY.get(topic, '')} {words}") for topic, words in HINTS.items()
}


def words_of(name: str) -> str:
    """Return a name as lower-case words joined by underscores, without accents.

    >>> words_of("PatientFirstName"), words_of("Größe (cm)")
    ('patient_first_name', 'groesse_cm')
    """
    name = name[:_LONGEST]  # what a name is about is said in fewer letters
    umlauts = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
    text = unicodedata.normalize("NFC", name).translate(umlauts).replace("ß", "ss")
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain)
    return re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")


def topics_of(name: str) -> tuple[Topic, ...]:
    """Return what the name is about, in the order of the vocabulary.

    >>> topics_of("Postleitzahl"), topics_of("city_name"), topics_of("Geburtsdatum")
    (('postcode',), ('name', 'place'), ('birth', 'date'))
    """
    words = words_of(name)
    return tuple(topic for topic, pattern in _PATTERNS.items() if pattern.search(words))


def hints_of(name: str) -> tuple[Topic, ...]:
    """Return what the name may be about, words included that are as often a cell as a name.

    >>> hints_of("female"), topics_of("female")
    (('sex',), ())
    """
    words = words_of(name)
    return tuple(topic for topic, pattern in _WIDE.items() if pattern.search(words))


def says_only(name: str, *topics: Topic) -> bool:
    """Return whether a name consists of words of these topics alone, and of at least one.

    >>> says_only("patient_id", "whose", "key"), says_only("patient_type", "whose", "key")
    (True, False)
    """
    words = words_of(name)
    left = words
    for topic in topics:
        left = _WIDE[topic].sub("", left)
    rest = {word for word in left.split("_") if word and not word.isdecimal()}
    return left != words and rest <= SMALL_WORDS
