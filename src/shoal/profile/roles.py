"""From the facts about one column to its role: names, values and uniqueness must agree.

What names people is removed. What is private is published exactly only if its name says so, its
values fit, and rows share them. What is not understood is generalised where it has few values and
removed where it tells people apart; either way it is marked, for a person to decide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.io.vocabulary import Topic, hints_of, says_only, topics_of, words_of
from shoal.messages import Message, joined
from shoal.profile import column_facts as values
from shoal.profile.column_facts import facts_of
from shoal.publish.judgement import Doubt, OpenPoint
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from shoal.profile.column_facts import Facts


# -- Whether texts are names of people: frequent first and family names, titles, and their shape ---
#
# A name that is not in the list is still caught by its company: a column of names holds some that
# are. The lists are short on purpose; they tell columns of names from others, not names from words.

_SOME = 0.2
"""Share of the texts that hold a known name, for texts of one or two words."""
_MOST = 0.6
"""The same where the name of the column speaks of something else."""
_LOOKED_AT = 2_000

_TITLE = re.compile(
    r"^(?:dr|prof|mr|mrs|ms|miss|sir|dott|dra|drs|ing|ra|frau|herr|mme|mlle|monsieur|madame|"
    r"senor|sra|sig|pan|pani)\.? +[^\W\d_]",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")

_FIRST_NAMES = (
    "james john robert michael william david richard joseph thomas charles christopher daniel "
    "matthew anthony mark donald steven paul andrew joshua kenneth kevin brian george edward "
    "ronald timothy jason jeffrey ryan jacob gary nicholas eric jonathan stephen larry justin "
    "scott brandon benjamin samuel gregory frank alexander raymond patrick jack dennis jerry "
    "tyler aaron jose adam henry nathan douglas zachary peter kyle walter ethan jeremy harold "
    "keith roger noah gerald carl terry sean austin arthur lawrence jesse dylan bryan joe jordan "
    "billy bruce albert willie luke mary patricia jennifer linda elizabeth barbara susan jessica "
    "sarah karen nancy lisa betty margaret sandra ashley kimberly emily donna michelle carol "
    "amanda dorothy melissa deborah stephanie rebecca sharon laura cynthia kathleen amy angela "
    "shirley anna brenda pamela emma nicole helen samantha katherine christine debra rachel "
    "carolyn janet catherine maria heather diane ruth julie olivia joyce virginia victoria kelly "
    "lauren christina joan evelyn judith megan andrea cheryl hannah jacqueline martha gloria "
    "teresa ann sara madison frances kathryn janice jean abigail alice julia judy sophia grace "
    "denise amber doris marilyn danielle beverly isabella theresa diana natalie brittany "
    "charlotte marie kayla alexis lori oliver harry jake callum ada ben cleo dan eve finn gus hal "
    "ida jo liam mia ava ella leo max chloe lily sophie hans klaus juergen jürgen wolfgang uwe "
    "sven stefan andreas michaela sabine petra monika ursula birgit heike claudia ingrid renate "
    "helga gisela brigitte karin lukas leon felix jonas lena katharina johanna friedrich heinrich "
    "karl otto fritz dieter manfred horst guenter günter gerhard pierre jacques francois françois "
    "philippe alain bernard michel patrice thierry laurent olivier nicolas julien antoine mathieu "
    "guillaume hugo camille manon nathalie isabelle sylvie valerie celine céline aurelie aurélie "
    "juliette louise antonio manuel francisco juan javier carlos jesus alejandro miguel rafael "
    "pedro pablo angel sergio fernando luis jorge alberto diego raul enrique carmen josefa isabel "
    "dolores pilar cristina lucia lucía paula elena rosa sofia sofía marta marco alessandro "
    "giuseppe giovanni luca matteo lorenzo francesco mario luigi stefano roberto giulia francesca "
    "chiara giorgia valentina alessia martina federica silvia jan piet willem johan pieter henk "
    "kees daan sem bram sanne lotte anouk femke ingeborg marieke joao joão tiago rui nuno paulo "
    "ana beatriz mariana ines inês joana catarina fernanda adriana piotr krzysztof andrzej tomasz "
    "pawel paweł michal michał marcin jakub zofia agnieszka katarzyna malgorzata małgorzata "
    "magdalena joanna ewa stanislaw wojciech lars erik nils anders gustav oskar axel magnus "
    "astrid elsa kristina birgitta ole soren søren jens mohammed mohamed muhammad ahmed ali omar "
    "hassan hussein ibrahim yusuf mustafa fatima aisha khadija zainab maryam mehmet ayse ayşe "
    "emine wei li ming jing hiroshi takashi yuki sakura priya rahul amit sunita raj anil kwame "
    "kofi amara chidi ivan dmitri sergei olga natalia svetlana"
)
_FAMILY_NAMES = (
    "smith johnson williams brown jones garcia miller davis rodriguez martinez hernandez lopez "
    "gonzalez wilson anderson taylor moore jackson martin lee perez thompson harris sanchez clark "
    "ramirez lewis robinson walker young allen king wright torres nguyen hill flores green adams "
    "nelson baker hall rivera campbell mitchell carter roberts evans turner parker collins "
    "edwards stewart morris murphy cook rogers morgan cooper peterson reed bailey kelly howard "
    "cox ward richardson watson brooks wood bennett gray hughes price myers patel khan singh kim "
    "chen wang mueller müller schmidt schneider fischer weber meyer wagner becker schulz hoffmann "
    "koch bauer richter klein wolf schroeder schröder neumann schwarz zimmermann braun krueger "
    "krüger hofmann dubois durand leroy moreau simon lefebvre roux fournier girard mercier dupont "
    "lambert rousseau garcía fernandez fernández gonzález rodríguez lópez martínez sánchez pérez "
    "gomez gómez jimenez jiménez ruiz hernández diaz díaz moreno muñoz alvarez álvarez romero "
    "alonso gutierrez navarro rossi russo ferrari esposito bianchi romano colombo ricci marino "
    "greco bruno gallo conti costa jansen bakker visser smit meijer mulder bos vos peters "
    "hendriks dekker silva santos ferreira pereira oliveira rodrigues martins sousa fernandes "
    "gonçalves nowak kowalski wisniewski wiśniewski wojcik wójcik kowalczyk kaminski kamiński "
    "lewandowski andersson johansson karlsson nilsson eriksson larsson olsson persson svensson "
    "hansen olsen jensen nielsen pedersen ivanov petrov sidorov yilmaz kaya demir tanaka sato "
    "suzuki"
)
_KNOWN = frozenset(f"{_FIRST_NAMES} {_FAMILY_NAMES}".split())


def names_people(texts: pl.Series, *, other_topic: bool) -> bool:
    """Return whether the distinct texts of a column are names of people.

    Args:
        texts: the distinct texts.
        other_topic: whether the name of the column speaks of something else, such as a place; then
            most texts must hold a first name and a second word, or a title.
    """
    step = max(len(texts) // _LOOKED_AT, 1)
    looked = texts.gather_every(step).to_list()
    if not looked:
        return False
    known = sum(_holds_name(text, pairs_only=other_topic) for text in looked)
    return known >= (_MOST if other_topic else _SOME) * len(looked)


def _holds_name(text: str, *, pairs_only: bool) -> bool:
    if len(text) > 60 or any(letter.isdecimal() for letter in text):
        return False
    words = _WORD.findall(text)
    if _TITLE.match(text):
        return True
    if not words or len(words) > 5 or (pairs_only and len(words) < 2):
        return False
    return any(word.casefold() in _KNOWN for word in words)


_SURVEY_ITEM = re.compile(r"(?:q|question|item|frage|likert|pregunta|domanda|vraag)_?[0-9]+.*")
_SENSITIVE = ("diagnosis", "treatment", "lab", "offence", "money", "belief", "result")
QUASI_TOPICS = (
    "age", "birth", "sex", "postcode", "place", "origin", "date", "education", "occupation",
    "family", "body", "plan",
)  # fmt: skip
"""What others may know, what they know best first."""
_EXACT = 0.05
"""Share of the rows with a value of their own, from which money and measures are exact."""
OWN_VALUES = 0.01
"""Share of the rows with a value of their own, from which a person is asked."""
_CLASSES = 20
"""More different sums than this are no classes of income."""
_CODED = ("sex", "origin", "place", "postcode", "family", "occupation", "education", "plan")
_SAYS = {
    "contact": Message("a way to reach a person"),
    "person": Message("the name of a person"),
    "number of a person": Message("a number that belongs to one person"),
    "address": Message("an address"),
    "diagnosis": Message("a diagnosis"),
    "treatment": Message("a treatment"),
    "lab": Message("a medical measurement"),
    "money": Message("money"),
    "belief": Message("belief or orientation"),
    "offence": Message("an offence or a debt"),
    "result": Message("a result or an opinion"),
    "birth": Message("when or where somebody was born"),
    "age": Message("age"),
    "sex": Message("sex"),
    "postcode": Message("a postcode"),
    "place": Message("a place"),
    "occupation": Message("work"),
    "family": Message("family"),
    "education": Message("education"),
    "origin": Message("origin or language"),
    "body": Message("what a person looks like"),
    "date": Message("a date"),
    "plan": Message("a contract, a tariff or a stay"),
}


@dataclass(frozen=True)
class Verdict:
    """A role, why, whether a person should look again, and what the column is about."""

    role: Role
    why: str
    sure: bool = True
    topic: Topic | None = None


def judge(facts: Facts) -> Verdict:
    """Return the verdict on one column, looked at by itself."""
    import polars as pl

    dtype = facts.column.dtype
    if not facts.n_filled:
        return Verdict(Role.DROP, Message("Holds no value at all"))
    if dtype.is_nested() or dtype in (pl.Time, pl.Duration, pl.Binary, pl.Object):
        why = Message(
            "Its data type {dtype} cannot be generalised; convert it to keep it", dtype=str(dtype)
        )
        return Verdict(Role.DROP, why)
    for rule in (
        _as_personal, _as_constant, _as_record, _as_weight, _as_text, _as_date, _as_names,
        _as_stay, _as_private, _as_known, _as_outcome, _as_answer,
    ):  # fmt: skip
        found = rule(facts)
        if found is not None:
            return found
    return _as_unknown(facts)


def names_somebody(facts: Facts) -> str | None:
    """Return why a column seems to name people, if there is little doubt that it does."""
    if not facts.n_filled or facts.column.dtype.is_nested():
        return None
    for rule in (_as_personal, _as_record, _as_names):
        found = rule(facts)
        if found is not None:
            return found.why if found.role is Role.IDENTIFIER and found.sure else None
    return None


def _as_personal(facts: Facts) -> Verdict | None:
    """Contacts, names and numbers of people: by the shape of the values, or by the name."""
    if facts.is_text and not facts.is_date:
        pattern = values.personal_pattern(facts.texts)
        if pattern is not None:
            return Verdict(Role.IDENTIFIER, Message("Its values look like {topic}", topic=pattern))
    if facts.is_date or facts.is_flag or facts.column.dtype.is_float():
        return _as_one_name(facts)
    topic = facts.about("contact", "person", "number of a person", "address")
    # "account_balance" is money, "email_opt_in" is no e-mail, and U/R is no address.
    other = facts.about("money", "diagnosis", "result", "offence") if facts.is_number else None
    many = facts.n_values > 10 or facts.n_values > 0.5 * facts.n_filled
    named = facts.is_text and bool((facts.texts.str.len_chars() > 3).all())
    if topic == "person" and facts.is_count:
        topic = None  # how often somebody was at a doctor's names no doctor
    if topic is not None and other is None and facts.about("postcode") is None:
        if many or (topic == "person" and named):
            return Verdict(
                Role.IDENTIFIER, Message("Its name suggests {topic}", topic=_SAYS[topic])
            )
        if topic != "person" or not facts.is_number:
            why = Message("Its name suggests {topic}, but it has few values", topic=_SAYS[topic])
            return Verdict(Role.QUASI_IDENTIFIER, why, sure=False)
    if facts.is_text and facts.about("name") and many and facts.about(*QUASI_TOPICS) is None:
        return Verdict(Role.IDENTIFIER, Message("Its name suggests the name of a person"))
    return None


def _as_one_name(facts: Facts) -> Verdict | None:
    """One or two doctors are people, too."""
    if facts.is_text and facts.about("person", "name") and _are_names(facts):
        return Verdict(Role.IDENTIFIER, Message("Its name and its values suggest names of people"))
    return None


def _are_names(facts: Facts) -> bool:
    if not facts.is_text or facts.is_date:
        return False
    other = facts.about(*QUASI_TOPICS, *_SENSITIVE, "record") is not None
    return names_people(facts.texts, other_topic=other)


def _as_constant(facts: Facts) -> Verdict | None:
    if facts.n_values > 1 or facts.n_filled < len(facts.column):
        return None
    if facts.is_text and (values.is_free_text(facts.texts) or _are_names(facts)):
        return Verdict(
            Role.DROP, Message("One text in every row, which may hold a name"), sure=False
        )
    return Verdict(Role.INSENSITIVE, Message("The same value in every row tells nobody apart"))


def _as_record(facts: Facts) -> Verdict | None:
    """Numbers of people, cases and devices, also where a person has several rows."""
    whole = facts.column.dtype.is_integer()
    if facts.is_date or not (whole or facts.is_text) or facts.n_values <= 10:
        return None
    name, why = facts.column.name, None
    other = facts.about(*_SENSITIVE, *QUASI_TOPICS)
    keyed = facts.about("key", "glued key") is not None
    many, most = max(10, 0.05 * facts.n_filled), max(20, 0.5 * facts.n_filled)
    only = says_only(name, "whose", "record", "key", "name", "glued key")
    if only and facts.about("whose", "record"):
        why = Message("Its name suggests a person, a case or a device")
    elif only and facts.about("key"):
        why = Message("Its name suggests a number of a person or case")
    elif keyed and other is None and facts.n_values > many:
        why = Message("Its name and its many values suggest a number of a person or case")
    elif keyed and facts.n_values > most and not facts.about("postcode"):
        why = Message("Its name suggests a number, and nearly every row has its own")
    elif whole and facts.nearly_unique and facts.quantile(0.5) >= 1e8 and not facts.about("money"):
        why = Message("Long numbers, one for each row")
    return None if why is None else Verdict(Role.IDENTIFIER, why)


def _as_weight(facts: Facts) -> Verdict | None:
    fingerprint = Message("A survey weight has so many values that it works like a fingerprint")
    if not facts.is_number:
        return None
    body = facts.about("body") is not None and facts.about("lab") is None
    if facts.about("survey weight") and facts.about("age", "birth", "lab") is None:
        if _ENDS_IN_WT.search(words_of(facts.column.name)) and _weighs_people(facts):
            why = Message("Its values are those of the weight of people, which others may know")
            return Verdict(Role.QUASI_IDENTIFIER, why, sure=False, topic="body")
        return Verdict(Role.DROP, fingerprint)
    weighs = re.search(r"(?:weight|gewicht|poids|peso|waga|vikt)", words_of(facts.column.name))
    if body and weighs and facts.column.dtype.is_float() and facts.n_values > 20:
        low, high = facts.quantile(0.05), facts.quantile(0.95)
        # Nobody weighs 1.3, and no adult 4000, in any unit that is in use.
        if low < 20 or high > 500:
            return Verdict(Role.DROP, fingerprint, sure=False)
    return None


_ENDS_IN_WT = re.compile(r"wt(?=_|$)")


def _weighs_people(facts: Facts) -> bool:
    """Return whether values may be what people weigh: adults in kilograms or pounds, or babies."""
    low, middle, high = (facts.quantile(share) for share in (0.05, 0.5, 0.95))
    adults = low >= 30 and high <= 350 and 45 <= middle <= 220
    return adults or (low >= 500 and high <= 6_000 and 2_500 <= middle <= 4_000)


def _as_text(facts: Facts) -> Verdict | None:
    if not facts.is_text or facts.is_date or facts.scale is not None:
        return None
    many = facts.n_values > max(10, 0.2 * facts.n_filled)
    if many and values.is_free_text(facts.texts):
        return Verdict(
            Role.DROP, Message("Free text: it may hold names and stories that no rule finds")
        )
    if facts.about("text") and values.share(facts.texts, r"\S+\s+\S+\s+\S") > 0:
        why = Message(
            "Its name suggests free text, and its values are sentences that may hold names"
        )
        return Verdict(Role.DROP, why)
    if many and facts.about("text"):
        return Verdict(Role.DROP, Message("Its name suggests free text, which may hold names"))
    return None


def _as_date(facts: Facts) -> Verdict | None:
    if not facts.is_date:
        return None
    topic = "birth" if facts.about("birth") else "date"
    return Verdict(
        Role.QUASI_IDENTIFIER, Message("A date that others may know about a person"), topic=topic
    )


def _as_names(facts: Facts) -> Verdict | None:
    if not _are_names(facts):
        return None
    return Verdict(Role.IDENTIFIER, Message("Its values look like names of people"))


_STAY = re.compile(r"(?:^|_)(?:hosp(?!ic)|clinic|klinik|krankenhaus|hopital|ziekenhuis|szpital)")


def _as_stay(facts: Facts) -> Verdict | None:
    """What is called a hospital and is 0 or 1, or counted, is a stay there and no place."""
    counted = facts.is_number and facts.n_values > 1 and facts.distinct[0] == 0
    flag = counted and facts.is_flag and facts.distinct[-1] == 1
    if not _STAY.search(words_of(facts.column.name)) or not (flag or facts.is_count):
        return None
    why = Message("Its values seem to say whether or how often somebody was in hospital")
    return Verdict(Role.SENSITIVE, why, sure=False, topic="result")


def _as_private(facts: Facts) -> Verdict | None:
    """What is published exactly: only where name and values agree, and rows share the values."""
    topic = facts.about(*_SENSITIVE)
    if facts.is_icd:
        topic = "diagnosis"
    if topic is None or not _fits(facts, topic):
        return None
    about = Message("Its name suggests {topic}", topic=_SAYS[topic])
    if facts.is_icd:
        about = Message("Its values look like ICD codes of diagnoses")
    own = facts.alone / facts.n_filled
    if facts.is_number and own >= _EXACT and (topic == "money" or not facts.nearly_unique):
        exact = (
            Message(
                "{about}; exact sums are as good as names, so they are generalised", about=about
            )
            if topic == "money"
            else Message(
                "{about}; exact values are as good as names here, so they are generalised",
                about=about,
            )
        )
        return Verdict(Role.QUASI_IDENTIFIER, exact, topic=topic)
    if facts.nearly_unique and facts.n_filled > 10:
        why = Message(
            "{about}, but nearly every row has a value of its own; round it to publish it",
            about=about,
        )
        return Verdict(Role.DROP, why, sure=False)
    if facts.is_number and (own >= OWN_VALUES or (topic == "money" and facts.n_values > _CLASSES)):
        why = Message(
            "{about}, which is private; but exact values may single people out", about=about
        )
        return Verdict(Role.SENSITIVE, why, sure=False, topic=topic)
    if facts.is_text and facts.n_values > max(20, 0.3 * facts.n_filled) and not facts.is_icd:
        why = Message("{about}, but its many different texts may name people", about=about)
        return Verdict(Role.DROP, why, sure=False)
    return Verdict(Role.SENSITIVE, Message("{about}, which is private", about=about), topic=topic)


def _fits(facts: Facts, topic: Topic) -> bool:
    """Return whether the values are what the topic needs, and no other topic explains them."""
    if _are_years_or_ages(facts):
        return False  # the year of a diagnosis, the age at the first offence
    number, many_texts = facts.is_number, facts.is_text and facts.n_values > 12
    if topic == "money":
        described = facts.is_text and values.share(facts.texts, r"[0-9]") >= 0.5
        return number or described or facts.is_flag
    if topic == "lab":
        return not many_texts
    if topic == "treatment" and number:
        return facts.n_values <= 200
    if topic == "result" and many_texts:
        return facts.scale is not None
    return not (facts.about("whose", "person") and facts.is_text and facts.n_values > 50)


def _are_years_or_ages(facts: Facts) -> bool:
    if not facts.is_number or facts.is_flag:
        return False
    if facts.about("date", "birth") and _are_years(facts):
        return True
    return bool(facts.about("age")) and facts.n_values > 12 and facts.quantile(1) <= 120


def _are_years(facts: Facts) -> bool:
    low, high = facts.quantile(0), facts.quantile(1)
    return facts.column.dtype.is_integer() and low >= 1850 and high <= 2150


def _as_known(facts: Facts) -> Verdict | None:
    """What others may know, if the values are of that kind."""
    for topic in QUASI_TOPICS:
        if topic not in facts.topics or not _known_fits(facts, topic):
            continue
        about = Message("Its values look like {topic}", topic=_SAYS[topic])
        if hints_of(facts.column.name):
            about = Message("Its name suggests {topic}", topic=_SAYS[topic])
        why = Message("{about}, which others may know", about=about)
        if facts.is_text and facts.nearly_unique and topic != "postcode":
            why = Message(
                "Its name suggests {topic}, but almost every row has its own value",
                topic=_SAYS[topic],
            )
            return Verdict(Role.IDENTIFIER, why, sure=False)
        return Verdict(Role.QUASI_IDENTIFIER, why, topic=topic)
    return None


def _known_fits(facts: Facts, topic: Topic) -> bool:
    if topic == "date":
        # "two_year_recid" is a flag, and "date" over other texts is no date.
        return facts.is_number and not facts.is_flag
    if topic == "age" and facts.is_number and not facts.is_flag:
        if says_only(facts.column.name, "age"):
            return True  # in months, or in years before and after fifty
        return facts.quantile(0) >= 0 and facts.quantile(1) <= 130
    if topic == "sex":
        return facts.n_values <= 12
    if topic in ("family", "education", "origin", "occupation", "plan") and facts.is_text:
        return facts.n_values <= max(60, 0.2 * facts.n_filled)
    return True


_OUTCOME = re.compile(
    r"(?:[a-z0-9]+_)?(?:cens(?!us)[a-z]{0,5}[0-9]*)|(?P<any>status|delta|failed?)"
)
_FEW_ENDS = 4


def _as_outcome(facts: Facts) -> Verdict | None:
    """How the time of somebody ended: whether it was cut off, or what happened."""
    named = _OUTCOME.fullmatch(words_of(facts.column.name))
    if named is None or facts.n_values > _FEW_ENDS:
        return None
    why = Message("Its name and its few values suggest what happened to somebody in the end")
    return Verdict(Role.SENSITIVE, why, sure=named["any"] is None, topic="result")


def _as_answer(facts: Facts) -> Verdict | None:
    item = _SURVEY_ITEM.fullmatch(words_of(facts.column.name)) is not None
    short = facts.is_small_code and facts.distinct[0] >= 0 and facts.distinct[-1] <= 10
    on_scale = facts.is_text and values.is_opinion(facts.texts.to_list())
    if on_scale or (item and short):
        why = Message("An answer on a scale: an opinion that others hardly know")
        return Verdict(Role.SENSITIVE, why)
    return None


def _as_unknown(facts: Facts) -> Verdict:
    """What no rule knows: few values are generalised, many are removed; both are marked."""
    if facts.is_text and facts.nearly_unique:
        return Verdict(Role.IDENTIFIER, Message("Almost every row has its own value"))
    found = _as_numbers(facts) or _as_known_anyway(facts)
    if found is not None:
        return found
    if facts.is_text and facts.n_values > 8 and values.share(facts.texts, r"^\p{L}\.?$") == 1:
        why = Message("Single letters may be the initials of people")
        return Verdict(Role.IDENTIFIER, why, sure=False)
    if facts.is_text and facts.n_values > max(20, 0.02 * facts.n_filled):
        why = Message("Many different texts of unknown meaning may name people or places")
        return Verdict(Role.IDENTIFIER, why, sure=False)
    if facts.n_values > max(40, 0.5 * facts.n_filled):
        why = Message("Not recognised, and its many values tell people apart")
        return Verdict(Role.DROP, why, sure=False)
    why = Message("Not recognised, so treated with caution: others may know it")
    return Verdict(Role.QUASI_IDENTIFIER, why, sure=False)


def _as_known_anyway(facts: Facts) -> Verdict | None:
    """What is generalised whatever it means: there is no question to ask."""
    why = None
    if _is_exact_measure(facts):
        why = Message(
            "Not recognised, but many rows have a value of their own, so that exact ones would "
            "single people out whatever they mean"
        )
    elif facts.is_flag and facts.about("whose"):
        why = Message("Says who is one and who is not, which others may know")
    return None if why is None else Verdict(Role.QUASI_IDENTIFIER, why)


def _is_exact_measure(facts: Facts) -> bool:
    """Return whether numbers measure something, so finely that many rows have one of their own.

    Whole numbers above zero may as well number people.
    """
    if not facts.is_number or facts.n_values <= _CLASSES or facts.nearly_unique:
        return False
    if facts.alone < OWN_VALUES * facts.n_filled:
        return False
    whole = facts.column.dtype.is_integer() or bool((facts.filled % 1 == 0).all())
    return not whole or facts.quantile(0) < 0 or facts.is_count


def _as_numbers(facts: Facts) -> Verdict | None:
    """Whole numbers of rows, or of people with several rows each."""
    if not facts.column.dtype.is_integer() or facts.n_filled <= 10:
        return None
    if bool((facts.filled.diff().drop_nulls() == 1).all()):
        return Verdict(Role.IDENTIFIER, Message("It numbers the rows"))
    if facts.n_values == facts.n_filled and facts.n_filled > 50:
        return Verdict(Role.IDENTIFIER, Message("Every row has its own number"))
    repeated = facts.n_filled >= 1.5 * facts.n_values
    if repeated and facts.n_values > 20 and facts.n_runs <= 1.05 * facts.n_values:
        why = Message("Rows with the same number stand together, as those of one person do")
        return Verdict(Role.IDENTIFIER, why, sure=False)
    return None


def is_code(facts: Facts) -> bool:
    """Return whether whole numbers stand for categories: race 1 to 3, the number of a school."""
    if not facts.column.dtype.is_integer():
        return False
    if facts.is_schooling:
        return False
    counted = facts.about("age", "date", "money", "body", "lab") is not None
    counts = re.search(
        r"(?:^|_)(?:n|nb|num|count|hours|size|children|kids|kinder|enfants|hijos|figli|filhos|"
        r"dzieci|barn|tenure|stay|days|years|months|visits|educ|level|edlevel|education|degree)(?=_|$)"
        r"|groesse|dauer|degenza|size|tenure|stay$",
        words_of(facts.column.name),
    )
    if counted or counts:
        return False
    if facts.about(*_CODED):
        return facts.about("place", "postcode") is not None or facts.n_values <= 40
    return facts.n_values <= 7 and topics_of(facts.column.name) == ()


# Columns that name people and are published as they are, as by a slip of the pointer.

_MOST_ROWS = 20_000


def find_slips(frame: pl.DataFrame, exact: Iterable[str]) -> list[Doubt]:
    """Return a sentence for every column that names people and is published; never a cell.

    Args:
        frame: the table; columns that were not read are not looked at.
        exact: the columns that are published as they are.
    """
    found = []
    for name in exact:
        if name in frame.columns and seems_to_name(frame.get_column(name)):
            short = Message(
                "Column {name!r} seems to name people and is published as it is.", name=name
            )
            advice = Message(
                "Make it an identifier, which is removed, unless you are sure that it does not."
            )
            said = joined(" ", [short, advice])
            found.append(Doubt(said, OpenPoint("names people", short, name)))
    return found


def find_cells_in_names(frame: pl.DataFrame, published: Iterable[str]) -> list[Doubt]:
    """Return a sentence if the names of columns are cells of a person; never a cell.

    A file without a line of names gives those of its first row to the columns, and they would be
    published exactly.

    Args:
        frame: the table; columns that were not read are not looked at.
        published: the columns of the release.
    """
    import polars as pl

    names = [name for name in published if name in frame.columns]
    if {*names} <= {str(place) for place in range(frame.width + 1)}:
        return []  # numbered, by whoever made the table
    some = frame.select(names).head(_MOST_ROWS)
    among = sum(
        bool((column.cast(pl.String) == column.name).any())
        for column in some.get_columns()
        if not column.dtype.is_nested() and column.dtype not in (pl.Object, pl.Binary)
    )
    if among < max(2, len(names) / 2):
        return []
    short = Message("The names of the columns look like cells of a row, and they are published.")
    advice = Message("If the first line of the file is data, say --no-header (header=False).")
    return [Doubt(joined(" ", [short, advice]), OpenPoint("names are cells", short))]


def seems_to_name(column: pl.Series) -> bool:
    """Return whether name and values of a column say that it names people."""
    some = column.gather_every(max(1, -(-len(column) // _MOST_ROWS)))
    return names_somebody(facts_of(some)) is not None
