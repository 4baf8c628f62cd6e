"""The page in a real browser, fed without Spark; see tests/spark for one with it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from urllib.request import urlopen

import numpy as np
import pytest
from tests.dashboard.browser import Browser, needs_browser, open_browser
from tests.dashboard.dashboard_cases import HOSTILE_KEYS, event, hostile_event

from unskew.dashboard.demo import GROUPINGS, SimulatedGrouping, demo_batches
from unskew.dashboard.feed import Feed
from unskew.dashboard.frame import shown_text
from unskew.dashboard.model import RunModel
from unskew.dashboard.serving import DashboardServer
from unskew.events import HotKey

pytestmark = [pytest.mark.browser, needs_browser]

FITS = """
return [...document.querySelectorAll(".js-plotly-plot")].filter((chart) => chart.offsetParent)
  .every((chart) => Math.abs(chart.querySelector(".main-svg").clientWidth - chart.clientWidth) < 2)
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _is_content(browser: Browser) -> Iterator[None]:
    """Let no test end with an error of a script, or with anything that the policy blocked."""
    browser.complaints()
    yield
    browser.resize(1280, 900)
    # That a closed server does not answer is what the page has to bear.
    known = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED", "ERR_EMPTY_RESPONSE")
    said = [log["message"] for log in browser.complaints()]
    assert [text for text in said if not any(name in text for name in known)] == []


def test_changes_come_without_reload_and_the_page_says_what_the_json_says(
    browser: Browser,
) -> None:
    feed = Feed(RunModel("orders"))
    with DashboardServer(feed, port=0) as server:
        feed.publish(event("key", 0))
        browser.open(server.url)
        assert browser.figure("key", "imbalance") == "100.0 %"
        feed.publish(event("key", 1, loads=(1_234_567, 0, 0, 0), dead_letters=2))
        browser.wait_for(lambda: browser.figure("key", "imbalance") == "300.0 %")
        with urlopen(server.url + "api/latest") as answer:  # noqa: S310 (our own server)
            (shown,) = json.load(answer)["groupings"]
        assert browser.figure("key", "total_rows").replace(",", "") == str(shown["totals"]["rows"])
        assert browser.figure("key", "dead_letters") == "2"
        assert browser.text("#status") == "live"
        feed.end()
        browser.wait_for(lambda: browser.text("#status") == "ended")


def test_hostile_text_is_shown_as_text(browser: Browser) -> None:
    feed = Feed(RunModel(HOSTILE_KEYS[0]))
    with DashboardServer(feed, port=0) as server:
        feed.publish(replace(hostile_event(), next_version=1))
        feed.publish(event("other"))
        browser.open(server.url)
        browser.wait_for(lambda: len(browser.texts("#keys .key")) == len(HOSTILE_KEYS))
        assert browser.texts("#keys .key") == [
            shown_text(HotKey(key, 0.1, ()).key) for key in HOSTILE_KEYS
        ]
        assert browser.texts("#plans .why") == [HOSTILE_KEYS[0]]
        assert browser.run("return typeof window.hacked") == "undefined"
        assert browser.run("return document.querySelectorAll('main script, main img').length") == 0
        assert browser.text("#title") == HOSTILE_KEYS[0]


def test_groupings_are_switched_off_and_on(browser: Browser) -> None:
    feed = Feed(RunModel("orders"))
    with DashboardServer(feed, port=0) as server:
        for batch in range(3):
            feed.publish(event("key", batch))
            feed.publish(event("wrap", batch, loads=(25, 25, 25, 25)))
        browser.open(server.url)
        names = "#cards > article > h3 > .label"
        browser.wait_for(lambda: browser.texts(names) == ["key", "wrap"])
        browser.click("#groupings button:first-child")
        browser.wait_for(lambda: browser.texts(names) == ["wrap"])
        for place in ("#loads", "#keys", "#plans"):
            assert browser.texts(f"{place} > article > h3 > .label") == ["wrap"]
        assert browser.run("return document.getElementById('chart-sigma').data.length") == 1
        browser.wait_for(lambda: browser.run(FITS))
        browser.click("#groupings button:last-child")  # the last one stays
        browser.click("#groupings button:first-child")
        browser.wait_for(lambda: browser.texts(names) == ["key", "wrap"])
        feed.publish(event("third"))
        browser.wait_for(lambda: browser.texts(names) == ["key", "wrap", "third"])
        browser.wait_for(lambda: browser.run(FITS))


