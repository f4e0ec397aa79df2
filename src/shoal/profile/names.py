"""What the name of a column says about it: a vocabulary in several languages.

A name is cut into words (``PatientFirstName``, ``code_postal``, ``Geburtsdatum``), accents are
dropped, and the words are looked up. Names only ever support a guess; the values decide kinds,
and a person decides in the end.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["Topic", "topics_of", "words_of"]

Topic = str
"""What a name is about: ``"person"``, ``"postcode"``, ``"diagnosis"`` and so on."""

_LONGEST = 200

# Every alternative stands for whole words; a trailing ~ allows any ending, as in diagnos~.
_VOCABULARY: dict[Topic, str] = {
    # identifiers
    "contact": "email mail e_mail phone telephone telefon~ mobile mobil fax tel handy telefono "
    "telefone correo courriel",
    "person": "surname firstname lastname fullname first_name last_name full_name middle_name "
    "maiden_name family_name given_name forename nickname username user_name login vorname "
    "nachname familienname prenom nom nombre apellido~ nome cognome voornaam achternaam sobrenome",
    "number of a person": "ssn nhs nhs_number mrn social_security~ passport~ tax_id national_id "
    "nin dni nif cpf bsn steuer_id steuernummer sozialversicherung~ licen~ iban bic account "
    "account_number card_number credit_card~ medical_record~ uuid guid kontonummer versicherten~ "
    "krankenkassennummer matrikel~ numero_secu plate license_plate kennzeichen imei vin",
    "address": "address street addr adresse anschrift strasse hausnummer house_number direccion "
    "calle rue indirizzo straat adres endereco url website ip ip_address mac",
    "key": "id key nr no num number code ref reference identifier kennung nummer numero",
    "name": "name",
    # sensitive
    "diagnosis": "diagnos~ icd icd9 icd10 icd_10 disease~ illness condition symptom~ krankheit "
    "maladie enfermedad malattia ziekte doenca drg comorbid~ tumou~ cancer hiv",
    "treatment": "treatment~ therap~ medication~ drug drugs prescription~ procedure~ surgery "
    "allerg~ behandlung~ medikament~ traitement tratamiento ops cpt atc disability~ pregnan~ "
    "mental~ psych~ vaccin~ lab blood glucose cholesterol systolic diastolic pulse hemoglobin",
    "money": "salary income wage wages pay earnings revenue bonus debt loan balance spend spent "
    "spending amount price cost costs charge charges fee gain loss capital turnover gehalt "
    "einkommen lohn umsatz betrag kosten salaire revenu salario sueldo ingreso~ stipendio reddito "
    "inkomen salaris renda credit",
    "belief": "religion religio~ faith belief~ politic~ party vote voting union orientation "
    "sexuality konfession glaube partei politique creencia",
    "offence": "offen~ conviction~ crime~ criminal arrest~ sentence verdict straftat",
    "result": "outcome result results grade grades mark score satisfaction rating opinion "
    "attitude answer response nps died death deceased mortality readmi~ churn~ satisfied "
    "zufriedenheit ergebnis note resultado",
    # quasi-identifiers
    "birth": "dob birth birthday birthdate born birth~ geburt~ geb naissance nacimiento nascita "
    "geboorte~ nascimento",
    "age": "age ages alter edad eta leeftijd idade agegroup age_group altersgruppe",
    "date": "date datum day month year time timestamp fecha jahr monat annee mois ano anno jaar "
    "aufnahmedatum entlassungsdatum",
    "sex": "sex gender geschlecht sexe genre sexo genero sesso genere geslacht",
    "postcode": "zip zipcode zip_code postcode postal postal_code post_code plz postleitzahl "
    "code_postal codigo_postal cp pincode eircode cap_code",
    "place": "city town village county state province region country nation nationality citizen~ "
    "birthplace district municipality canton land bundesland stadt ort wohnort gemeinde kreis "
    "staat nationalitaet staatsangehoerigkeit ville pays commune departement ciudad pais provincia "
    "citta paese stad provincie cidade latitude longitude lat lon lng location residence hospital "
    "site neighbourhood neighborhood continent store branch filiale",
    "occupation": "occupation job jobtitle job_title profession beruf employer employment company "
    "industry sector workclass department division position rank metier ocupacion profesion "
    "professione lavoro beroep hours seniority tenure branche arbeitgeber team",
    "family": "marital marital_status civil_status relationship household children child kids "
    "family dependents married spouse familienstand kinder etat_civil estado_civil stato_civile "
    "burgerlijke_staat",
    "education": "education degree school qualification diploma study studies bildung "
    "schulabschluss abschluss formation educacion istruzione opleiding university college major",
    "origin": "race ethnic~ ethnicity ethnie tribe caste skin language mother_tongue muttersprache "
    "sprache langue lengua idioma migration ancestry",
    "body": "height weight bmi eye eyes hair handedness blood_type blood_group groesse gewicht",
    # neither
    "survey weight": "fnlwgt wgt pweight sample_weight survey_weight sampling_weight final_weight "
    "expansion_factor weighting",
    "text": "comment comments note notes remark~ description free_text freetext text bemerkung~ "
    "kommentar~ anmerkung~ commentaire~ comentario~ message feedback memo",
}


def _pattern(words: str) -> re.Pattern[str]:
    parts = [re.escape(word).replace(r"\~", "~") for word in words.split()]
    joined = "|".join(part[:-1] + "[a-z0-9]*" if part.endswith("~") else part for part in parts)
    return re.compile(f"(?:^|_)(?:{joined})(?=_|$)")


_PATTERNS = {topic: _pattern(words) for topic, words in _VOCABULARY.items()}


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
    (('postcode',), ('name', 'place'), ('birth',))
    """
    words = words_of(name)
    return tuple(topic for topic, pattern in _PATTERNS.items() if pattern.search(words))
