import asyncio
import json
from typing import Any

import pytest
from tests.dashboard.dashboard_cases import event

from unskew.dashboard.feed import MOST_WAITING, Feed
from unskew.dashboard.model import RunModel


def parsed(message: str | None) -> tuple[str, dict[str, Any]]:
    assert message is not None
    name, data, *rest = message.split("\n")
    assert rest == ["", ""]
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def test_a_browser_is_told_every_change_in_order() -> None:
    async def watch() -> list[int]:
        feed = Feed(RunModel("run"))
        subscription = feed.subscribe()
        for batch in range(5):
            feed.publish(event(batch=batch))
        messages = [parsed(await subscription.next_message()) for _ in range(5)]
        assert {name for name, _ in messages} == {"update"}
        return [data["frame"]["batch"] for _, data in messages]

    assert asyncio.run(watch()) == [0, 1, 2, 3, 4]


def test_a_browser_that_does_not_read_costs_bounded_memory_and_is_told_what_it_lost() -> None:
    async def watch() -> None:
        feed = Feed(RunModel("run"))
        slow, quick = feed.subscribe(), feed.subscribe()
        for batch in range(MOST_WAITING + 10):
            feed.publish(event(batch=batch))
            assert parsed(await quick.next_message())[1]["frame"]["batch"] == batch
        assert parsed(await slow.next_message()) == ("lost", {"lost": 10})
        feed.publish(event(batch=999))
        assert parsed(await slow.next_message())[1]["frame"]["batch"] == 999
        assert feed.state()["lost_messages"] == 10

    asyncio.run(watch())


def test_the_end_comes_after_all_that_was_said_before() -> None:
    async def watch() -> list[str | None]:
        feed = Feed(RunModel("run"))
        subscription = feed.subscribe()
        feed.publish(event())
        feed.end("the record is of a newer version")
        feed.close()
        return [await subscription.next_message() for _ in range(3)]

    update, end, nothing = asyncio.run(watch())
    assert parsed(update)[0] == "update"
    assert parsed(end) == ("end", {"problem": "the record is of a newer version"})
    assert nothing is None


def test_publishing_from_another_thread_wakes_a_browser_that_waits() -> None:
    async def watch() -> int:
        feed = Feed(RunModel("run"))
        subscription = feed.subscribe()
        waiting = asyncio.create_task(subscription.next_message())
        await asyncio.sleep(0.05)
        await asyncio.to_thread(feed.publish, event(batch=7))
        return int(parsed(await asyncio.wait_for(waiting, 10))[1]["frame"]["batch"])

    assert asyncio.run(watch()) == 7


@pytest.mark.parametrize("left", [True, False], ids=["who left", "whose loop is closed"])
def test_a_browser_is_no_bother_afterwards(left: bool) -> None:
    feed = Feed(RunModel("run"))

    async def come_and_go() -> None:
        subscription = feed.subscribe()
        if left:
            feed.unsubscribe(subscription)

    asyncio.run(come_and_go())
    feed.publish(event())
    feed.end()
    feed.close()
    assert feed.state()["sequence"] == 1


def test_a_browser_that_comes_after_the_end_is_sent_home_at_once() -> None:
    async def watch() -> str | None:
        feed = Feed(RunModel("run"))
        feed.close()
        return await asyncio.wait_for(feed.subscribe().next_message(), 10)

    assert asyncio.run(watch()) is None
