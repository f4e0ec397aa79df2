"""The words that names of columns are made of, by topic, in ten languages.

Every entry stands for whole words. A trailing ~ allows any ending (``diagnos~``), a leading one any
beginning (``~nummer``); words are lower case, without accents, umlauts as two letters.
"""

from __future__ import annotations

import re
import unicodedata

_SMALL = (
    "a an and are at av da das de del della dem den der des di die do du e een el et for het i "
    "in is la las le les los na o och of og or the und van w what which y you your z"
)
SMALL_WORDS = frozenset(_SMALL.split())
"""Words that say nothing about a column."""

VOCABULARY: dict[str, str] = {
    # identifiers
    "contact": (
        "email mail e_mail emails mailadresse e_mailadres phone phones telephone telefon~ mobile "
        "mobil mobilnummer cellphone cell_phone fax tel handy handynummer telefono telefone tlf "
        "correo courriel celular cellulare movil gsm msisdn komorka whatsapp skype"
    ),
    "person": (
        "surname surnames firstname lastname fullname first_name last_name full_name middle_name "
        "maiden_name family_name given_name forename forenames nickname username user_name login "
        "signature initials initial init vorname~ nachname~ familienname~ geburtsname~ rufname~ "
        "patientenname~ "
        "~kundenname prenom~ nom noms nombre nombres apellido~ nome nomi cognome~ voornaam "
        "achternaam naam roepnaam voorletters sobrenome apelido nazwisko~ imie imiona fornamn "
        "efternamn namn fornavn etternavn efternavn navn doctor physician surgeon gp_name arzt "
        "aerztin hausarzt behandler therapist medecin medico medica dottore lekarz laekare "
        "huisarts arts provider_name nurse_name lawyer attorney judge defendant plaintiff victim "
        "witness anwalt verteidiger richter beschuldigte~ angeklagte~ avocat juge accuse abogado "
        "acusado juez advogado arguido avvocato imputato giudice advocaat verdachte manager_name "
        "manager supervisor_name supervisor teacher_name contact_name contact_person "
        "ansprechpartner next_of_kin emergency_contact mother_name father_name parent_name "
        "guardian spouse_name account_holder policyholder cardholder holder owner titular "
        "proprietario inhaber eigentuemer titulaire relationship_manager"
    ),
    "number of a person": (
        "ssn nhs nhs_number mrn social_security~ passport~ tax_id national_id nin dni nif nie cpf "
        "cnpj rg bsn pesel nip regon personnummer personnr cpr fodselsnummer foedselsnummer "
        "fodselsnr foedselsnr steuer_id steuernummer sozialversicherung~ licen~ iban bic "
        "account_number card_number credit_card~ medical_record~ uuid guid kontonummer "
        "versicherten~ krankenkassennummer matrikel~ matricule matricola matricula numero_secu "
        "numero_securite_sociale nss plate license_plate kennzeichen imei imsi vin codice_fiscale "
        "historia_clinica numero_historia patientnummer personalnummer persnr personeelsnr "
        "personeelsnummer employee_number badge"
    ),
    "address": (
        "address street addr adresse~ anschrift strasse hausnummer house_number direccion "
        "domicilio calle rue indirizzo straat adres endereco morada ulica adress gata url website "
        "ip ip_address last_ip mac mac_address homepage"
    ),
    "whose": (
        "patient~ subject subjects participant~ respondent~ resp proband~ person persons personne "
        "people individual~ student~ stdnt pupil~ schueler~ eleve~ alumno~ alunno alunni aluno~ "
        "studente leerling employee~ mitarbeiter~ empleado~ empleada medewerker~ dipendente~ "
        "funcionario~ worker~ inmate~ detainee~ prisoner~ offender customer~ cust client~ kunde~ "
        "kundin cliente~ klant~ klient~ user~ usuario~ nutzer~ utente member~ mitglied~ household "
        "hh family_no owner tenant~ buyer voter~ donor~ beneficiary persona osoba pacjent~ "
        "paciente~ paziente usubj~ subj teacher lehrer~ enseignant profesor~ insegnante "
        "beneficiario applicant~ candidate~"
    ),
    "record": (
        "case cases fall booking~ policy registry register certificate ticket invoice order file "
        "record docket visit encounter episode admission~ application contract_no contract_number "
        "device meter serial sensor~ session transaction interview intervista enquete dossier "
        "processo proceso pratica sag sak sprawa aktenzeichen rechnung vorgang expediente "
        "historia folio imsi"
    ),
    "key": (
        "id ids key nr nro no num number code ref reference identifier identifiant identificador "
        "kennung nummer numero numer lfdn lfd lfdnr rownum row_number rowid index idx sequence "
        "seq serial ~nummer ~kennung ~kennziffer"
    ),
    "name": "name names ~name",
    # sensitive
    "diagnosis": (
        "diagnos~ ~diagnose ~diagnosen diagnost~ icd icd9 icd10 icd_10 disease~ illness~ "
        "condition conditions symptom~ complaint~ krankheit krankheiten maladie~ enfermedad~ "
        "malattia~ ziekte~ doenca~ choroba sjukdom~ sygdom~ rozpoznanie drg comorbid~ tumou~ "
        "tumor~ cancer hiv high_blood_pressure stage staging histology disorder~ injury injuries "
        "handicap disability~ disabilita ~behinderung discapacidad deficiencia handikap"
    ),
    "treatment": (
        "treatment~ therap~ terapia medication~ medicine~ drug drugs dose dosage prescription~ "
        "procedure~ surgery surgical operation allerg~ behandlung~ medikament~ traitement~ "
        "tratamiento~ trattamento tratamento behandeling~ leczenie lekarstwo laekemedel lakemedel "
        "medicijn~ ops cpt atc pregnan~ mental~ psych~ vaccin~ arm treatment_arm smok~ alcohol "
        "drinking triage ~bedarf"
    ),
    "lab": (
        "lab labs blood glucose gluc cholesterol chol ldl hdl triglycerides systolic diastolic "
        "sbp dbp blood_pressure pulse heart_rate heartrate resting_heart_rate respiratory_rate "
        "resp_rate spo2 oxygen~ temp temp_c temperature body_temperature hemoglobin haemoglobin "
        "hb hgb hba1c hematocrit haematocrit albumin alb bilirubin bili creatinin~ urea bun "
        "sodium potassium calcium magnesium phosph~ platelet~ plt wbc rbc leukocyt~ lymphocyt~ "
        "neutrophil~ crp esr ferritin iron tsh psa inr alt ast alp ggt ldh ck cpk troponin "
        "lactate ph pco2 po2 egfr gfr insulin vitamin~ ejection_fraction serum~ plasma urine "
        "titer titre viral_load cd4 ecg qtc gestation~ apgar~ birth_weight~ birthweight~ "
        "birthwt bwt bwght bweight sleep sleep_hours weight_loss wt_loss wt_gain weight_gain "
        "weight_change blutdruck puls glukose kreatinin natrium kalium "
        "tension glycemie glucemia glicemia colesterol ciśnienie cisnienie saturation"
    ),
    "money": (
        "salary salaries income incomes inc wage wages pay payment_amount earnings revenue "
        "revenues bonus debt debts loan loans balance spend spent spending amount price cost "
        "costs charge charges fee fees capital turnover bond bail premium rent fine fines gehalt "
        "~gehalt einkommen ~einkommen lohn ~lohn umsatz ~umsatz betrag ~betrag kosten ~kosten "
        "miete preis salaire~ revenu revenus chiffre_affaires ca panier panier_moyen montant prix "
        "loyer salario~ sueldo ingreso ingresos importe gasto~ precio stipendio reddito redditi "
        "importo spesa prezzo inkomen salaris loon omzet bedrag renda rendimento ordenado valor "
        "preco kwota wynagrodzenie zarobki pensja dochod cena inkomst inkomster loen indkomst "
        "indtaegt beloeb belopp credit hhninc ~inc ~income ~wage ~salary"
    ),
    "belief": (
        "religion relig religio~ faith belief~ politic~ party partyid party_id vote voted voting "
        "union union_member orientation sexuality sexual_orientation konfession glaube partei "
        "sonntagsfrage politique parti creencia partido religione partito sindacato sindicato "
        "syndicat gewerkschaft vakbond religiao religie geloof wyznanie partia "
        "religionstillhorighet"
    ),
    "offence": (
        "offen~ offense~ conviction~ crime~ criminal arrest~ charge_desc charge_degree sentence~ "
        "verdict recid~ reincid~ recidiv~ reincidente priors ~priors prior_count felony fel "
        "misdemeanor misd parole probation jail_days straftat~ delikt~ urteil~ strafmass ~strafe "
        "delit delito~ condena~ pena pene reato reati sentenza misdrijf vonnis przestepstwo wyrok "
        "brott dom infraction peine default defaulted inadimpl~ arrears"
    ),
    "result": (
        "outcome~ result results grade grades mark marks score scores ~score satisf~ rating "
        "rate_us opinion~ attitude~ answer answers response nps died death deaths mortality "
        "survived survival vital_status vital readmi~ admitted discharged_alive relapse churn~ "
        "subscribed failures satisfied recommend zufriedenheit ergebnis~ note noten resultado~ "
        "nota notas voto voti cijfer ocena betyg karakter zgon fallecid~ fallecimiento deces "
        "decede verstorben gestorben deceduto overleden obito performance engagement event "
        "death_event adverse_event ae happiness trust trust_gov fiducia confianza vertrauen "
        "wellbeing life_satisfaction health beca scholarship absences absence ~absences fehltage "
        "krankheitstage assenze ausencias faltas verzuim~ absencje docvis hospvis doctor_visits "
        "hospital_visits stress loneliness studytime"
    ),
    # quasi-identifiers
    "birth": (
        "dob yob birth birthday birthdate birthyear birthmonth born birth~ geburt~ geb naissance "
        "naiss nacimiento nac nascita geboorte~ nascimento nasc urodzen~ urodzenia foedelse~ "
        "fodelse~ foedsel~ fodsel~ fodt foedt"
    ),
    "age": (
        "age ages alter edad eta leeftijd idade wiek alder aalder agegroup age_group agecat "
        "age_cat age_class altersgruppe altersklasse tranche_age fascia_eta grupo_edad agegrp "
        "leeftijdsgroep"
    ),
    "date": (
        "date dates datum ~datum ~date day days ~day month months year years time timestamp ts "
        "fecha~ jahr ~jahr monat ~monat tag ~tag annee mois jour ano anos anno mese giorno jaar "
        "maand dag data_ rok miesiac dzien ar manad datetime ~dato dato weekday dayofweek "
        "wochentag wave quarter week visitdy visitnum visit_number eintritt austritt zuzug seit "
        "since hired hire_date joined in_dienst recorded_at booked_at arrival"
    ),
    "sex": (
        "sex gender geschlecht sexe genre sexo genero sesso genere geslacht plec kon koen kjonn "
        "anrede salutation title civilite tratamiento_title"
    ),
    "postcode": (
        "zip zips zipcode zip_code postcode~ postal postal_code post_code plz postleitzahl "
        "code_postal codigo_postal cp cap pincode pin_code eircode kod_pocztowy postnummer postnr "
        "fips"
    ),
    "place": (
        "city town village county state province region country nation nationality citizen~ "
        "birthplace district municipality canton land bundesland stadt ort wohnort gemeinde kreis "
        "staat nationalitaet staatsangehoerigkeit ville pays commune departement~ ciudad pais "
        "provincia municipio comune citta paese stad provincie woonplaats gemeente cidade "
        "concelho distrito miasto wojewodztwo gmina powiat kraj kommun kommune lan landsdel "
        "nacionalidad nacionalidade nationalite nazionalita cittadinanza nationaliteit "
        "obywatelstwo medborgarskap regione regiao regio latitude longitude lat lon lng location "
        "residence hospital hospitals clinic ward unit site siteid site_id neighbourhood "
        "neighborhood continent store branch filiale station service reparto afdeling oddzial "
        "avdelning school schools schoolid ecole escuela scuola szkola skola klasse classe class "
        "classroom clase curso turma room bed cell zimmer tower facility centre center area "
        "quartier barrio krankenhaus klinik hopital ospedale ziekenhuis szpital"
    ),
    "occupation": (
        "occupation job jobs jobtitle job_title ~job profession beruf taetigkeit employer "
        "employment company industry sector workclass department dept division abteilung position "
        "poste puesto rank metier ocupacion profesion profissao professione lavoro mansione "
        "beroep functie zawod stanowisko yrke stilling hours hours_per_week seniority tenure "
        "branche arbeitgeber firma team departamento categoria job_status anstallning occup"
    ),
    "family": (
        "marital ~marital marital_status maritaldesc civil_status relationship ~household "
        "household_size hhsize children child kids n_children nb_enfants enfants family "
        "dependents partner spouse familienstand kinder haushaltsgroesse etat_civil "
        "situation_familiale estado_civil stato_civile burgerlijke_staat stan_cywilny civilstand "
        "hijos figli filhos dzieci barn parity parents famsize siblings famille"
    ),
    "education": (
        "education educ ~educ edu ~edu edlevel degree qualification diploma study studies bildung "
        "schulabschluss abschluss formation diplome niveau_etudes educacion estudios "
        "nivel_estudios istruzione titolo_studio opleiding onderwijs educacao escolaridade "
        "wyksztalcenie utbildning uddannelse utdanning university college major universite"
    ),
    "origin": (
        "race ~race ethnic~ ethnicity ethnie tribe caste skin language mother_tongue "
        "muttersprache sprache langue lengua idioma lingua taal jezyk sprak migration ancestry "
        "herkunft origine origen raza"
    ),
    "body": (
        "height heightinches weight weight_kg bmi eye eyes eye_color eyecolor hair handedness "
        "blood_type blood_group groesse koerpergroesse gewicht taille poids altura estatura talla "
        "peso altezza lengte wzrost waga langd vikt"
    ),
    "plan": (
        "contract tariff tier loyalty~ segment insurance insurer krankenkasse plan subscription "
        "payment~ zahlungsart lunch freelunch newsletter length_of_stay lengthofstay los "
        "verweildauer giorni_degenza duree_sejour hospitalization stay"
    ),
    # neither
    "survey weight": (
        "fnlwgt wgt wt ~wgt ~wt wts~ pweight ~pweight sample_weight survey_weight sampling_weight "
        "final_weight expansion_factor weighting gewichtung gewichtungsfaktor hochrechnungsfaktor "
        "ponderation coef_pond factor_expansion ponderacion fattore_peso weegfactor weging "
        "waga_analityczna vikter"
    ),
    "text": (
        "comment comments note notes remark~ description free_text freetext text bemerkung~ "
        "kommentar~ anmerkung~ commentaire~ comentario~ observacion~ observac~ osservazion~ "
        "note_libere opmerking~ uwagi anmarkning~ bemaerkning~ message feedback memo anything "
        "else"
    ),
}

