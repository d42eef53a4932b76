r"""A stream that is encrypted with a passphrase, in chunks that are authenticated.

    14  b"halo-backup-1\n"
    1   log2 of the cost of scrypt
    16  salt, random
    then chunks of 1 MiB, of which the last one is shorter; each is followed by its tag, 16 bytes

The key is that of scrypt (RFC 7914) with r = 8 and p = 1, and belongs to this file alone because of
the salt. Each chunk is sealed with AES-256-GCM. Its nonce is its number in 11 bytes and a byte that
is 1 for the last chunk, so that chunks cannot be exchanged, repeated or left out: the construction
STREAM of Hoang, Reyhanitabar, Rogaway and Vizár (2015). The header is the associated data.
"""

import secrets
from typing import IO, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

MAGIC: Final = b"halo-backup-1\n"
SALT_BYTES: Final = 16
HEADER_BYTES: Final = len(MAGIC) + 1 + SALT_BYTES
CHUNK_BYTES: Final = 1024 * 1024
TAG_BYTES: Final = 16
# 128 MiB of memory and half a second. More than 1 GiB is not derived for a file of somebody else.
COST: Final = 17
MAX_COST: Final = 20


class NotDecrypted(Exception):
    """The passphrase is wrong, or the file was changed or cut off."""


class EncryptingWriter:
    """Encrypts what is written to it into a file. Without `finish`, the file cannot be read."""

    def __init__(self, file: IO[bytes], passphrase: str) -> None:
        self._file = file
        header = MAGIC + bytes([COST]) + secrets.token_bytes(SALT_BYTES)
        self._chunks = _Chunks(header, passphrase)
        self._buffer = bytearray()
        file.write(header)

    def write(self, data: bytes | memoryview) -> int:
        self._buffer += data
        # A full chunk waits for what follows: it may be the last one.
        while len(self._buffer) > CHUNK_BYTES:
            self._file.write(self._chunks.seal(bytes(self._buffer[:CHUNK_BYTES]), is_last=False))
            del self._buffer[:CHUNK_BYTES]
        return len(data)

    def flush(self) -> None:
        """Does nothing: only full chunks are written."""

    def finish(self) -> None:
        self._file.write(self._chunks.seal(bytes(self._buffer), is_last=True))
        self._buffer.clear()


class DecryptingReader:
    """Reads what `EncryptingWriter` wrote; every byte that is returned has been authenticated.

    Raises NotDecrypted.
    """

    def __init__(self, file: IO[bytes], passphrase: str) -> None:
        self._file = file
        self._chunks = _Chunks(file.read(HEADER_BYTES), passphrase)
        self._next = file.read(CHUNK_BYTES + TAG_BYTES)
        self._buffer = bytearray()
        self._is_done = False

    def read(self, size: int = -1) -> bytes:
        while not self._is_done and (size < 0 or len(self._buffer) < size):
            sealed, self._next = self._next, self._file.read(CHUNK_BYTES + TAG_BYTES)
            self._is_done = not self._next
            self._buffer += self._chunks.unseal(sealed, is_last=self._is_done)
        size = len(self._buffer) if size < 0 else size
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data


def is_encrypted(file: IO[bytes]) -> bool:
    """Returns whether a file is encrypted, and goes back to its beginning."""
    found = file.read(len(MAGIC)) == MAGIC
    file.seek(0)
    return found


class _Chunks:
    """The chunks of one file, in their order."""

    def __init__(self, header: bytes, passphrase: str) -> None:
        cost = header[len(MAGIC)] if len(header) == HEADER_BYTES else 0
        if not header.startswith(MAGIC) or not 1 <= cost <= MAX_COST:
            raise NotDecrypted
        salt = header[len(MAGIC) + 1 :]
        key = Scrypt(salt=salt, length=32, n=2**cost, r=8, p=1).derive(passphrase.encode())
        self._cipher = AESGCM(key)
        self._header = header
        self._number = 0

    def seal(self, plain: bytes, *, is_last: bool) -> bytes:
        return self._cipher.encrypt(self._nonce(is_last=is_last), plain, self._header)

    def unseal(self, sealed: bytes, *, is_last: bool) -> bytes:
        try:
            return self._cipher.decrypt(self._nonce(is_last=is_last), sealed, self._header)
        except (InvalidTag, ValueError):
            raise NotDecrypted from None

    def _nonce(self, *, is_last: bool) -> bytes:
        self._number += 1
        return self._number.to_bytes(11) + bytes([is_last])
