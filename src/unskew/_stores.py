"""Where files are: in a folder of this machine, or in a store that Spark reaches by a URL.

A `StorePath` does for ``s3a://…``, ``hdfs://…`` and the like what the library asks of a `Path`. It
goes through Hadoop's FileSystem in the driver's JVM or, in Spark Connect, through Spark's readers
and writers. Tasks never use it.
"""

import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

from unskew._files import write_atomically
from unskew.errors import InvalidParameterError, UnskewError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # one letter would be a drive
_WHOLE_OBJECTS = {"s3", "s3a", "s3n", "gs"}
"""Schemes of stores where a file is there when it is closed, whole, and not before."""
_PAUSES = (0.1, 0.5)  # seconds before a call that failed is tried again
_SPARK_PART = "part-*"

_Result = TypeVar("_Result")


class StoreError(UnskewError):
    """A store that could not be reached, or refused, in three attempts."""


class FileStatus(NamedTuple):
    """What changes when a file is written, under the names that ``os.stat_result`` has."""

    st_mtime_ns: int
    st_size: int


class StoreFiles(Protocol):
    """What a session can do in a store. All raise FileNotFoundError, or `StoreError`."""

    is_live: bool
    """Whether a running query finds the next content of a file under the same name."""

    def status(self, url: str) -> FileStatus:
        """Return when a file was written, and how long it is."""

    def is_folder(self, url: str) -> bool:
        """Whether something is in there."""

    def names(self, url: str) -> list[str]:
        """Return what is in a folder."""

    def read(self, url: str) -> bytes:
        """Return the content of a file."""

    def write(self, url: str, content: bytes) -> None:
        """Put a file there in one step, as far as the store can."""

    def make_folder(self, url: str) -> None:
        """Make a folder, where the store has any."""

    def copy(self, url: str, target: Path) -> None:
        """Copy a file, or a folder with all that is in it, to this machine."""


class StorePath:
    """A file or folder in a store; has those methods of a `Path` that the library uses.

    Parameters
    ----------
    url
        Where it is. Its slashes are left alone.
    files
        Who goes there.
    """

    def __init__(self, url: str, files: StoreFiles) -> None:
        self._url = url.rstrip("/")
        self.files = files

    @property
    def name(self) -> str:
        """What is behind the last slash."""
        return self._url.rpartition("/")[2]

    def __truediv__(self, name: str) -> "StorePath":
        return StorePath(f"{self._url}/{name}", self.files)

    def __str__(self) -> str:
        return self._url

    def __repr__(self) -> str:
        return f"StorePath({self._url!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorePath) and other._url == self._url

    def __hash__(self) -> int:
        return hash(self._url)

    def as_uri(self) -> str:
        """Return the URL."""
        return self._url

    def absolute(self) -> "StorePath":
        """Return it as it is."""
        return self

    def stat(self) -> FileStatus:
        """Return when it was written, and how long it is; FileNotFoundError if it is not there."""
        return self.files.status(self._url)

    def exists(self) -> bool:
        """Whether it is there."""
        try:
            self.stat()
        except FileNotFoundError:
            return False
        return True

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return self.files.is_folder(self._url)

    def mkdir(self, *, parents: bool = True, exist_ok: bool = True) -> None:  # noqa: ARG002 (as of a Path)
        """Make the folder, and those above it."""
        self.files.make_folder(self._url)

    def iterdir(self) -> Iterator["StorePath"]:
        """Yield what is in the folder."""
        return (self / name for name in self.files.names(self._url))

    def glob(self, pattern: str) -> Iterator["StorePath"]:
        """Yield what is in the folder under names of this pattern."""
        names = self.files.names(self._url) if self.is_dir() else []
        return (self / name for name in names if fnmatch(name, pattern))

    def read_bytes(self) -> bytes:
        """Return the content of the file."""
        return self.files.read(self._url)

    def read_text(self, encoding: str = "utf-8") -> str:
        """Return the content of the file as text."""
        return self.read_bytes().decode(encoding)

    def write_bytes(self, content: bytes) -> None:
        """Write the file in one step, as far as the store can."""
        self.files.write(self._url, content)

    def copy(self, target: Path) -> None:
        """Copy the file, or the folder with all that is in it, to this machine."""
        self.files.copy(self._url, target)


AnyPath: TypeAlias = Path | StorePath


def located(
    owner: str, parameter: str, path: str | AnyPath, *, spark: "SparkSession | None" = None
) -> AnyPath:
    """Return where ``path`` is: a URL is in a store, which ``spark``, or the active session, reads.

    >>> located("Plan.save", "path", "/tmp/plan.json")
    PosixPath('/tmp/plan.json')
    >>> located("Plan.save", "path", Path("s3a://bucket/plans"))
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: Plan.save: path must be text where it is a URL, ...
    """
    if isinstance(path, StorePath):
        return path
    found = _URL.match(str(path))
    if found is None:
        return Path(path)
    if isinstance(path, Path):
        hint = "a Path makes one slash of two"
        raise InvalidParameterError(
            owner, parameter, "text where it is a URL", str(path), hint=hint
        )
    if found[1].lower() == "file":
        hint = "give the path itself, without file:"
        raise InvalidParameterError(
            owner, parameter, "a path, or a URL of a store", path, hint=hint
        )
    return StorePath(path, files_of(owner, parameter, path, spark))


