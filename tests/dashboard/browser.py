"""A real browser for tests: Debian's Chromium, without a window and without a network."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--window-size=1280,900",
)
_PROGRAMS = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
MISSING = [name for name, path in _PROGRAMS.items() if path is None]

needs_browser = pytest.mark.skipif(
    bool(MISSING),
    reason=f"{', '.join(MISSING)} not installed (apt install chromium chromium-driver)",
)


@contextmanager
def open_browser(profile: Path) -> Iterator["Browser"]:
    """Start Chromium with a profile of its own, and end it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = str(_PROGRAMS["chromium"])
    for option in (*_OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(_PROGRAMS["chromedriver"])))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


class Browser:
    """What tests do with a page."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, url: str) -> None:
        self.driver.get(url)
        self.wait_for(lambda: self.run("return !document.getElementById('content').hidden"))

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait_for(self, happened: Callable[[], Any], seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < until, self.complaints()
            time.sleep(0.05)

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((n) => n.textContent)"
        found: list[str] = self.run(script, selector)
        return found

    def text(self, selector: str) -> str:
        return self.texts(selector)[0]

    def figure(self, grouping: str, field: str) -> str:
        """Return a figure as the card of a grouping shows it."""
        script = """
        const cards = [...document.querySelectorAll("#cards > article")];
        const card = cards.find((each) => each.dataset.name === arguments[0]);
        return card ? card.querySelector(`[data-field="${arguments[1]}"]`).textContent : "";
        """
        return str(self.run(script, grouping, field))

    def click(self, selector: str) -> None:
        self.driver.find_element("css selector", selector).click()

    def drag_over(self, selector: str, pixels: int) -> None:
        """Drag the mouse sideways, from the middle of a node."""
        from selenium.webdriver import ActionChains

        node = self.driver.find_element("css selector", selector)
        self.run("arguments[0].scrollIntoView({block: 'center'})", node)
        dragging = ActionChains(self.driver).move_to_element(node).click_and_hold()
        dragging.move_by_offset(pixels, 0).move_by_offset(1, 0).release().perform()

    def complaints(self) -> list[dict[str, Any]]:
        """Return what the browser has logged: errors of scripts, things that were blocked."""
        logged: list[dict[str, Any]] = self.driver.get_log("browser")
        return logged

    def resize(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def keep_screenshot(self, name: str) -> None:
        """Write a picture into the folder that UNSKEW_SCREENSHOTS names, if it does."""
        folder = os.environ.get("UNSKEW_SCREENSHOTS")
        if folder:
            time.sleep(1.0)  # charts move to their places
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))