def test_pause_holds_the_page_still_and_the_slider_goes_back(browser: Browser) -> None:
    feed = Feed(RunModel("orders"))
    with DashboardServer(feed, port=0) as server:
        for batch in range(5):
            feed.publish(event("key", batch, loads=(batch + 1, 0, 0, 0)))
        browser.open(server.url)
        browser.wait_for(lambda: "batch 4" in browser.text("#moment"))
        browser.click("#pause")
        browser.wait_for(lambda: browser.text("#status") == "paused")
        feed.publish(event("key", 5))
        browser.wait_for(lambda: browser.run("return document.getElementById('slider').max") == "5")
        assert "batch 4" in browser.text("#moment")
        move = """
        const slider = document.getElementById("slider");
        slider.value = arguments[0];
        slider.dispatchEvent(new Event("input"));
        """
        browser.run(move, "1")
        browser.wait_for(lambda: "batch 1" in browser.text("#moment"))
        bars = "return document.querySelector('#loads .loads-chart').data[0].y[0]"
        browser.wait_for(lambda: browser.run(bars) == 2)
        browser.click("#pause")
        browser.wait_for(lambda: "batch 5" in browser.text("#moment"))
        assert browser.text("#status") == "live"


_TAKE_NOTE = """
window.seen = {statuses: [], plans: []};
new MutationObserver(() => {
  seen.statuses.push(document.querySelector("#status").textContent);
  seen.plans.push(document.querySelectorAll("#plans .why").length);
}).observe(document.body, {childList: true, subtree: true, characterData: true});
"""


def test_a_run_that_is_over_is_played_from_its_begin_to_its_end(browser: Browser) -> None:
    feed = Feed(RunModel("orders", "replay"))
    for batch in range(6):
        feed.publish(event("wrap", batch, version=batch, next_version=batch + 1, why="drift"))
    with DashboardServer(feed, port=0) as server:
        browser.open(server.url)
        browser.wait_for(lambda: "batch 5" in browser.text("#moment"))
        assert (browser.text("#status"), browser.text("#pause")) == ("replay", "play")
        assert len(browser.texts("#plans .why")) == 6
        # The page does not wait for anyone who looks: it has to take note of what it shows itself.
        browser.run(_TAKE_NOTE)
        browser.click("#pause")
        browser.wait_for(lambda: "playing" in browser.run("return seen.statuses"))
        browser.wait_for(lambda: browser.text("#status") == "replay")
        assert min(browser.run("return seen.plans")) < 6  # what is made later was not shown yet
        assert "batch 5" in browser.text("#moment")


def test_zoom_stays_while_new_figures_come(browser: Browser) -> None:
    feed = Feed(RunModel("orders"))
    read = "return document.getElementById('chart-imbalance').layout.xaxis.range"
    with DashboardServer(feed, port=0) as server:
        for batch in range(6):
            feed.publish(event("key", batch))
        browser.open(server.url)
        browser.wait_for(lambda: browser.run(read))
        browser.drag_over("#chart-imbalance .nsewdrag", 60)
        browser.wait_for(lambda: browser.run(read)[0] > 2)
        zoomed = browser.run(read)
        feed.publish(event("key", 6))
        browser.wait_for(lambda: "batch 6" in browser.text("#moment"))
        assert browser.run(read) == zoomed
        browser.click("#reset-zoom")
        browser.wait_for(lambda: browser.run(read)[0] < 1)


def test_thousands_of_workers_become_a_heat_map_and_quantiles(browser: Browser) -> None:
    feed = Feed(RunModel("a large cluster"))
    with DashboardServer(feed, port=0) as server:
        for batch in range(60):
            loads = np.random.default_rng(batch).poisson(100, 5000)
            loads[(np.arange(0, 5000, 900) + 12 * batch) % 5000] += 300  # hot keys that move
            feed.publish(event("key", batch, loads=tuple(loads.tolist())))
        browser.open(server.url)
        kinds = "return document.querySelector('#loads .loads-chart').data.map((t) => t.type)"
        browser.wait_for(lambda: browser.run(kinds))
        assert browser.run(kinds) == ["heatmap"] + ["scatter"] * 6
        cells = "return document.querySelector('#loads .loads-chart').data[0].z.length"
        assert browser.run(cells) <= 64
        browser.run("document.getElementById('loads').closest('section').scrollIntoView()")
        browser.keep_screenshot("dashboard-heat-map")


def test_a_phone_shows_it_without_scrolling_sideways_in_both_themes(browser: Browser) -> None:
    feed = Feed(RunModel("a drifting stream, simulated", "demo"))
    compared = [SimulatedGrouping(name) for name in GROUPINGS]
    with DashboardServer(feed, port=0) as server:
        for batch, keys in zip(range(60), demo_batches(), strict=False):
            for each in compared:
                feed.publish(each.work(batch, keys, started=1_700_000_000.0 + batch))
        browser.open(server.url)
        background = "return getComputedStyle(document.body).backgroundColor"
        themes = set()
        for width, height in ((1280, 900), (390, 844)):
            browser.resize(width, height)
            for _ in range(2):
                browser.click("#theme")
                themes.add(browser.run(background))
                assert browser.run("return document.documentElement.scrollWidth") <= width
                name = browser.run("return document.documentElement.dataset.theme")
                browser.keep_screenshot(f"dashboard-{name}-{width}")
        assert len(themes) == 2
