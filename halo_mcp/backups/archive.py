"""The file of a back-up: a tar archive, compressed, and encrypted if it has a passphrase.

It is written from its beginning to its end, with contents of unknown size: each is a sequence of
pieces, `database.000000`, `database.000001` and so on. The last member is the manifest. An archive
that is not encrypted can be read without this program: `tar -x`, and `cat database.*`.
"""

import gzip
import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from halo_mcp.backups.encryption import (
    DecryptingReader,
    EncryptingWriter,
    NotDecrypted,
    is_encrypted,
)

FORMAT: Final = 1
PIECE_BYTES: Final = 8 * 1024 * 1024
# Of what is mostly text: further levels take twice the time for a few percent.
COMPRESSION: Final = 4
MANIFEST: Final = "manifest.json"
DATABASE: Final = "database"
KEYS: Final = "keys.json"
FILES: Final = "files/"
MAX_MANIFEST_BYTES: Final = 64 * 1024 * 1024


class UnusableArchive(Exception):
    """A file is no back-up, or is damaged; the message is for the operator."""


@dataclass(frozen=True, slots=True)
class ArchiveContent:
    """The size and the checksum of one content of an archive."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a back-up contains.

    `migrations` are those that the database had, as `app.name`; `rows` the number of rows by table;
    `sealing_keys` the ids of the keys that open its sealed values, the one that sealed them first.
    """

    version: str
    created_at: str
    engine: str
    migrations: list[str]
    rows: dict[str, int]
    sealing_keys: list[str]
    has_keys: bool
    contents: dict[str, ArchiveContent] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: bytes) -> "Manifest":
        """Raises UnusableArchive."""
        try:
            value: dict[str, Any] = json.loads(text)
            if value.pop("format") != FORMAT:
                raise UnusableArchive("It was written by a later version of this program.")
            contents = {
                name: ArchiveContent(**each) for name, each in value.pop("contents").items()
            }
            return cls(**value, contents=contents)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnusableArchive("Its manifest cannot be read.") from error

    def to_json(self) -> bytes:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1).encode()


@dataclass(frozen=True, slots=True, repr=False)
class Keys:
    """The secret key of a deployment, and its sealing keys: the first seals, all of them open."""

    secret: str
    sealing: list[str]


class ArchiveWriter:
    """Writes contents, and then the manifest."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.contents: dict[str, ArchiveContent] = {}

    def add(self, name: str, data: Iterable[bytes]) -> None:
        """Adds a content of any size."""
        checksum, size = hashlib.sha256(), 0
        for number, piece in enumerate(_pieces(data)):
            checksum.update(piece)
            size += len(piece)
            self._add_member(f"{name}.{number:06d}", piece)
        self.contents[name] = ArchiveContent(size, checksum.hexdigest())

    def finish(self, manifest: Manifest) -> None:
        self._add_member(MANIFEST, manifest.to_json())

    def _add_member(self, name: str, data: bytes) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(data), 0o600
        self._tar.addfile(member, io.BytesIO(data))


@contextmanager
def open_writer(file: IO[bytes], passphrase: str | None) -> Iterator[ArchiveWriter]:
    """Yields the writer of an archive, which is complete when the block ends without an error."""
    encrypting = EncryptingWriter(file, passphrase) if passphrase else None
    target: Any = encrypting or file
    with (
        gzip.GzipFile(fileobj=target, mode="wb", compresslevel=COMPRESSION, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w|") as tar,
    ):
        yield ArchiveWriter(tar)
    if encrypting:
        encrypting.finish()


def verify(path: Path, passphrase: str | None) -> Manifest:
    """Reads a whole archive and returns its manifest. Raises UnusableArchive."""
    found: dict[str, ArchiveContent] = {}
    manifest: Manifest | None = None
    for name, data in read(path, passphrase):
        if manifest is not None:
            raise UnusableArchive("It goes on behind its manifest.")
        if name == MANIFEST:
            manifest = Manifest.parse(_join(data, MAX_MANIFEST_BYTES))
            continue
        checksum, size = hashlib.sha256(), 0
        for piece in data:
            checksum.update(piece)
            size += len(piece)
        found[name] = ArchiveContent(size, checksum.hexdigest())
    if manifest is None:
        raise UnusableArchive("It has no manifest: it was not finished.")
    if found != manifest.contents or (KEYS in found) != manifest.has_keys or DATABASE not in found:
        raise UnusableArchive("Its contents are not those of its manifest.")
    return manifest


def read(path: Path, passphrase: str | None) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yields the name and the data of each content, in the order in which they were written.

    The data has to be read before the next content. Raises UnusableArchive.
    """
    try:
        with path.open("rb") as file:
            source: Any = file
            if is_encrypted(file):
                if passphrase is None:
                    raise UnusableArchive("It is encrypted: a passphrase is needed.")
                source = DecryptingReader(file, passphrase)
            with (
                gzip.GzipFile(fileobj=source, mode="rb") as unzipped,
                tarfile.open(fileobj=unzipped, mode="r|") as tar,
            ):
                yield from _contents(_Members(tar))
    except NotDecrypted as error:
        raise UnusableArchive("The passphrase is wrong, or the file was changed.") from error
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnusableArchive("It is damaged, or is no back-up.") from error


