"""Lengths and times as people read them, and what ways are called."""

from agent.evidence.types import TravelMode
from agent.language import Language

MODES: dict[Language, dict[TravelMode, str]] = {
    "zh": {"walking": "步行", "driving": "驾车", "bicycling": "骑行", "transit": "公交"},
    "en": {"walking": "Walk", "driving": "Drive", "bicycling": "Cycle", "transit": "Transit"},
}


def distance_text(metres: int | None) -> str:
    """`320 m`, `2.4 km`."""
    if metres is None:
        return ""
    return f"{metres} m" if metres < 1000 else f"{metres / 1000:.1f} km"


def duration_text(seconds: int | None, language: Language) -> str:
    """`24 min`, at least one minute."""
    if seconds is None:
        return ""
    minutes = max(1, round(seconds / 60))
    return f"{minutes} 分钟" if language == "zh" else f"{minutes} min"
