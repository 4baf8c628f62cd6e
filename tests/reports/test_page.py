"""The page: complete, harmless, and independent of any network."""

import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.groupings.key import KeyGrouping
from unskew.groupings.partial_key import PartialKey
from unskew.groupings.shuffle import Shuffle
from unskew.reports.charts import balance_chart, imbalance_chart, loads_chart
from unskew.reports.measurement import Measurement
from unskew.reports.page import render_page
from unskew.simulator.loads import simulate
from unskew.simulator.queueing import simulate_queue
from unskew.streams import parse_stream

STREAM = parse_stream("zipf:keys=300,exponent=1.2,rows=5000,costs=4", seed=1)


def measured(workers: int = 6) -> list[Measurement]:
    schemes = (KeyGrouping(workers), PartialKey(workers), Shuffle(workers))
    return [
        Measurement(
            each.name,
            STREAM.spec,
            1,
            simulate(each, STREAM),
            0.25,
            simulate_queue(each, STREAM),
        )
        for each in schemes
    ]


class Outline(HTMLParser):
    """Collect tags, what they refer to, and the text outside of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.references: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = ("src", "href", "data", "action", "srcset", "poster")
        self.references += [value or "" for name, value in attrs if name in named]

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] not in ("script", "style"):
            self.texts.append(data)


def test_the_page_refers_to_nothing_outside_itself() -> None:
    page = render_page(measured(), title="t", command="unskew compare")
    outline = Outline(page)
    assert outline.references == []
    assert "link" not in outline.tags
    assert "iframe" not in outline.tags
    assert "default-src 'none'" in page
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert not any("url(" in style or "@import" in style for style in styles)


def test_the_page_has_tables_command_three_charts_and_one_library() -> None:
    page = render_page(measured(), title="t", command="unskew compare -w 6", notes=["a remark"])
    texts = Outline(page).texts
    for text in (
        "unskew compare -w 6",
        "a remark",
        "key",
        "partial-key",
        "shuffle",
        "λ %",
        "p99 ms",
    ):
        assert text in texts
    for name in ("loads", "imbalance", "balance"):
        assert page.count(f'<div id="{name}"') == 1
    assert page.count("plotly.js v") == 1


def test_completion_times_are_left_out_where_rows_have_no_cost() -> None:
    without = [replace(each, queue=None) for each in measured()]
    assert "p99 ms" not in Outline(render_page(without, title="t", command="c")).texts


@settings(deadline=None, max_examples=20)
@given(st.text(min_size=1, max_size=30).filter(lambda text: text.isprintable()))
def test_whatever_a_user_types_stays_text(text: str) -> None:
    nasty = f'{text}</script><img src="http://x/">&amp;'
    one = replace(measured_once()[0], label=nasty, stream=nasty)
    page = render_page([one], title=nasty, command=nasty, notes=[nasty])
    assert Outline(page).references == []
    assert page.count(escape(nasty)) >= 4


_kept: list[Measurement] = []


def measured_once() -> list[Measurement]:
    if not _kept:
        _kept.extend(measured())
    return _kept


def test_every_worker_has_its_bar_up_to_200_and_then_a_sorted_line() -> None:
    few, many = measured(200), measured(201)
    for each, trace in zip(few, loads_chart(few).data, strict=True):
        assert (trace.type, list(trace.y)) == ("bar", list(each.result.loads))
    for each, trace in zip(many, loads_chart(many).data, strict=True):
        assert (trace.type, list(trace.y)) == ("scatter", sorted(each.result.loads, reverse=True))


def test_lines_show_the_series_with_gaps_where_nothing_is_uneven() -> None:
    for each, trace in zip(measured(), imbalance_chart(measured()).data, strict=True):
        shown = [(rows, value or 0.0) for rows, value in zip(trace.x, trace.y, strict=True)]
        assert shown == [(rows, value) for rows, value in each.result.series]


def test_every_grouping_is_a_point_even_with_no_imbalance_at_all() -> None:
    whole = [replace(each, result=replace(each.result, imbalance_percent=0.0))
             for each in measured_once()]  # fmt: skip
    for each, trace in zip(whole, balance_chart(whole).data, strict=True):
        assert trace.x[0] == pytest.approx(each.result.replication)
        assert trace.y[0] > 0
