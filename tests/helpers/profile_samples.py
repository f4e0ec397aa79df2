"""Three files of different shape, as people export them; every value is made up."""

import random
from datetime import date, timedelta


def hospital(n_rows=400, seed=1):
    """Admissions: dates, ICD codes, missing values as ?, a 999 that is a code, free text."""
    draw = random.Random(seed)
    header = (
        "patient_no,admitted,discharged,birth_date,sex,plz,ward,icd10,length_of_stay,systolic,"
        "insurance,remarks,clinic"
    )
    lines = [header]
    codes = ["E11.9", "I10", "J45.0", "J18.9", "K35.8", "M54.5", "C50.9", "F32.1", "E11.4", "I21.0"]
    words = ["patient", "came", "walking", "with", "her", "husband", "and", "stayed", "overnight"]
    for number in range(n_rows):
        admitted = date(2023, 1, 1) + timedelta(days=draw.randrange(700))
        stay = draw.randrange(1, 21)
        born = date(1930, 1, 1) + timedelta(days=draw.randrange(29_000))
        remark = " ".join(draw.choices(words, k=9)) + f" {number}"
        lines.append(
            f"P{100_000 + 7 * number},{admitted},{admitted + timedelta(days=stay)},{born},"
            f"{draw.choice('mmffd')},{draw.choice(['01067', '01069', '04103', '10115', '10117'])},"
            f"{draw.choice(['A1', 'B2', 'ICU'])},{draw.choice(codes)},"
            f"{draw.choice(['?', stay])},{draw.randrange(95, 180) if number % 40 else 999},"
            f"{draw.choice(['public', 'selfpaid', 'NA'])},{remark},North"
        )
    return "\n".join(lines) + "\n"


def customers(n_rows=500, seed=2):
    """A customer export: e-mails, phones, postcodes with leading zeros, German dates, tails."""
    draw = random.Random(seed)
    lines = [
        "CustomerID;FullName;E-Mail;Phone;ZipCode;City;Country;SignupDate;Segment;TotalSpent;IP"
    ]
    first = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal", "Ida", "Jo"]
    cities = [f"City{letter}" for letter in "ABCDEFGHIJKLMNOPQRST"]
    for number in range(n_rows):
        name = f"{draw.choice(first)} {draw.choice(first)}son{number % 97}"
        day = date(2015, 1, 1) + timedelta(days=draw.randrange(3000))
        zipcode = f"{draw.choice([1, 2, 10, 77, 945]):03d}{draw.randrange(5):02d}"
        lines.append(
            f"{5000 + 3 * number};{name};user{number}@example.org;+49 30 {100_000 + number};"
            f"{zipcode};{draw.choice(cities)};{draw.choice(['DE', 'AT', 'CH', 'NA'])};"
            f"{day:%d.%m.%Y};{draw.choice(['gold', 'silver', 'basic'])};"
            f"{draw.randrange(10_000) / 100:.2f};10.0.{number % 200}.{number % 250}"
        )
    return "\n".join(lines) + "\n"


def survey(n_rows=300, seed=3):
    """A survey: bands of age, scales in words and numbers, a comment, a weight."""
    draw = random.Random(seed)
    agree = ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"]
    header = (
        "respondent_id,age_group,gender,region,education,job_title,Q1,Q2,q3_score_food,overall,"
        "religion,comments,sample_weight"
    )
    lines = [header]
    words = ["the", "canteen", "is", "too", "loud", "and", "far", "from", "my", "desk"]
    for number in range(1, n_rows + 1):
        band = draw.choice(["18-24", "25-34", "35-49", "50-64", "65+"])
        lines.append(
            f"{number},{band},"
            f"{draw.choice(['female', 'male', 'other'])},{draw.choice(['N', 'S', 'E', 'W'])},"
            f"{draw.choice(['Primary', 'Secondary', 'Bachelor', 'Master', 'Doctorate'])},"
            f"{draw.choice(['clerk', 'driver', 'nurse', 'cook', 'teacher'])},"
            f"{draw.choice(agree)},{draw.choice(agree)},{draw.randrange(1, 6)},"
            f"{draw.choice(['very poor', 'poor', 'fair', 'good', 'excellent'])},"
            f"{draw.choice(['a', 'b', 'c', 'none'])},{' '.join(draw.choices(words, k=8))},"
            f"{0.5 + draw.random():.4f}"
        )
    return "\n".join(lines) + "\n"
