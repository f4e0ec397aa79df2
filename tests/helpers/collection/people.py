"""Made-up people in several languages: names, places, contacts, days of birth."""

import random
from datetime import date, timedelta
from typing import Any

Person = dict[str, Any]

# first names of women; of men; family names; cities with the start of their postcodes and region
_WORDS = {
    "en": (
        (
            "Emily Olivia Sarah Jessica Ashley Hannah Grace Chloe Megan Lauren Rachel Amber Paige "
            "Holly"
        ),
        (
            "James William Thomas George Harry Jack Daniel Matthew Ryan Luke Nathan Kyle Brandon "
            "Tyler"
        ),
        (
            "Smith Johnson Brown Taylor Wilson Davies Evans Walker Wright Robinson Thompson White "
            "Hughes Edwards Green Hall Wood Harris Clarke Jackson Cooper Ward Turner Parker "
            "Morris Baker Price"
        ),
        (
            "Springfield:627:IL Portland:972:OR Madison:537:WI Dayton:454:OH Salem:973:OR "
            "Aurora:605:IL Toledo:436:OH Racine:534:WI Eugene:974:OR Joliet:604:IL Akron:443:OH"
        ),
        "{} {} Street",
        "+1 555 {:03d} {:04d}",
    ),
    "de": (
        (
            "Anna Lena Katharina Sabine Petra Monika Ursula Julia Laura Birgit Heike Claudia Jana "
            "Ingrid"
        ),
        (
            "Lukas Jonas Stefan Andreas Michael Klaus Jürgen Wolfgang Uwe Sven Markus Florian "
            "Dieter Max"
        ),
        (
            "Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer "
            "Koch Bauer Richter Klein Wolf Schröder Neumann Schwarz Zimmermann Braun Krüger "
            "Hofmann Lange"
        ),
        (
            "Dresden:010:Sachsen Leipzig:041:Sachsen Bremen:281:Bremen Köln:506:NRW Bonn:531:NRW "
            "Mainz:551:RLP Trier:542:RLP Ulm:890:BW Freiburg:791:BW Kassel:341:Hessen "
            "Fulda:360:Hessen"
        ),
        "Hauptstraße {} {}",
        "+49 {:03d} {:06d}",
    ),
    "fr": (
        ("Marie Camille Léa Manon Chloé Sophie Nathalie Isabelle Aurélie Céline Julie Inès Élodie"),
        (
            "Pierre Jean Nicolas Julien Antoine Hugo Mathieu Thierry Laurent Olivier Guillaume "
            "Théo Rémi"
        ),
        (
            "Martin Bernard Dubois Thomas Robert Richard Petit Durand Leroy Moreau Simon Laurent "
            "Lefebvre Michel Garcia David Bertrand Roux Vincent Fournier Morel Girard André "
            "Mercier Dupont Lambert"
        ),
        (
            "Lyon:690:Rhône Nantes:440:Loire Lille:590:Nord Rennes:350:Bretagne Nice:060:PACA "
            "Dijon:210:Bourgogne Brest:292:Bretagne Tours:370:Centre Amiens:800:Nord Metz:570:Est"
        ),
        "{} rue {}",
        "+33 {:03d} {:06d}",
    ),
    "es": (
        ("María Carmen Lucía Paula Marta Laura Cristina Elena Pilar Rosa Isabel Sofía Alba Raquel"),
        (
            "José Antonio Manuel Francisco David Javier Carlos Miguel Pablo Sergio Álvaro Diego "
            "Jorge"
        ),
        (
            "García Fernández González Rodríguez López Martínez Sánchez Pérez Gómez Martín "
            "Jiménez Ruiz Hernández Díaz Moreno Muñoz Álvarez Romero Alonso Gutiérrez Navarro "
            "Torres Domínguez Gil"
        ),
        (
            "Madrid:280:Madrid Sevilla:410:Andalucía Málaga:290:Andalucía Bilbao:480:Vizcaya "
            "Valencia:460:Valencia Zaragoza:500:Aragón Vigo:362:Galicia Lugo:270:Galicia"
        ),
        "Calle {} {}",
        "+34 {:03d} {:06d}",
    ),
    # of the second part
    "it": (
        (
            "Giulia Chiara Francesca Valentina Alessia Martina Elisa Beatrice Ludovica Ginevra "
            "Fiorella"
        ),
        ("Marco Alessandro Lorenzo Matteo Davide Simone Gabriele Tommaso Fabrizio Ettore Ruggero"),
        (
            "Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo "
            "Conti De_Luca Mancini Costa Giordano Rizzo Lombardi Moretti Barbieri Fontana Santoro "
            "Mariani"
        ),
        (
            "Torino:101:Piemonte Bologna:401:Emilia Parma:431:Emilia Bari:701:Puglia "
            "Lecce:731:Puglia Pisa:561:Toscana Siena:531:Toscana Trento:381:Trentino "
            "Genova:161:Liguria"
        ),
        "Via {} {}",
        "+39 {:03d} {:06d}",
    ),
    "nl": (
        ("Sanne Lotte Femke Anouk Fleur Maaike Marieke Willemijn Tineke Jolanda Roos Merel Esmée"),
        "Daan Sem Bram Thijs Jeroen Wouter Maarten Joost Ruben Sjoerd Gerrit Hendrik Koen Teun",
        (
            "Jansen Bakker Visser Smit Meijer Mulder Bos Vos Peters Hendriks Dekker Brouwer "
            "Dijkstra Vermeulen Kok Schouten Willems Hoekstra Koster Prins Blom Huisman Postma "
            "Kuipers Veenstra"
        ),
        (
            "Utrecht:35:Utrecht Zwolle:80:Overijssel Breda:48:Brabant Tilburg:50:Brabant "
            "Assen:94:Drenthe Leiden:23:Holland Delft:26:Holland Almere:13:Flevoland"
        ),
        "{}straat {}",
        "+31 {:03d} {:06d}",
    ),
    "pt": (
        ("Ana Beatriz Mariana Inês Joana Catarina Leonor Matilde Fernanda Luciana Adriana Tatiana"),
        ("João Pedro Tiago Rui Nuno Gonçalo Paulo Rafael Gustavo Henrique Thiago Vinícius Renato"),
        (
            "Silva Santos Ferreira Pereira Oliveira Costa Rodrigues Martins Sousa Fernandes "
            "Gonçalves Gomes Lopes Marques Alves Almeida Ribeiro Pinto Carvalho Teixeira Moreira "
            "Correia Mendes"
        ),
        (
            "Porto:405:Norte Braga:470:Norte Coimbra:300:Centro Aveiro:381:Centro "
            "Faro:800:Algarve Lagos:860:Algarve Évora:700:Alentejo Setúbal:290:Lisboa"
        ),
        "Rua {} {}",
        "+351 {:03d} {:06d}",
    ),
    "pl": (
        ("Zofia Agnieszka Katarzyna Małgorzata Magdalena Joanna Ewa Dorota Bożena Grażyna Jadwiga"),
        (
            "Piotr Krzysztof Andrzej Tomasz Paweł Michał Marcin Jakub Wojciech Zbigniew Stanisław "
            "Ryszard"
        ),
        (
            "Nowak Kowalski Wiśniewski Wójcik Kowalczyk Kamiński Lewandowski Zieliński Szymański "
            "Dąbrowski Kozłowski Jankowski Mazur Kwiatkowski Krawczyk Piotrowski Grabowski Zając "
            "Pawłowski Michalski"
        ),
        (
            "Gdynia:813:Pomorskie Sopot:817:Pomorskie Lublin:200:Lubelskie Łódź:905:Łódzkie "
            "Radom:266:Mazowieckie Płock:094:Mazowieckie Opole:450:Opolskie"
        ),
        "ul. {} {}",
        "+48 {:03d} {:06d}",
    ),
    "sv": (
        ("Elsa Astrid Ebba Linnea Maja Freja Ingrid Karin Kerstin Birgitta Annika Malin Tuva Alva"),
        ("Erik Lars Nils Oskar Gustav Axel Viktor Emil Björn Göran Håkan Per Magnus Torsten Leif"),
        (
            "Andersson Johansson Karlsson Nilsson Eriksson Larsson Olsson Persson Svensson "
            "Gustafsson Pettersson Jonsson Lindberg Lindström Lindqvist Sandberg Sjöberg Forsberg "
            "Engström Nyström"
        ),
        (
            "Malmö:211:Skåne Lund:222:Skåne Uppsala:753:Uppland Umeå:903:Norrland "
            "Luleå:972:Norrland Borås:503:Götaland Visby:621:Gotland"
        ),
        "{}gatan {}",
        "+46 {:03d} {:06d}",
    ),
    "world": (
        ("Aisha Fatima Mei Yuki Priya Ananya Thandiwe Amara Leilani Noor Zainab Siobhan Eun Linh"),
        "Mohammed Omar Wei Hiroshi Arjun Vikram Kwame Sipho Kofi Yusuf Tariq Cormac Minh Rahul",
        (
            "Khan Patel Singh Nguyen Chen Wang Kim Tanaka Sato Okafor Mensah Dlamini Hassan Ali "
            "Rahman O'Brien Kaur Sharma Gupta Tran Park Yamamoto Abdullah Ibrahim Adeyemi Osei "
            "Haddad Lim"
        ),
        (
            "Leeds:LS1:Yorkshire York:YO1:Yorkshire Derby:DE2:Midlands Luton:LU4:East "
            "Bath:BA2:West Poole:BH1:South Perth:PH1:Scotland"
        ),
        "{} {} Road",
        "+44 {:03d} {:06d}",
    ),
}
_STREETS = ("Mill", "Church", "Park", "Garden", "Lake", "Hill", "Station", "School", "Bridge")