def is_url(path: str | AnyPath) -> bool:
    """Whether ``path`` is a URL, which only Spark reaches.

    >>> is_url("hdfs://node/logs"), is_url("/logs"), is_url("C:/logs")
    (True, False, False)
    """
    return _URL.match(str(path)) is not None


def check_local(owner: str, parameter: str, path: str | Path) -> Path:
    """Return ``path``, or raise if it is a URL, also one of whose two slashes a `Path` made one.

    >>> check_local("unskew run", "--run-dir", Path("s3a://bucket/run"))
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: unskew run: --run-dir must be a local or mounted path, ...
    """
    if is_url(path):
        hint = "mount the storage, and give the path under which all nodes see it"
        raise InvalidParameterError(
            owner, parameter, "a local or mounted path", str(path), hint=hint
        )
    return Path(path)


def write_whole(path: AnyPath, text: str) -> None:
    """Write a file so that a reader sees the old text or the new; in a store, as far as it can."""
    if isinstance(path, StorePath):
        path.write_bytes(text.encode())
    else:
        write_atomically(path, text)


def files_of(
    owner: str, parameter: str, path: str, spark: "SparkSession | None" = None
) -> StoreFiles:
    """Return what ``spark``, or the active session, can do in stores."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        session = SparkSession.active() if spark is None else spark
    except PySparkException:
        hint = "start it first: Spark reads and writes there"
        expected = "a local path while there is no Spark session"
        raise InvalidParameterError(owner, parameter, expected, path, hint=hint) from None
    if type(session).__module__.startswith("pyspark.sql.connect"):
        return SparkFiles(session)
    return HadoopFiles(session)


class HadoopFiles:
    """Go through Hadoop's FileSystem in the driver's JVM."""

    is_live = True

    def __init__(self, spark: "SparkSession") -> None:
        session: Any = spark
        jvm = session._jvm
        # With what spark.conf.set has set.
        self._conf = session._jsparkSession.sessionState().newHadoopConf()
        # Asked for once: py4j searches all jars for each part of such a name.
        hadoop = jvm.org.apache.hadoop.fs
        self._path, self._context = hadoop.Path, hadoop.FileContext
        self._to_bytes = jvm.org.apache.commons.io.IOUtils.toByteArray
        self._overwrite = session.sparkContext._gateway.new_array(hadoop.Options.Rename, 1)
        self._overwrite[0] = hadoop.Options.Rename.OVERWRITE

    def status(self, url: str) -> FileStatus:
        """Return when a file was written, and how long it is."""
        found = self._found(url)
        return FileStatus(found.getModificationTime() * 1_000_000, found.getLen())

    def is_folder(self, url: str) -> bool:
        """Whether there is a folder."""
        try:
            return bool(self._found(url).isDirectory())
        except FileNotFoundError:
            return False

    def names(self, url: str) -> list[str]:
        """Return what is in a folder."""
        files, path = self._at(url)
        return [found.getPath().getName() for found in _tried(url, lambda: files.listStatus(path))]

    def read(self, url: str) -> bytes:
        """Return the content of a file; where Connect wrote it, it is a folder of one part."""
        try:
            return self._content(url)
        except FileNotFoundError:
            if not self.is_folder(url):
                raise
        parts = [name for name in self.names(url) if fnmatch(name, _SPARK_PART)]
        if len(parts) != 1:
            raise IsADirectoryError(21, "a folder", url)
        return self._content(f"{url}/{parts[0]}")

    def _found(self, url: str) -> Any:
        files, path = self._at(url)
        return _tried(url, lambda: files.getFileStatus(path))

    def _content(self, url: str) -> bytes:
        files, path = self._at(url)

        def content() -> bytes:
            stream = files.open(path)
            try:
                return bytes(self._to_bytes(stream))
            finally:
                stream.close()

        return _tried(url, content)

    def write(self, url: str, content: bytes) -> None:
        """Write one object, or a file aside that is then renamed."""
        files, path = self._at(url)
        if _scheme(url) in _WHOLE_OBJECTS:
            _tried(url, lambda: self._put(files, path, content))
            return
        folder, _, name = url.rpartition("/")
        aside = self._path(f"{folder}/.{name[:100]}.{secrets.token_hex(8)}.part")

        def replace() -> None:
            self._put(files, aside, content)
            self._rename(files, aside, path)

        try:
            _tried(url, replace)
        except BaseException:
            with suppress(Exception):
                files.delete(aside, False)
            raise

    def make_folder(self, url: str) -> None:
        """Make a folder, and those above it."""
        files, path = self._at(url)
        _tried(url, lambda: files.mkdirs(path))

    def copy(self, url: str, target: Path) -> None:
        """Copy a file, or a folder with all that is in it, to this machine."""
        files, path = self._at(url)
        local = self._path(target.as_uri())
        _tried(url, lambda: files.copyToLocalFile(False, path, local, True))

    def _at(self, url: str) -> tuple[Any, Any]:
        """Return Hadoop's FileSystem for a URL, and its Path."""
        path = self._path(url)
        return _tried(url, lambda: path.getFileSystem(self._conf)), path

    def _put(self, files: Any, path: Any, content: bytes) -> None:
        stream = files.create(path, True)
        try:
            stream.write(bytearray(content))
        except BaseException:
            with suppress(Exception):  # to close it would make a file of a part
                stream.abort()
            raise
        stream.close()

    def _rename(self, files: Any, aside: Any, path: Any) -> None:
        try:
            context = self._context.getFileContext(path.toUri(), self._conf)
        except Exception as error:
            if "UnsupportedFileSystemException" not in str(error):
                raise
            # No rename that replaces, as of dbfs: the other file of the two stays whole meanwhile.
            files.delete(path, False)
            if not files.rename(aside, path):
                raise StoreError(f"{path.toString()}: cannot be renamed from {aside}.") from None
            return
        context.rename(aside, path, self._overwrite)


