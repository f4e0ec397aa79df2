"""The report in a real browser: drawn without a complaint, from one file, on any width."""

import base64
import datetime as dt
import random
import re
from itertools import pairwise

import polars as pl
import pytest
from tests.helpers.chromium import Browser, find_chromium

import shoal
from shoal.datasets import ADULT_COLUMNS, ADULT_QUASI_IDENTIFIERS, adult_hierarchies, load_adult

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        find_chromium() is None, reason="Chromium is missing; 'make services' installs it"
    ),
]

SECTIONS = [
    "summary", "promises", "risk", "groups", "loss", "columns", "sensitive", "limits", "details",
    "glossary", "signature",
]  # fmt: skip
SCRIPT = "<script>alert(1)</script>"
WIDTHS = pytest.mark.parametrize(
    ("width", "phone"), [(1200, False), (390, True), (320, True)], ids=["desktop", "phone", "small"]
)


@pytest.fixture(scope="module")
def browser():
    with Browser() as running:
        yield running


def adult_release():
    kept = {*ADULT_QUASI_IDENTIFIERS, "salary"}
    trees = ("workclass", "marital_status", "occupation", "race", "sex", "native_country")
    return shoal.anonymize(
        load_adult(),
        k=10,
        quasi_identifiers=list(ADULT_QUASI_IDENTIFIERS),
        sensitive=["salary"],
        drop=[name for name in ADULT_COLUMNS if name not in kept],
        hierarchies=adult_hierarchies(trees),
        algorithm="mondrian",  # the quickest: the page is what is tested
        seed=1,
    )


def diverse_release():
    """A small release with every kind of column, awkward names, promises and warnings."""
    rng = random.Random(5)
    rows = range(400)
    frame = pl.DataFrame(
        {
            "a name of a column that is much longer than a phone is wide, without end": [
                rng.randint(0, 90) for _ in rows
            ],
            "born": [dt.date(1950, 1, 1) + dt.timedelta(rng.randint(0, 20_000)) for _ in rows],
            "unbreakable_" * 12: [rng.choice("abcdefgh") * 40 for _ in rows],
            "<b onclick=alert(1)>": [rng.choice([SCRIPT, "&", "'\""]) for _ in rows],
            "town": [rng.choice([None, "Oslo", "Rome", "Lima"]) for _ in rows],
            "illness": [rng.choice(["flu", "asthma", "migraine", "gout"]) for _ in rows],
        }
    )  # fmt: skip
    return shoal.anonymize(
        frame,
        k=5,
        quasi_identifiers=frame.columns[:-1],
        sensitive="illness",
        kinds={"town": "set"},
        privacy=[shoal.LDiversity(2, kind="distinct"), shoal.TCloseness(0.6)],
        max_suppression=0.02,
        seed=1,
    )


def wide_release():
    """A release with 13 sensitive columns and a promise about each of them."""
    rng = random.Random(3)
    rows = range(400)
    frame = pl.DataFrame(
        {"age": [rng.randint(18, 90) for _ in rows], "sex": [rng.choice("FM") for _ in rows]}
        | {
            f"a_finding_with_a_long_name_{number}": [
                rng.choice([None, "mild", "moderate", "severe"]) for _ in rows
            ]
            for number in range(13)
        }
    )
    return shoal.anonymize(
        frame,
        k=5,
        quasi_identifiers=["age", "sex"],
        sensitive=frame.columns[2:],
        privacy=shoal.LDiversity(2, kind="distinct"),
        algorithm="mondrian",
    )