HINTS: dict[str, str] = {
    "diagnosis": (
        "covid~ anaemia anemia diabet~ asthma hypertension depress~ anxiety ulcer~ ascites "
        "edema oedema hepat~ histol~ obstruct~ perfor~ adhes~ metasta~ menopaus~ lesion~ nodes "
        "lymph~ infect~ hemophil~ haemophil~ fracture~ stroke infarct~ angina seizure~ epilep~ "
        "obes~ dement~ arthrit~ copd ckd disab disabled chron chronic sick sickness ~disease "
        "karno~ ecog bdi gleason"
    ),
    "treatment": (
        "smoker cigs cigarettes raucher fumador fumatore roker trt treat treated rx placebo "
        "regimen steroid~ chemo~ radiotherap~ transplant~ hormon~ prescri~ ~presc medecine "
        "antibiotic~ randomi~ surg"
    ),
    "result": (
        "dead deceased happy cens censor censored censoring relaps~ recurr~ improved gpa ~gpa sat "
        "gre gmat toefl iq hlth risk_aver~ affairs"
    ),
    "sex": "female male woman man fem femme masc",
    "origin": "black white nonwhite hispanic hisp asian native foreign~ immigrant~ ethn eth",
    "family": (
        "married single divorced widowed unmarried marr maried child child~ kid ~kids "
        "dependent~ pregnancies"
    ),
    "occupation": (
        "unemployed retired employed outwork experience exper exp expr ind indus bluecol "
        "bluecollar whitecollar occ ~occ jobclass self_employed selfempl~ wks weeks_worked "
        "constr~ manuf~ agric~ trade services"
    ),
    "education": "schooling educatn grad graduate~ literate literacy discipline",
    "offence": "felon~",
    "place": (
        "urban rural smsa north~ south~ east eastern west western midwest inst instit institut~"
    ),
    "age": "senior~",
    "money": "earn earns profit profits sales asset assets wealth savings",
    "plan": "insur~ insured uninsured medicaid medicare hmo",
    "glued key": "~id ~nr ~no ~num ~number ~key ~ref",
}
"""Words that are as often a cell as the name of a column; they tell nothing about a first line."""

