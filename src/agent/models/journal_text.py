"""A response as text and back, so that the journal can keep what was paid for."""

import base64
import json
from typing import Any, cast

from langchain_core.messages import AIMessage, messages_from_dict, messages_to_dict

from agent.models.vendor import Finish, Response
from agent.strings import valid_json


def to_text(response: Response) -> str:
    """JSON; bytes in a message (thought signatures) become {"__bytes__": base64}."""
    return json.dumps(
        {
            "message": messages_to_dict([response.message])[0],
            "text": response.text,
            "parts": list(response.parts),
            "finish": response.finish,
            "reason": response.reason,
            "grounding": response.grounding,
            "input_tokens": response.input_tokens,
            "output_tokens": response.output_tokens,
            "served_by": response.served_by,
        },
        ensure_ascii=False,
        default=_plain,
    )


def from_text(text: str) -> Response:
    """The response that `to_text` wrote, in valid text."""
    kept = valid_json(json.loads(text, object_hook=_bytes))
    return Response(
        message=cast(AIMessage, messages_from_dict([kept["message"]])[0]),
        text=kept["text"],
        parts=tuple(kept["parts"]),
        finish=cast(Finish, kept["finish"]),
        reason=kept["reason"],
        grounding=kept["grounding"],
        input_tokens=kept["input_tokens"],
        output_tokens=kept["output_tokens"],
        served_by=kept["served_by"],
    )


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"__bytes__": base64.b64encode(value).decode()}
    if hasattr(value, "model_dump"):
        return value.model_dump()
    return str(getattr(value, "value", value))


def _bytes(value: dict[str, Any]) -> Any:
    return base64.b64decode(value["__bytes__"]) if set(value) == {"__bytes__"} else value
