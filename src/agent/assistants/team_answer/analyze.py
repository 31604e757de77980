"""The first node: checks the input, opens the turn, and reads the question."""

import logging
import re
from typing import Literal, cast, get_args

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.assistants.common.budget import open_meter
from agent.assistants.common.conversation import conversation, previous_evidence
from agent.assistants.common.gaps import ask_or_gap
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.turn import open_turn
from agent.assistants.team_answer.state import (
    Analysis,
    TeamState,
    TeamUpdate,
    TraceEntry,
    configuration_of,
    new_discussion,
)
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import InputError
from agent.core.progress import event
from agent.core.strings import cut_to_tokens
from agent.evidence.places import city_in, landmark_in
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap
from agent.models.catalogue import DEFAULT_THINKING
from agent.prompts import render
from agent.state import Turn, replaced
from agent.texts.language import detect_language

Region = Literal["china", "world", "both"]
MAX_REQUIREMENT = 2000
"""Characters of a format requirement."""
MAX_SUB_QUESTIONS = 6
_MAX_ASKED = 1000
_TYPES = ("number", "date", "name", "list", "yes_no", "text")
_CHINA = re.compile(r"中国|大陆|我国|\bChin(?:a|ese)\b", re.IGNORECASE)
_ABROAD = re.compile(
    "美国|英国|法国|德国|日本|韩国|朝鲜|俄罗斯|苏联|印度|意大利|西班牙|葡萄牙|荷兰|比利时|瑞士|瑞典|挪威"
    "|芬兰|丹麦|奥地利|波兰|希腊|土耳其|埃及|以色列|伊朗|沙特|巴西|阿根廷|墨西哥|加拿大|澳大利亚|新西兰"
    "|新加坡|马来西亚|泰国|越南|印尼|菲律宾|乌克兰|南非|欧洲|欧盟|北美|南美|拉美|非洲|联合国|奥斯卡"
    "|诺贝尔|好莱坞|外国|国外|海外|世界"
)
_FOREIGN_NAME = re.compile(r"\b[A-Z][A-Za-z'’.-]{2,}")


class Analyzed(BaseModel):
    """The question, read before anybody searches."""

    asked: str = Field(description="What exactly is wanted, in one sentence.")
    answer_type: str = Field("text", description="number, date, name, list, yes_no or text.")
    format_requirement: str = Field("", description="The form the answer must have, or empty.")
    region: str = Field("both", description="Where the subject is: china, world or both.")


class SubQuestions(BaseModel):
    """The steps to the answer."""

    sub_questions: list[str] = Field(description="One to six questions, in order.")


def checked_requirement(given: object) -> str:
    """The caller's format requirement as one line; InputError where it cannot be one."""
    if given is None:
        return ""
    if not isinstance(given, str):
        raise InputError("format_requirement", "must be a text")
    if len(given) > MAX_REQUIREMENT:
        limit = f"is longer than {MAX_REQUIREMENT} characters"
        raise InputError("format_requirement", limit)
    return clean_text(given, MAX_REQUIREMENT)


def analysis_of(read: Analyzed, question: str, requirement: str) -> Analysis:
    """A model's reading, checked; the caller's requirement goes before what it found."""
    kind, region = read.answer_type.strip().lower(), read.region.strip().lower()
    known = region in get_args(Region)
    return Analysis(
        asked=clean_text(read.asked, _MAX_ASKED) or clean_text(question, _MAX_ASKED),
        answer_type=kind if kind in _TYPES else "text",
        format_requirement=requirement or clean_text(read.format_requirement, MAX_REQUIREMENT),
        region=cast(Region, region) if known else region_by_rules(question),
    )


def analysis_by_rules(question: str, requirement: str) -> Analysis:
    """The question as it stands."""
    return Analysis(
        asked=clean_text(question, _MAX_ASKED),
        answer_type="text",
        format_requirement=requirement,
        region=region_by_rules(question),
    )


def region_by_rules(question: str) -> Region:
    """Where the subject seems to be: by the places named, then by the language."""
    chinese = bool(_CHINA.search(question) or city_in(question) or landmark_in(question))
    if detect_language(question) == "en":
        return "china" if chinese else "world"
    if _ABROAD.search(question):
        return "both" if chinese else "world"
    return "both" if _FOREIGN_NAME.search(question) else "china"


def sub_questions_of(read: SubQuestions, question: str) -> list[str]:
    """The steps, each once, at most six; the question itself where there is none."""
    cleaned = (clean_text(text, _MAX_ASKED) for text in read.sub_questions)
    steps = list(dict.fromkeys(text for text in cleaned if text))
    return steps[:MAX_SUB_QUESTIONS] or [clean_text(question, _MAX_ASKED)]


log = logging.getLogger(__name__)
NODE = "analyze"


async def analyze(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Opens the turn; a failing model leaves the question as it stands."""
    services, configuration = get_services(), configuration_of(runtime)
    turn = open_turn(state, configuration, services, runtime)
    requirement = checked_requirement(state.get("format_requirement"))
    previous = previous_evidence(state["messages"])
    said = conversation(state["messages"], previous["sources"])
    if notice := services.notice(turn["language"]):
        runtime.stream_writer(event("notice", NODE, text=notice))
    meter = open_meter(turn, configuration, services, spent=None)
    prompt = _prompt(turn, said, requirement, configuration.context_token_limit)
    analysis, gaps = await _read(
        prompt, turn, requirement, services, meter=meter, configuration=configuration
    )
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    runtime.stream_writer(event("analysis", NODE, text=analysis["asked"]))
    log.info("turn=%s %s: %s, %s", turn["id"], NODE, analysis["answer_type"], analysis["region"])
    opened = new_discussion()
    opened["turn"], opened["previous"], opened["conversation"] = turn, previous, said
    opened["analysis"] = analysis
    opened["reasoning_trace"] = replaced([TraceEntry(step=NODE, text=analysis["asked"])])
    opened["gaps"], opened["usage"] = replaced(gaps), replaced(meter.usage)
    return opened


def _prompt(turn: Turn, said: str, requirement: str, limit: int) -> list[BaseMessage]:
    values = {
        "today": turn["today"],
        "conversation": cut_to_tokens(said, limit // 10),
        "format_requirement": cut_to_tokens(requirement, limit // 10),
        "question": cut_to_tokens(turn["question"], limit // 2),
    }
    language = turn["language"]
    return [
        SystemMessage(render("team_analyze_system", language)),
        HumanMessage(render("team_analyze", language, **values)),
    ]


async def _read(
    prompt: list[BaseMessage],
    turn: Turn,
    requirement: str,
    services: Services,
    *,
    meter: Meter,
    configuration: Configuration,
) -> tuple[Analysis, list[Gap]]:
    question = turn["question"]
    asking = services.models.ask(
        configuration.query_generator_model,
        prompt,
        meter=meter,
        schema=Analyzed,
        thinking=DEFAULT_THINKING["query"],
    )
    reply, gaps = await ask_or_gap(asking, turn, NODE)
    if reply is None:
        return analysis_by_rules(question, requirement), gaps
    assert reply.parsed is not None
    return analysis_of(reply.parsed, question, requirement), []
