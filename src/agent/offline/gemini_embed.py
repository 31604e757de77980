"""Gemini's embedContent and batchEmbedContents: requests checked, vectors written."""

from collections.abc import Mapping
from typing import Any

from agent.offline.gemini_wire import Refused
from agent.offline.ranking import text_vector

METHODS = ("embedContent", "batchEmbedContents")
_BATCH = 100
_FULL = 3072
_TASKS = frozenset(
    {
        "RETRIEVAL_QUERY",
        "RETRIEVAL_DOCUMENT",
        "SEMANTIC_SIMILARITY",
        "CLASSIFICATION",
        "CLUSTERING",
        "QUESTION_ANSWERING",
        "FACT_VERIFICATION",
        "CODE_RETRIEVAL_QUERY",
    }
)
_PREFIXES = ("task: search result | query: ", "title: none | text: ")


def embed(method: str, body: Any, model: str) -> dict[str, Any]:
    """The reply; raises Refused for what the service answers with an error."""
    if not isinstance(body, Mapping):
        raise Refused("Invalid JSON payload received.")
    if method == "embedContent":
        return {"embedding": _vector(body, model)}
    requests = body.get("requests") or []
    if len(requests) > _BATCH:
        raise Refused(f"BatchEmbedContentsRequest.requests: at most {_BATCH} requests per batch")
    for request in requests:
        if request.get("model", f"models/{model}") != f"models/{model}":
            raise Refused("all models must match the model of the batch")
    return {"embeddings": [_vector(request, model) for request in requests]}


def _vector(request: Mapping[str, Any], model: str) -> dict[str, Any]:
    parts = (request.get("content") or {}).get("parts") or []
    text = "".join(part.get("text", "") for part in parts)
    if not text:
        raise Refused("content is empty")
    task = request.get("taskType")
    if task is not None and task not in _TASKS:
        raise Refused(f"Invalid value at 'task_type': {task}")
    if task is not None and not model.endswith("-001"):
        raise Refused(f"task_type is not supported by {model}")
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    size = int(request.get("outputDimensionality") or _FULL)
    # Shortened vectors come as they are cut, not of unit length.
    return {"values": text_vector(text, size)}