def make_person(draw: random.Random, words: str, number: int) -> Person:
    """Return one person; what belongs together does."""
    women, men, families, cities, street, phone = _WORDS[words]
    woman = draw.random() < 0.5
    first = draw.choice((women if woman else men).split())
    last = draw.choice(families.split()).replace("_", " ")
    city, start, region = draw.choice(cities.split()).split(":")
    born = date(1935, 1, 1) + timedelta(days=draw.randrange(25_500))
    age = (date(2024, 1, 1) - born).days // 365
    place = draw.randrange(8)
    postcode = f"{start}{place:0{5 - len(start)}d}"
    if words == "world":
        postcode = f"{start} {place}{draw.choice('AB')}{draw.choice('XY')}"
    house = draw.randrange(1, 180)
    lane = draw.choice(_STREETS)
    parts = (lane, house) if street.index("{}") or "straat" in street else (house, lane)
    if street.endswith("gatan {}"):
        parts = (lane, house)
    return {
        "number": number,
        "row": 0,
        "first": first,
        "last": last,
        "name": f"{first} {last}",
        "last, first": f"{last}, {first}",
        "woman": woman,
        "born": born,
        "age": age,
        "birth year": born.year,
        "city": city,
        "postcode": postcode,
        "region": region,
        "street": street.format(*parts),
        "email": f"{first}.{last}{number}@example.org".lower().replace(" ", ""),
        "phone": phone.format(draw.randrange(1000), draw.randrange(10_000)),
    }
