"""Whether texts are names of people: frequent first and family names, titles, and their shape.

A name that is not in the list is still caught by its company: a column of names holds some that
are. The lists are short on purpose; they tell columns of names from others, not names from words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


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