@pytest.fixture(
    scope="module",
    params=[adult_release, diverse_release, wide_release],
    ids=["demo", "diverse", "wide"],
)
def report(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    request.param().report(
        path,
        title=f"A title {SCRIPT} " + "without_end_" * 10,
        owner="Data office & Söhne",
        purpose="To be read " * 20,
    )
    return path


@WIDTHS
def test_the_report_is_drawn_without_complaint_request_or_sideways_scrolling(
    browser, report, width, phone, tmp_path
):
    page = browser.open(report, width=width, phone=phone)
    assert page.complaints() == []
    assert page.requests() == [report.resolve().as_uri()]
    assert page.evaluate("[...document.querySelectorAll('main > section')].map(s => s.id)") == (
        SECTIONS
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Every picture has a name for those who cannot see it, and is drawn with a size.
    pictures = page.evaluate(
        "[...document.querySelectorAll('svg[role=img]')].map(s => ["
        "s.querySelector('title').textContent, s.getBoundingClientRect().width, "
        "s.getBoundingClientRect().height])"
    )
    assert len(pictures) > 10
    assert all(title and w > 100 and h >= 20 for title, w, h in pictures)
    page.screenshot(tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 50_000


def test_nothing_in_the_report_is_taken_for_code(browser, report):
    page = browser.open(report, width=1200)
    assert (
        page.evaluate("document.querySelectorAll('script, img, iframe, object, link').length") == 0
    )
    assert page.evaluate(
        "[...document.querySelectorAll('*')].every(e => [...e.attributes].every("
        "a => !a.name.startsWith('on')))"
    )


def test_letters_in_pictures_stay_inside_them_on_a_phone(browser, report):
    page = browser.open(report, width=390, phone=True)
    overlaps = page.evaluate("""
        [...document.querySelectorAll('svg[role=img]')].flatMap(s => {
            const frame = s.getBoundingClientRect();
            return [...s.querySelectorAll(':scope > text')].filter(t => {
                const box = t.getBoundingClientRect();
                return box.left < frame.left - 3 || box.right > frame.right + 3;
            }).map(t => t.textContent);
        })
    """)
    assert overlaps == []


def test_headings_go_down_one_level_at_a_time(browser, report):
    page = browser.open(report, width=1200)
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


MILLIMETRES = 96 / 25.4
PAGE_WIDTH, PAGE_HEIGHT = (210 - 28) * MILLIMETRES, (297 - 28) * MILLIMETRES


def test_on_paper_nothing_is_cut_off_and_pages_are_full(browser, report):
    page = browser.open(report, width=int(PAGE_WIDTH))
    page.call("Emulation.setEmulatedMedia", media="print")
    cut = page.evaluate("""
        [...document.querySelectorAll('.card, table, p, h1, h2, h3, dd, code, svg[role=img]')]
            .filter(e => e.getBoundingClientRect().right > document.body.clientWidth + 1
                || (e.tagName !== 'svg' && e.scrollWidth > e.clientWidth + 1
                    && getComputedStyle(e).display !== 'inline'))
            .map(e => e.outerHTML.slice(0, 80))
    """)
    assert cut == []
    # A name may be broken where it is too long for its place, but not into single letters.
    widths = page.evaluate(
        "[...document.querySelectorAll('tbody th')].map(e => e.getBoundingClientRect().width)"
    )
    assert min(widths) >= 100
    height = page.evaluate("document.documentElement.scrollHeight")
    printed = page.call("Page.printToPDF", paperWidth=210 / 25.4, paperHeight=297 / 25.4)
    n_pages = len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed["data"])))
    # What would fit if anything could be cut anywhere, a quarter more, and the last one begun.
    assert height / PAGE_HEIGHT <= n_pages <= 1.25 * height / PAGE_HEIGHT + 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_small_text_stands_out_from_its_background(browser, report, scheme):
    # WCAG 2: contrast of at least 4.5 to 1.
    page = browser.open(report, width=1200)
    page.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
    )
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 25, 31)"
    assert dark == (scheme == "dark")
    lowest = page.evaluate("""
        (() => {
            const parts = c => c.match(/[0-9.]+/g).map(Number);
            const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(
                v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4
            ).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
            const behind = e => {
                for (; e; e = e.parentElement) {
                    const c = parts(getComputedStyle(e).backgroundColor);
                    if (c.length < 4 || c[3] > 0) return c;
                }
                return [255, 255, 255];
            };
            return Math.min(...[...document.querySelectorAll(
                'p, td, th, h1, h2, h3, a, figcaption, span, dd, dt, li'
            )].map(e => {
                const a = light(parts(getComputedStyle(e).color)), b = light(behind(e));
                return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            }));
        })()
    """)
    assert lowest >= 4.5