TOTAL_WORDS: tuple[str, ...] = (
    *("total", "totals", "subtotal", "sub-total", "grand total", "overall", "sum", "average"),
    *("mean", "median", "count", "∑", "Σ", "summe", "summen", "gesamt", "gesamtsumme"),
    *("insgesamt", "zwischensumme", "endsumme", "teilsumme", "mittelwert", "durchschnitt"),
    *("anzahl", "total général", "totaux", "somme", "sous-total", "ensemble", "moyenne"),
    *("suma", "sumas", "totales", "suma total", "total general", "promedio", "totale"),
    *("totale generale", "subtotale", "somma", "complessivo", "media", "totaal", "subtotaal"),
    *("eindtotaal", "som", "gemiddelde", "totais", "total geral", "soma", "média", "razem"),
    *("ogółem", "łącznie", "suma końcowa", "średnia", "summa", "totalt", "delsumma"),
    *("medelvärde", "i alt", "ialt", "sum i alt", "delsum", "samlet", "gennemsnit", "snitt"),
)
"""What a row of totals begins with, in the same languages."""

MISSING_WORDS: frozenset[str] = frozenset(
    (
        *("missing", "missing value", "not available", "not applicable", "n/a", "na", "no answer"),
        *("no response", "refused", "refusal", "don't know", "dont know", "do not know", "dk"),
        *("not stated", "not asked", "not reported", "not ascertained", "no data", "invalid"),
        *("inapplicable", "system missing", "keine angabe", "k. a", "k.a", "ohne angabe"),
        *("weiß nicht", "weiss nicht", "verweigert", "trifft nicht zu", "nicht zutreffend"),
        *("fehlend", "fehlender wert", "nicht erhoben", "entfällt", "sans réponse", "ne sait pas"),
        *("non réponse", "refus", "sans objet", "manquant", "non renseigné", "no contesta"),
        *("no sabe", "ns/nc", "sin respuesta", "no aplica", "perdido", "non risponde", "non sa"),
        *("non applicabile", "mancante", "weet niet", "geen antwoord", "niet van toepassing"),
        *("não sabe", "não responde", "não se aplica", "sem resposta", "brak danych"),
        *("odmowa", "nie wiem", "nie dotyczy", "vet ej", "vill ej svara", "ej svar", "ved ikke"),
        *("ubesvaret", "uoplyst", "vet ikke", "ubesvart"),
    )
)
"""Labels of codes that stand for no answer, in the same languages; folded to lower case."""

