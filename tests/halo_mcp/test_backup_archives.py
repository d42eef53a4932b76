"""The file of a back-up: what is written is read again, and nothing that was changed."""

import io
import json
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from foundation import sealing
from foundation.version import VERSION
from halo_mcp.backups import archive, encryption, passphrases, restore
from halo_mcp.backups.archive import ArchiveContent, Manifest, UnusableArchive
from halo_mcp.backups.encryption import DecryptingReader, EncryptingWriter, NotDecrypted
from halo_mcp.backups.passphrases import NoPassphrase
from halo_mcp.backups.restore import RestoreRefused

PASSPHRASE = "correct horse battery staple"
CHUNK = 64


@pytest.fixture(autouse=True)
def _small_and_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encryption, "COST", 2)
    monkeypatch.setattr(encryption, "CHUNK_BYTES", CHUNK)
    monkeypatch.setattr(archive, "PIECE_BYTES", 1000)


def encrypt(plain: bytes) -> bytes:
    file = io.BytesIO()
    writer = EncryptingWriter(file, PASSPHRASE)
    for start in range(0, len(plain), 50):
        writer.write(plain[start : start + 50])
    writer.finish()
    return file.getvalue()


def decrypt(encrypted: bytes, passphrase: str = PASSPHRASE) -> bytes:
    return DecryptingReader(io.BytesIO(encrypted), passphrase).read()


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK])
def test_what_was_encrypted_is_decrypted(size: int) -> None:
    plain = bytes(range(256)) * 2

    assert decrypt(encrypt(plain[:size])) == plain[:size]


def remove_last_chunk(encrypted: bytes) -> bytes:
    return encrypted[: encryption.HEADER_BYTES + 2 * (CHUNK + encryption.TAG_BYTES)]


def with_chunks_exchanged(encrypted: bytes) -> bytes:
    size, start = CHUNK + encryption.TAG_BYTES, encryption.HEADER_BYTES
    first, second = encrypted[start : start + size], encrypted[start + size : start + 2 * size]
    return encrypted[:start] + second + first + encrypted[start + 2 * size :]


@pytest.mark.parametrize(
    "change",
    [
        remove_last_chunk,
        with_chunks_exchanged,
        lambda encrypted: encrypted[:-1] + bytes([encrypted[-1] ^ 1]),
        lambda encrypted: encrypted[:20] + bytes([encrypted[20] ^ 1]) + encrypted[21:],
        lambda encrypted: encrypted + b"more",
        lambda encrypted: encrypted[:10],
        lambda encrypted: encrypted[: encryption.HEADER_BYTES],
    ],
    ids=["cut", "exchanged", "changed", "salt", "longer", "header-cut", "empty"],
)
def test_nothing_that_was_changed_is_decrypted(change: Callable[[bytes], bytes]) -> None:
    encrypted = encrypt(b"x" * (3 * CHUNK))

    with pytest.raises(NotDecrypted):
        decrypt(change(encrypted))
    with pytest.raises(NotDecrypted):
        decrypt(encrypted, "another passphrase")


def test_a_file_of_somebody_else_costs_no_more_than_a_gibibyte() -> None:
    header = encryption.MAGIC + bytes([40]) + bytes(encryption.SALT_BYTES)

    with pytest.raises(NotDecrypted):
        DecryptingReader(io.BytesIO(header), PASSPHRASE)


def make_archive(
    path: Path,
    passphrase: str | None = None,
    *,
    migrations: list[str] | None = None,
    engine: str = "sqlite",
    contents: dict[str, ArchiveContent] | None = None,
) -> Path:
    with path.open("wb") as file, archive.open_writer(file, passphrase) as writer:
        writer.add(archive.DATABASE, [b"rows " * 500, b"", b"more"])
        writer.add("files/journal/empty", [])
        manifest = Manifest(
            version=VERSION,
            created_at="2026-11-28T00:00:00+00:00",
            engine=engine,
            migrations=migrations or [],
            rows={},
            sealing_keys=sealing.key_ids(),
            has_keys=False,
            contents=writer.contents if contents is None else contents,
        )
        writer.finish(manifest)
    return path