def has_passphrase(path: Path) -> bool:
    """Returns whether an archive is encrypted. Raises UnusableArchive if it cannot be opened."""
    try:
        with path.open("rb") as file:
            return is_encrypted(file)
    except OSError as error:
        raise UnusableArchive(f"It cannot be opened: {error.strerror}.") from error


def file_path(name: str, folder: Path) -> Path:
    """Returns where a file of the data folder belongs. Raises UnusableArchive."""
    path = PurePosixPath(name.removeprefix(FILES))
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise UnusableArchive(f"It has a file outside of the data folder: {name!r}.")
    return folder / path


class _Members:
    """The members of an archive, of which the next one can be looked at."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.next = tar.next()

    def take(self) -> bytes:
        member = self.next
        data = self._tar.extractfile(member) if member else None
        if member is None or data is None or member.size > max(PIECE_BYTES, MAX_MANIFEST_BYTES):
            raise UnusableArchive("It has a member that is no piece of a back-up.")
        text = data.read()
        self.next = self._tar.next()
        return text


def _contents(members: _Members) -> Iterator[tuple[str, Iterator[bytes]]]:
    while members.next is not None:
        name = _content_name(members.next.name)
        pieces = _pieces_of(members, name)
        yield name, pieces
        for _ in pieces:  # what the caller has not read
            pass


def _pieces_of(members: _Members, name: str) -> Iterator[bytes]:
    while members.next is not None and _content_name(members.next.name) == name:
        yield members.take()


def _content_name(member: str) -> str:
    return member if member == MANIFEST else member.rpartition(".")[0]


def _pieces(data: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the same bytes in pieces of one size; at least one, which may be empty."""
    buffer = bytearray()
    is_first = True
    for each in data:
        buffer += each
        while len(buffer) >= PIECE_BYTES:
            yield bytes(buffer[:PIECE_BYTES])
            del buffer[:PIECE_BYTES]
            is_first = False
    if buffer or is_first:
        yield bytes(buffer)


def _join(data: Iterable[bytes], limit: int) -> bytes:
    text = bytearray()
    for each in data:
        text += each
        if len(text) > limit:
            raise UnusableArchive("It has a manifest that is too large.")
    return bytes(text)


def parse_keys(data: Iterable[bytes]) -> Keys:
    """Returns the keys of an archive. Raises UnusableArchive."""
    try:
        keys: dict[str, Any] = json.loads(_join(data, MAX_MANIFEST_BYTES))
        return Keys(str(keys["secret"]), [str(key) for key in keys["sealing"]])
    except (ValueError, KeyError, TypeError) as error:
        raise UnusableArchive("Its keys cannot be read.") from error