UNKNOWN_WORDS: frozenset[str] = frozenset(
    (
        *("unknown", "unk", "unkn.", "not known", "none", "nil", "no date", "undated", "tbd"),
        *("unbekannt", "unbek.", "unbek", "nicht bekannt", "n.b.", "n. b.", "kein", "keine"),
        *("kein datum", "ohne datum", "leer", "inconnu", "inconnue", "sans date", "desconocido"),
        *("desconocida", "sin fecha", "sconosciuto", "sconosciuta", "ignoto", "onbekend", "geen"),
        *("desconhecido", "desconhecida", "nieznany", "nieznana", "brak", "okänd", "okänt"),
        *("ukendt", "ukjent", "ingen"),
    )
)
"""What among dates and numbers means that none is known, and may be an answer elsewhere."""

NOTE_WORDS: tuple[str, ...] = (
    *("source", "sources", "note", "notes", "footnote", "legend", "remark", "remarks", "page"),
    *("printed", "created", "exported", "generated", "as of", "end of report", "confidential"),
    *("quelle", "quellen", "anmerkung", "anmerkungen", "fußnote", "hinweis", "hinweise"),
    *("legende", "stand", "erstellt", "gedruckt", "seite", "datenstand", "erläuterung"),
    *("vertraulich", "remarque", "légende", "imprimé le", "fuente", "nota", "notas", "leyenda"),
    *("página", "pagina", "fonte", "legenda", "bron", "opmerking", "źródło", "uwaga", "uwagi"),
    *("strona", "källa", "anmärkning", "sida", "kilde", "bemærkning", "merknad", "side"),
)
"""What a note below or above a table begins with, in the same languages."""


