"""A tiny MCP stdio server that misbehaves as its first argument says; run it as a script.

No imports of ours: it starts fast, and a fault in our code cannot hide in it.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).parents[2] / "src" / "agent" / "mcp" / "amap" / "tools.json"
HOURS = 3600
STRANGE: dict[str, Any] = {
    "martian": {"content": [{"type": "martian"}]},
    "no_content": {"content": "none"},
    "null_in_content": {"content": [None]},
    "text_is_a_number": {"content": [{"type": "text", "text": 7}]},
    "error_is_a_word": {"content": [], "isError": "perhaps"},
    "structured_is_a_list": {"content": [], "structuredContent": [1]},
    "result_is_a_text": "martian",
    "result_is_null": None,
}
"""Results of calls outside the protocol, by fault."""
GREETINGS: dict[str, Any] = {
    "other_protocol": {"protocolVersion": "2099-01-01"},
    "protocol_is_a_list": {"protocolVersion": []},
    "nameless": {"serverInfo": None},
    "no_capabilities": {"capabilities": "all"},
}
"""What is strange about a greeting, by fault."""


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def raw(text: bytes) -> None:
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()


def reply(request: dict[str, Any], result: Any) -> None:
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def text_result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": False}


def first_time(marker: str) -> bool:
    """Whether no earlier process of this test has been here."""
    path = Path(marker)
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def tools(fault: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(TOOLS.read_text("utf-8"))
    if fault == "tool_missing":
        return listed[1:]
    if fault == "schema_changed":
        schema = listed[0]["inputSchema"]
        schema["properties"]["surprise"] = {"type": "string"}
        schema["required"] = [*schema.get("required", []), "surprise"]
    return listed


def on_call(fault: str, request: dict[str, Any], marker: str) -> None:
    match fault:
        case "hang_in_call":
            return
        case "freeze_in_call":
            time.sleep(HOURS)
        case "die_in_every_call":
            os.kill(os.getpid(), signal.SIGKILL)
        case "die_in_first_call" if first_time(marker):
            os.kill(os.getpid(), signal.SIGKILL)
        case "garbage_bytes":
            raw(b"\xff\xfe\x80 not utf-8 \xc3\x28\n")
        case "noise_line":
            raw(b"npm notice: something on stdout\n")
        case "half_json":
            raw(b'{"jsonrpc": "2.0", "id": %d, "result": {"content"' % request["id"])
            return
        case "huge_result":
            reply(request, text_result("x" * (50 << 20)))
            return
        case _ if fault in STRANGE:
            reply(request, STRANGE[fault])
            return
        case "broken_characters":
            broken = json.dumps({"name": "\ud83d\x9b31m\u202e故宫\x00"})
            reply(request, text_result(f'{broken[:-1]}, "said": "\ud83d"}}'))
            return
        case "closes_its_output":
            os.close(1)
            time.sleep(HOURS)
        case "not_json_text":
            reply(request, text_result("<html>502</html>"))
            return
    name = request["params"]["name"]
    reply(request, text_result(json.dumps({"called": name, "pid": os.getpid()})))


def serve(fault: str, marker: str) -> None:
    for line in sys.stdin:
        request = json.loads(line)
        method = request.get("method")
        if method == "initialize":
            if fault == "hang_at_start":
                time.sleep(HOURS)
            reply(
                request,
                {
                    "protocolVersion": "2024-11-05",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": f"scripted {fault}", "version": "1"},
                    **GREETINGS.get(fault, {}),
                },
            )
        elif method == "tools/list":
            reply(request, {"tools": "none" if fault == "tools_are_a_text" else tools(fault)})
        elif method == "tools/call":
            on_call(fault, request, marker)
        elif method == "ping":
            reply(request, {})


def main() -> None:
    fault, marker = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    if fault == "exit_at_start":
        sys.stderr.write("cannot open the licence file\n")
        sys.exit(3)
    if fault == "tell_key_and_exit":
        sys.stderr.write(f"bad key {os.environ['AMAP_MAPS_API_KEY']}\n")
        sys.exit(3)
    serve(fault, marker)
    if fault == "ignore_eof":
        time.sleep(HOURS)


if __name__ == "__main__":
    main()
