"""
Small files as other programs write them, made by hand, for the tests of imports.

Each function returns a value to be written as JSON, or the text of a file.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def chatgpt_node(
    number: int, role: str, words: str | list[Any], *, parent: int | None, **about: Any
) -> dict[str, Any]:
    """A node of a conversation's tree."""
    parts = words if isinstance(words, list) else [words]
    return {
        "id": f"n{number}",
        "parent": None if parent is None else f"n{parent}",
        "children": [],
        "message": {
            "id": f"m{number}",
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": 1_714_550_400.5 + number,
            "content": {"content_type": about.pop("content_type", "text"), "parts": parts},
            "recipient": about.pop("recipient", "all"),
            "metadata": about,
            "status": "finished_successfully",
            "weight": 1.0,
        },
    }


def chatgpt_conversation() -> dict[str, Any]:
    """A conversation with an edited prompt, a tool call, a picture and hidden instructions."""
    nodes = [
        {"id": "n0", "parent": None, "children": ["n1"], "message": None},
        chatgpt_node(1, "system", "You know this user", parent=0, is_visually_hidden_from_conversation=True),
        chatgpt_node(2, "user", "I live in Paris", parent=1),
        chatgpt_node(3, "user", "I live in Lisbon and work at Harbor Labs", parent=1),
        chatgpt_node(4, "assistant", '{"query": "Lisbon"}', parent=3, recipient="browser"),
        chatgpt_node(5, "tool", "Lisbon is a city", parent=4),
        chatgpt_node(6, "assistant", "Lisbon is lovely in May.", parent=5),
        chatgpt_node(
            7,
            "user",
            [
                {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
                "My dog is called Pixel",
            ],
            parent=6,
            content_type="multimodal_text",
        ),
        chatgpt_node(8, "assistant", "Thinking about dogs", parent=7, content_type="thoughts"),
        chatgpt_node(9, "assistant", "Pixel looks happy!", parent=8),
    ]
    return {
        "title": "Moving",
        "create_time": 1_714_550_400.0,
        "update_time": 1_714_550_999.0,
        "mapping": {node["id"]: node for node in nodes},
        "current_node": "n9",
        "conversation_id": "c-1",
        "moderation_results": [],
        "an_unknown_field": {"deep": [1, 2]},
    }


def claude_conversation() -> dict[str, Any]:
    """A conversation of a Claude export."""
    return {
        "uuid": "k-1",
        "name": "Tea",
        "created_at": "2024-05-01T08:00:00.000000Z",
        "account": {"uuid": "acc"},
        "chat_messages": [
            {
                "uuid": "u-1",
                "sender": "human",
                "text": "",
                "content": [{"type": "text", "text": "I prefer oolong tea"}],
                "created_at": "2024-05-01T08:00:01.000000Z",
                "attachments": [{"file_name": "a.txt", "extracted_content": "not said by anybody"}],
            },
            {
                "uuid": "u-2",
                "sender": "assistant",
                "text": "Oolong it is.",
                "content": [
                    {"type": "tool_use", "name": "search", "input": {}},
                    {"type": "text", "text": "Oolong it is."},
                ],
                "created_at": "2024-05-01T08:00:05.000000Z",
            },
        ],
    }


def claude_code_lines() -> list[dict[str, Any]]:
    """A session of Claude Code, with what is not part of the talk."""
    about = {"sessionId": "s-1", "cwd": "/home/me/app", "version": "2.0", "isSidechain": False}
    at = "2025-06-01T10:00:0{}.000Z"
    return [
        {"type": "summary", "summary": "Deploy fixes", "leafUuid": "x"},
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
        {
            "type": "user",
            "uuid": "a",
            "timestamp": at.format(1),
            **about,
            "message": {"role": "user", "content": "We deploy with Terraform on Fridays"},
        },
        {
            "type": "assistant",
            "uuid": "b",
            "timestamp": at.format(2),
            **about,
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "Understood, Fridays."},
                    {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
                ],
            },
        },
        {
            "type": "user",
            "uuid": "c",
            "timestamp": at.format(3),
            **about,
            "message": {"role": "user", "content": [{"type": "tool_result", "content": "main.tf"}]},
        },
        {
            "type": "user",
            "uuid": "d",
            "timestamp": at.format(4),
            **about,
            "isMeta": True,
            "message": {"role": "user", "content": "Caveat: ignore this"},
        },
        {
            "type": "user",
            "uuid": "e",
            "timestamp": at.format(5),
            **about,
            "message": {"role": "user", "content": "<command-name>/clear</command-name>"},
        },
        {
            "type": "user",
            "uuid": "f",
            "timestamp": at.format(6),
            **about,
            "isSidechain": True,
            "message": {"role": "user", "content": "You are a sub-agent"},
        },
    ]