# What the name of a column says about it: a vocabulary in several languages.
#
# A name is cut into words (``PatientFirstName``, ``code_postal``, ``Geburtsdatum``), accents are
# dropped, and the words are looked up. Names only ever support a guess; the values decide kinds,
# and a person decides in the end.

Topic = str
"""What a name is about: ``"person"``, ``"postcode"``, ``"diagnosis"`` and so on."""

_LONGEST = 200


_HINTED = {topic: f"{VOCABULARY.get(topic, '')} {words}" for topic, words in HINTS.items()}
_PATTERNS, _WIDE = (
    {
        topic: re.compile(
            rf"(?:^|_)(?:{'|'.join(map(re.escape, words.split()))})(?=_|$)".replace(
                r"\~", "[a-z0-9]*"
            )
        )
        for topic, words in listed.items()
    }
    for listed in (VOCABULARY, VOCABULARY | _HINTED)
)


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
    return _wide_topics(words) or next(filter(None, map(_wide_topics, unglued(words))), ())


def _wide_topics(words: str) -> tuple[Topic, ...]:
    return tuple(topic for topic, pattern in _WIDE.items() if pattern.search(words))


_GLUED_BEFORE = re.compile(r"^(?:log|ln|num|tot|avg|nb|l|n|d|h)_?(?=[a-z]{3})")
_GLUED_BEHIND = re.compile(r"(?<=[a-z]{3})(?:_?(?:sq|lbs|yrs|[0-9]+)|[whmf])$")
_SHORT_CORES = frozenset({"age", "sex", "inc", "kid"})


def unglued(words: str) -> tuple[str, ...]:
    """Return what is left of a name without what old programs glue to a word, most kept first.

    These are signs of logarithms, squares, counts and sums, of husband and wife, and numbers.

    >>> unglued("lfaminc"), unglued("hearnw"), unglued("age75"), unglued("numvisits2")
    (('faminc',), ('hearn', 'earnw', 'earn'), ('age',), ('numvisits', 'visits2', 'visits'))
    """
    found: dict[str, None] = {}
    waiting = [words]
    while waiting:
        each = waiting.pop(0)
        shorter = (pattern.sub("", each) for pattern in (_GLUED_BEHIND, _GLUED_BEFORE))
        for core in shorter:
            known = len(core) >= _SHORTEST_CORE or core in _SHORT_CORES
            # Of several words none is glued to another: "nach" is not "nac" and a letter.
            if core != each and core not in found and known and "_" not in core:
                found[core] = None
                waiting.append(core)
    return tuple(found)


_SHORTEST_CORE = 4


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