class SparkFiles:
    """Go through Spark's readers and writers, in Spark Connect.

    Spark writes folders: a file is a folder with one part, whose name is another each time. So a
    running query, which knows its files by name, would not find the next one.
    """

    is_live = False

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark

    def status(self, url: str) -> FileStatus:
        """Return when a file was written, and how long it is."""
        found = self._rows(url, "unix_micros(modificationTime)", "length")
        if not found:
            return FileStatus(0, 0)
        return FileStatus(max(row[0] for row in found) * 1000, sum(row[1] for row in found))

    def is_folder(self, url: str) -> bool:
        """Whether there are files below it."""
        try:
            return any(path != url for path in self._below(url))
        except FileNotFoundError:
            return False

    def names(self, url: str) -> list[str]:
        """Return what is in a folder."""
        below = (path.removeprefix(f"{url}/") for path in self._below(url))
        return sorted({path.partition("/")[0] for path in below})

    def read(self, url: str) -> bytes:
        """Return the content of a file, or of the one part of a folder."""
        found = self._rows(url, "content")
        if len(found) != 1:
            raise IsADirectoryError(21, "a folder", url)
        return bytes(found[0][0])

    def write(self, url: str, content: bytes) -> None:
        """Write a folder with one part; one of other files is not replaced."""
        if any(not fnmatch(name, _SPARK_PART) for name in self._names_if_any(url)):
            raise StoreError(f"{url}: a folder, or a file that Connect cannot replace.")
        row = self._spark.createDataFrame([(content.decode(),)], "value string").coalesce(1)
        _tried(url, lambda: row.write.mode("overwrite").text(url))

    def make_folder(self, url: str) -> None:
        """Do nothing: a folder comes with what is in it."""

    def copy(self, url: str, target: Path) -> None:
        """Copy a file, or a folder with all that is in it, to this machine."""
        for path, content in self._rows(url, "path", "content"):
            copied = target / str(path).removeprefix(url).lstrip("/")
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_bytes(content)

    def _names_if_any(self, url: str) -> list[str]:
        try:
            return self.names(url)
        except FileNotFoundError:
            return []

    def _below(self, url: str) -> list[str]:
        return [str(row[0]) for row in self._rows(url, "path")]

    def _rows(self, url: str, *columns: str) -> list[Any]:
        def files() -> "DataFrame":
            reader = self._spark.read.format("binaryFile").option("recursiveFileLookup", True)
            return reader.load(url)

        return _tried(url, lambda: files().selectExpr(*columns).collect())


def _tried(url: str, action: Callable[[], _Result]) -> _Result:
    """Return what ``action`` does in one of three attempts."""
    for pause in _PAUSES:
        try:
            return _translated(url, action)
        except StoreError:
            time.sleep(pause)
    return _translated(url, action)


def _translated(url: str, action: Callable[[], _Result]) -> _Result:
    from pyspark.errors import PySparkException

    try:
        return action()
    except Exception as error:
        # py4j, which a client of Connect may lack, raises the JVM's; PySpark has its own for some.
        if not isinstance(error, PySparkException) and not hasattr(error, "java_exception"):
            raise
        java = getattr(error, "java_exception", None)
        said = str(error) if java is None else str(java.toString())
        reason = said.partition("\n")[0][:500]
        if "FileNotFoundException" in reason or "PATH_NOT_FOUND" in reason:
            raise FileNotFoundError(2, "no such file", url) from None
        hint = ""
        if "UnsupportedFileSystem" in reason:
            hint = " Hint: Spark needs the store's connector, for s3a:// the package hadoop-aws"
        raise StoreError(f"{url}: {reason}{hint}") from error


def _scheme(url: str) -> str:
    return url.partition(":")[0].lower()
