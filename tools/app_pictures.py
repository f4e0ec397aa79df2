"""Pictures of every step of `shoal app`, on a desktop and on a phone, for docs/app.md.

    python tools/app_pictures.py [FOLDER]

A server is started, Debian's Chromium goes the whole way as a person does, and each step is
pictured in both sizes. FOLDER is docs/images/app unless given. The table is made up.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
SIZES = {"": {"width": 1180, "height": 820}, "-phone": {"width": 360, "height": 740}}
# The folder of the pictures is nobody's; a reader should see one that looks like theirs.
HIDE = """folder => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode;
        text.data = text.data.replaceAll(folder, "/home/ada/clinic");
    }
}"""
LONG = 240_000  # milliseconds; the first run compiles


def make_patients(path: Path, n_rows: int = 1_500) -> None:
    """Write a table about people who do not exist."""
    chance = random.Random(7)  # noqa: S311 - a picture, no secret
    first = ["Ada", "Ben", "Cleo", "Dov", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jana"]
    family = ["Adler", "Brandt", "Conrad", "Dietz", "Ebert", "Fuchs", "Graf", "Haas", "Iske"]
    illness = ["asthma", "diabetes", "migraine", "anaemia", "gout", "flu"]
    lines = ["name,age,sex,zip,admitted,ward,diagnosis"]
    for _ in range(n_rows):
        age = min(max(round(chance.gauss(48, 9)), 18), 97)
        day = f"2025-0{chance.randint(1, 3)}-01"
        postcode = chance.choice(["79102", "79104", "79110", "79211", "78120"])
        ward = chance.choice(["surgery", "medicine"])
        lines.append(
            f"{chance.choice(first)} {chance.choice(family)},{age},{chance.choice('FM')},"
            f"{postcode},{day},{ward},{chance.choice(illness)}"
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def picture(page: Page, folder: Path, name: str, place: str | None = None) -> None:
    """Take a picture of a step in both sizes, from its top or from a place in it."""
    for ending, size in SIZES.items():
        page.set_viewport_size(size)
        page.evaluate("window.scrollTo(0, 0)")
        if place is not None:
            page.locator(place).first.evaluate("part => part.scrollIntoView()")
        page.wait_for_timeout(400)
        page.evaluate(HIDE, str(folder_of_files()))
        path = folder / f"{name}{ending}.png"
        page.screenshot(path=path)
        # Few colours are enough, and a third of the bytes.
        Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)
    page.set_viewport_size(SIZES[""])


def folder_of_files() -> Path:
    """Return the folder that the server opens files in."""
    return Path(tempfile.gettempdir()).resolve()


def go(page: Page, table: Path, folder: Path) -> None:
    """Go the whole way, and take a picture of every step."""
    page.locator("#file").wait_for(timeout=LONG)  # the address leads to it
    picture(page, folder, "open")
    page.set_input_files("#file", table)
    page.locator("#preview caption").wait_for(timeout=LONG)
    picture(page, folder, "table")
    page.get_by_role("link", name="Next: the columns").click()
    page.locator(".together", has_text="chosen columns").last.wait_for()
    picture(page, folder, "columns")
    for step in further_steps():
        step(page, folder)


def hierarchies(page: Page, folder: Path) -> None:
    """Look at the tree of a column."""
    page.locator(".steps a", has_text="Hierarchies").click()
    page.locator(".tabs a", has_text="zip").click()
    page.locator("#editor").wait_for()
    picture(page, folder, "hierarchies")
    picture(page, folder, "tree", "#editor")


def promises(page: Page, folder: Path) -> None:
    """Wait for the curve."""
    page.locator(".steps a", has_text="Promises").click()
    page.locator("#curve .dot").nth(3).wait_for(timeout=LONG)
    picture(page, folder, "promises")


def run(page: Page, folder: Path) -> None:
    """Run, and look at what came of it."""
    page.locator(".steps a", has_text="Run").click()
    page.locator("#run-button").click()
    page.locator("#result").wait_for(timeout=LONG)
    picture(page, folder, "run", "#result")
    picture(page, folder, "before-and-after", "#beside-title")


def attack(page: Page, folder: Path) -> None:
    """Let the attackers come."""
    page.locator(".steps a", has_text="Attack").click()
    page.locator("#attack-button").click()
    page.locator(".attacks").first.wait_for(timeout=LONG)
    picture(page, folder, "attack")


def hand_over(page: Page, folder: Path) -> None:
    """Look at the files."""
    page.locator(".steps a", has_text="Hand over").click()
    page.wait_for_timeout(500)
    picture(page, folder, "hand-over")


def further_steps() -> tuple[Callable[[Page, Path], None], ...]:
    """Return the steps after the columns."""
    return hierarchies, promises, run, attack, hand_over


def open_browser(browser: Browser, address: str, scheme: str = "light") -> Page:
    """Return a page that the server lets in."""
    context = browser.new_context(viewport=SIZES[""], color_scheme=scheme, locale="en")
    page = context.new_page()
    page.goto(address)
    return page


def main() -> None:
    """Start everything, take the pictures, and end everything."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images" / "app"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        table = place / "patients.csv"
        make_patients(table)
        command = [sys.executable, "-m", "shoal", "app", "--no-browser", "--port", "0"]
        server = subprocess.Popen(
            [*command, "--folder", str(place / "private"), "--files", str(folder_of_files())],
            stdout=subprocess.PIPE,
            text=True,
            cwd=place,
        )
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        try:
            with sync_playwright() as started:
                browser = started.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                )
                go(open_browser(browser, address), table, folder)
                browser.close()
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)


if __name__ == "__main__":
    main()
