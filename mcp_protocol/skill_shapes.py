"""Serializes skills: directories of instructions for agents, whose files are resources.

Source: MCP extension Skills (SEP-2640, modelcontextprotocol/ext-skills, specification/stable), from
2026-07-28 on. The format of the files is that of Agent Skills (agentskills.io/specification).
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from mcp_protocol.errors import INVALID_PARAMS, ProtocolError, quote_text
from mcp_protocol.revisions import Revision
from mcp_protocol.shapes import list_result, page_result
from mcp_protocol.strict_json import JsonObject

DIRECTORY_TYPE: Final = "inode/directory"


def skill_entry(uri: str, frontmatter: Mapping[str, str], files: Mapping[str, str]) -> JsonObject:
    """Returns the entry of a skill; `files` are the texts of all its files by their URIs."""
    return {
        "uri": uri,
        "frontmatter": dict(frontmatter),
        "resources": [_manifest_entry(each, text.encode()) for each, text in files.items()],
    }


def skills_list_result(
    entries: Sequence[JsonObject], revision: Revision, next_cursor: str | None
) -> JsonObject:
    """Returns one page of skills."""
    return page_result("skills", entries, revision, next_cursor)


def skill_result(entry: JsonObject, revision: Revision) -> JsonObject:
    """Returns the entry of one skill."""
    return list_result({"skill": entry}, revision)


def unknown_skill(uri: str) -> ProtocolError:
    """Returns the error for a skill that does not exist for the caller."""
    message = f"No skill is served at {quote_text(uri)}."
    return ProtocolError(INVALID_PARAMS, message, data={"uri": uri})


def unknown_directory(uri: str) -> ProtocolError:
    """Returns the error for a directory that does not exist for the caller."""
    message = f"There is no directory at {quote_text(uri)}."
    return ProtocolError(INVALID_PARAMS, message, data={"uri": uri})


def _manifest_entry(uri: str, content: bytes) -> JsonObject:
    digest = hashlib.sha256(content).hexdigest()
    return {"uri": uri, "digest": f"sha256:{digest}", "size": len(content)}