def codex_lines() -> list[dict[str, Any]]:
    """A session of Codex as it is written today."""

    def line(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": "2025-09-01T12:00:00.000Z", "type": kind, "payload": payload}

    def said(role: str, kind: str, words: str) -> dict[str, Any]:
        return line(
            "response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}
        )

    return [
        line("session_meta", {"id": "cx-1", "timestamp": "2025-09-01T11:59:00.000Z", "cwd": "/home/me/app"}),
        said("user", "input_text", "<environment_context>\n<cwd>/home/me/app</cwd>"),
        said("developer", "input_text", "Be brief"),
        said("user", "input_text", "Our API uses JWT tokens"),
        line("event_msg", {"type": "user_message", "message": "Our API uses JWT tokens"}),
        line("response_item", {"type": "function_call", "name": "shell", "arguments": "{}"}),
        line("response_item", {"type": "reasoning", "summary": []}),
        said("assistant", "output_text", "Noted, JWT."),
    ]


def real_codex_lines(**about: Any) -> list[dict[str, Any]]:
    """A session as Codex 0.166 has written it for a real run, cut to what matters; the words are ours."""

    def line(number: int, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {
            "timestamp": "2026-11-15T18:22:20.108Z",
            "ordinal": number,
            "type": kind,
            "payload": payload,
        }

    def said(number: int, role: str, parts: list[tuple[str, str]]) -> dict[str, Any]:
        form = "output_text" if role == "assistant" else "input_text"
        return line(
            number,
            "response_item",
            {
                "type": "message",
                "id": f"msg_{number}",
                "role": role,
                "content": [{"type": form, "text": words} for _, words in parts],
                "internal_chat_message_metadata_passthrough": {
                    "turn_id": "t-1",
                    "content_item_kinds": [kind for kind, _ in parts],
                },
            },
        )

    spoken = {"type": "UserMessage", "content": [{"type": "text", "text": "We water with a new pump"}]}
    head = {"id": "cx-9", "session_id": "cx-9", "source": "exec", "thread_source": "user", **about}
    return [
        line(0, "session_meta", head),
        said(1, "developer", [("host_skills.instructions", "Skills are at hand")]),
        said(2, "user", [("agents_md.instructions", "House rules"), ("environments.context", "In /home/me")]),
        line(3, "world_state", {"full": True, "state": {}}),
        said(4, "user", [("user.text", "We water with a new pump")]),
        line(5, "event_msg", {"type": "item_completed", "turn_id": "t-1", "item": spoken}),
        line(6, "response_item", {"type": "function_call", "id": "fc_6", "name": "exec_command"}),
        said(7, "assistant", [("unknown", "The pump is noted.")]),
        said(8, "user", [("generic.turn_aborted", "The turn was interrupted")]),
        line(9, "event_msg", {"type": "task_complete", "last_agent_message": "The pump is noted."}),
    ]


def opencode_session() -> dict[str, Any]:
    """A session as opencode 1.18 has exported a real one, cut to what matters; the words are ours."""

    def said(number: int, role: str, parts: list[dict[str, Any]], **about: Any) -> dict[str, Any]:
        name = {"id": f"msg_{number}", "sessionID": "ses_1", "role": role}
        moment = {"created": 1794767260221 + number}
        return {"info": {**name, "time": moment, **about}, "parts": parts}

    tool = {"type": "tool", "tool": "bash", "callID": "c1", "state": {"status": "completed", "output": "ok"}}
    return {
        "info": {"id": "ses_1", "directory": "/home/me/app", "permission": [{"action": "deny"}]},
        "messages": [
            said(
                1,
                "user",
                [
                    {"type": "text", "text": "We keep the greenhouse at 21 degrees", "id": "prt_1"},
                    {"type": "text", "text": "The file says 21", "synthetic": True},
                ],
                summary={"diffs": []},
            ),
            said(
                2,
                "assistant",
                [{"type": "step-start"}, tool, {"type": "step-finish", "reason": "tool-calls"}],
            ),
            said(3, "assistant", [{"type": "step-start"}, {"type": "text", "text": "Noted, 21 degrees."}]),
            said(4, "assistant", [{"type": "text", "text": "They spoke of a greenhouse."}], summary=True),
        ],
    }


def old_codex_lines() -> list[dict[str, Any]]:
    """A session of Codex as it was written first."""
    return [
        {"id": "cx-0", "timestamp": "2025-05-01T12:00:00.000Z", "instructions": None, "git": {}},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Tests run on uv"}]},
        {"record_type": "state"},
    ]


def mem0_dump() -> dict[str, Any]:
    """Memories of two users."""
    return {
        "results": [
            {
                "id": "m-1",
                "memory": "Maya is allergic to peanuts",
                "hash": "h",
                "user_id": "maya",
                "metadata": {"category": "health"},
                "created_at": "2024-05-01T10:00:00.000000-07:00",
                "updated_at": None,
            },
            {"id": "m-2", "memory": "Tom plays chess", "user_id": "tom", "run_id": "r-9"},
        ],
        "relations": [{"source": "maya", "relationship": "knows", "target": "tom"}],
    }


def langgraph_items() -> list[dict[str, Any]]:
    """Items of a LangGraph store, each with another form of value."""
    times = {"created_at": "2024-05-01T10:00:00+00:00", "updated_at": "2024-05-02T10:00:00+00:00"}
    return [
        {"namespace": ["users", "maya"], "key": "1", "value": {"food_preference": "I like pizza"}, **times},
        {
            "namespace": ["users", "tom"],
            "key": "2",
            "value": {"kind": "Memory", "content": {"content": "Tom moved to Oslo"}},
            **times,
        },
        {"prefix": "users.tom", "key": "3", "value": {"editor": "Helix", "tab_width": 4}, **times},
        {"namespace": ["x"], "key": "4", "value": {}, **times},
    ]


def agentmemory_lines() -> list[dict[str, Any]]:
    """Memories of agentmemory, one of them out of date."""
    about = {"concepts": ["deploy"], "files": [], "sessionIds": ["z-1"], "version": 1}
    return [
        {
            "id": "am-1",
            "createdAt": "2025-01-01T00:00:00Z",
            "updatedAt": "2025-01-02T00:00:00Z",
            "type": "pattern",
            "title": "Deploys",
            "content": "Staging is deployed before production",
            "strength": 8,
            "isLatest": True,
            **about,
        },
        {
            "id": "am-0",
            "type": "pattern",
            "title": "Deploys",
            "content": "No staging",
            "isLatest": False,
            **about,
        },
    ]


def as_lines(objects: list[dict[str, Any]]) -> str:
    """Objects, one to a line."""
    return "".join(json.dumps(one) + "\n" for one in objects)


def write_zip(path: Path, entries: Mapping[str, str | bytes]) -> Path:
    """Write an archive with these entries."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def pdf_bytes(pages: list[str]) -> bytes:
    """A PDF with one line of text on each page, written by hand."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, words in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({words}) Tj ET".encode()
        bodies.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        bodies.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    out, places = io.BytesIO(b""), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(bodies, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1))
    for place in places:
        out.write(b"%010d 00000 n \n" % place)
    out.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, start))
    return out.getvalue()
