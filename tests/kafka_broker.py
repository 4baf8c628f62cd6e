"""Start a Kafka broker of one's own on the loopback address, in KRaft mode, for tests and trials.

``python -m tests.kafka_broker`` starts one and prints its address; Ctrl-C ends it. Kafka's
artifacts come from Maven Central by way of Maven (and its settings), once, into the user's cache.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.maven_jars import NoJarsError, maven_jars

VERSION = "4.1.0"
_PATIENCE_SECONDS = 120
_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={logs}
num.partitions=1
auto.create.topics.enable=false
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class NoBrokerError(Exception):
    """Kafka cannot be had here; the message says why."""


class KafkaBroker:
    """A broker that runs as a process of its own until it is stopped.

    Parameters
    ----------
    folder
        For its settings, its log and its data; kept when it is stopped, so that it can be started
        again with the same topics at the same address.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._jars = kafka_jars()
        self.port, controller = _free_port(), _free_port()
        self._settings = folder / "server.properties"
        self._settings.write_text(
            _PROPERTIES.format(port=self.port, controller=controller, logs=folder / "data")
        )
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self._run("kafka.tools.StorageTool", "format", "--standalone", "-t", cluster, "-c")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        with (self.folder / "broker.log").open("ab") as log:
            command = self._java("kafka.Kafka", str(self._settings))
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                tail = (self.folder / "broker.log").read_text(errors="replace")[-1500:]
                raise NoBrokerError(f"the broker did not start:\n{tail}")
            time.sleep(0.2)

    def stop(self) -> None:
        """End it and wait until it is gone; its data stays."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def _java(self, main: str, *arguments: str) -> list[str]:
        classes = os.pathsep.join(map(str, self._jars))
        return ["java", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-cp", classes, main, *arguments]

    def _run(self, main: str, *arguments: str) -> None:
        command = [*self._java(main, *arguments), str(self._settings)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NoBrokerError(f"{main} failed: {(done.stdout + done.stderr)[-1500:]}")


def kafka_jars() -> list[Path]:
    """Return Kafka's jars."""
    try:
        return maven_jars(f"kafka-{VERSION}", [f"org.apache.kafka:kafka_2.13:{VERSION}"])
    except NoJarsError as error:
        raise NoBrokerError(str(error)) from None


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def main() -> None:
    """Start a broker, print its address, and end it at Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="unskew-kafka-") as folder:
        try:
            with KafkaBroker(Path(folder)) as broker:
                print(broker.address, flush=True)
                signal.sigwait({signal.SIGINT, signal.SIGTERM})
        except NoBrokerError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