@pytest.mark.parametrize("passphrase", [None, PASSPHRASE])
def test_contents_of_any_size_are_read_in_their_order(
    tmp_path: Path, passphrase: str | None
) -> None:
    path = make_archive(tmp_path / "one", passphrase)

    found = {name: b"".join(data) for name, data in archive.read(path, passphrase)}

    assert [*found] == [archive.DATABASE, "files/journal/empty", archive.MANIFEST]
    assert found[archive.DATABASE] == b"rows " * 500 + b"more"
    assert found["files/journal/empty"] == b""
    assert archive.verify(path, passphrase).contents[archive.DATABASE].size == 2504
    assert archive.has_passphrase(path) is bool(passphrase)


def test_an_archive_that_is_not_encrypted_can_be_read_without_this_program(tmp_path: Path) -> None:
    path = make_archive(tmp_path / "one")

    with tarfile.open(path) as tar:
        names = tar.getnames()
        assert json.load(tar.extractfile(archive.MANIFEST) or io.BytesIO())["version"] == VERSION
    assert names[:3] == ["database.000000", "database.000001", "database.000002"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data: data[: len(data) // 2], "damaged"),
        (lambda data: b"no archive" + data, "damaged"),
        (lambda _data: b"", "damaged"),
        (lambda data: data[:40] + bytes([data[40] ^ 255]) + data[41:], "damaged|Its contents"),
    ],
    ids=["cut", "other", "empty", "changed"],
)
def test_a_damaged_archive_is_refused(
    tmp_path: Path, change: Callable[[bytes], bytes], why: str
) -> None:
    path = make_archive(tmp_path / "one")
    path.write_bytes(change(path.read_bytes()))

    with pytest.raises(UnusableArchive, match=why):
        archive.verify(path, None)


def test_contents_that_the_manifest_does_not_have_are_refused(tmp_path: Path) -> None:
    path = make_archive(tmp_path / "one", contents={archive.DATABASE: ArchiveContent(1, "other")})

    with pytest.raises(UnusableArchive, match="not those of its manifest"):
        archive.verify(path, None)


@pytest.mark.parametrize("name", ["files/../secret-key", "files//etc/passwd", "files/"])
def test_no_file_is_restored_outside_of_the_data_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnusableArchive, match="outside of the data folder"):
        archive.file_path(name, tmp_path)


@pytest.mark.django_db
def test_a_back_up_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = make_archive(tmp_path / "one", migrations=["workspace.0999_of_next_year"])

    with pytest.raises(RestoreRefused, match=r"does not have \(workspace.0999_of_next_year\)"):
        restore.check(path, None)


@pytest.mark.django_db
def test_a_back_up_of_another_kind_of_database_is_refused(tmp_path: Path) -> None:
    path = make_archive(tmp_path / "one", engine="oracle")

    with pytest.raises(RestoreRefused, match="a database of oracle"):
        restore.check(path, None)


def test_a_passphrase_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "passphrase"
    file.write_text(f"{PASSPHRASE}\n")

    assert passphrases.choose(str(file)) == PASSPHRASE


@pytest.mark.parametrize(
    ("text", "why"), [("", "is empty"), ("short", "at least 12"), (None, "cannot be read")]
)
def test_an_unusable_passphrase_is_refused(tmp_path: Path, text: str | None, why: str) -> None:
    file = tmp_path / "passphrase"
    if text is not None:
        file.write_text(text)

    with pytest.raises(NoPassphrase, match=why):
        passphrases.choose(str(file))


def test_a_process_without_a_terminal_is_asked_for_no_passphrase(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())

    with pytest.raises(NoPassphrase, match="--passphrase-file"):
        passphrases.choose(None)


def test_a_new_passphrase_is_typed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter([PASSPHRASE, "another one"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda _prompt: next(typed))

    with pytest.raises(NoPassphrase, match="differ"):
        passphrases.choose(None)


def test_files_are_their_owner_s_alone(tmp_path: Path) -> None:
    restore._restore_file(tmp_path / "journal" / "x", [b"one", b"two"])

    assert (tmp_path / "journal" / "x").read_bytes() == b"onetwo"
    assert stat.S_IMODE((tmp_path / "journal" / "x").stat().st_mode) == 0o600
