"""The scripted model: every text has a fixed, realistic size, and two rounds are needed, or one."""

import random
import re
import threading
from typing import Any

from agent.sample.model.reply import SampleModel
from agent.sample.model.request import GroundedSentence, GroundingPage, ModelReply, ModelTurn

_TASK = re.compile(r"<task>(\w+)</task>")
_RUN = re.compile(r"编号(\d+)")
_LONG_LINK = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/"
_PLACES = ("王府井", "三里屯", "西湖", "上海迪士尼", "外滩")
_CITIES = {"西湖": "杭州", "上海迪士尼": "上海", "外滩": "上海"}
_KINDS = ("亲子乐园", "儿童游乐场", "咖啡馆", "公园", "书店", "餐厅", "博物馆", "商场")
_TOPICS = ("能量密度与循环寿命的实测数据", "低温放电与快充表现对比", "量产成本和原材料供应情况")
_BRIEF = "查一轮就够，"
"""In the questions of which one round answers everything."""
_FOLLOW_UPS = ("安全性针刺试验结果", "储能电站招标价格走势")
_FACTS = (
    "根据2026年{month}月公布的测试，样品在零下{few}摄氏度时仍能放出约{share}%的额定容量，",
    "厂方称量产线的良品率已经稳定，单价比上一年同期下降了大约{few}.{month}%，",
    "不过独立机构的复测显示循环{many}次以后容量保持率略低于宣传的{share}%，",
    "业内人士认为储能电站会最先大规模采用{many}兆瓦时，其次才是入门级的小型电动车，",
)
_ANSWER = (
    "综合来看，它在低温和成本上占优，在能量密度上仍落后{few}%[^w0-1]。"
    "低温放电能保留{share}%的容量，快充也只要{few}分钟[^w1-2]，"
    "原材料分布广泛，{many}吨的供应不受少数产地左右[^w2-0]。"
)
"""Figures differ from run to run: what was read of one run's texts is no use to another's."""


def question(number: int, *, geo: bool = False, enough: bool = False) -> str:
    """The question of one run; its number comes back in every prompt of that run."""
    about = f"{_BRIEF}编号{number}" if enough else f"编号{number}"
    if geo:
        return f"{_PLACES[number % len(_PLACES)]}附近适合遛娃的好去处（{about}）"
    return f"钠离子电池和磷酸铁锂电池相比有哪些优势和不足（{about}）"


def task_of(text: str) -> str:
    """Which of our prompts this is; empty if none."""
    found = _TASK.search(text)
    return found[1] if found else ""


def run_of(text: str) -> int:
    """The run a prompt belongs to; -1 if it does not say."""
    found = _RUN.search(text)
    return int(found[1]) if found else -1


TASKS = (
    "generate_query", "web_research", "amap_research", "reflection", "answer", "claim_check",
)  # fmt: skip
"""Prompts that the script knows; the sample's model replies to all others."""


class Script:
    """A Model; `ungrounded` is the share of web answers that come without any source."""

    def __init__(self, *, ungrounded: float = 0.0, seed: int = 7) -> None:
        self.ungrounded = ungrounded
        self._random = random.Random(seed)
        self._lock, self._others = threading.Lock(), SampleModel()

    def respond(self, turn: ModelTurn) -> ModelReply:
        """The same answer to the same kind of prompt, however often it is asked."""
        text = turn.system + turn.user
        run = run_of(turn.user)
        match task_of(text):
            case "generate_query":
                return ModelReply(json=_queries(run, geo="遛娃" in turn.user))
            case "web_research":
                return self._web(turn)
            case "amap_research":
                return ModelReply(text=_map_text(turn.user))
            case "reflection":
                return ModelReply(json=_enough() if _BRIEF in turn.user else _reflection(run))
            case "answer":
                return ModelReply(text=answer_text(run=run))
            case "claim_check":
                return ModelReply(json={"rulings": _rulings(turn.user)})
        return self._others.respond(turn)

    def _web(self, turn: ModelTurn) -> ModelReply:
        with self._lock:
            bare = self._random.random() < self.ungrounded
        sentences = grounded_text(run_of(turn.user), seed=turn.user)
        if bare:
            return ModelReply(text="".join(sentence.text for sentence in sentences))
        return ModelReply(grounded=sentences, queries=("钠离子电池 优势", "钠离子电池 不足 2026"))


def _filled(text: str, pick: random.Random) -> str:
    """Return a text of ours with other figures, as long as they always are."""
    return text.format(
        month=pick.randint(1, 9),
        few=pick.randint(11, 39),
        share=pick.randint(61, 97),
        many=pick.randint(1_001, 4_999),
    )


def grounded_text(run: int, sentences: int = 20, *, seed: str = "") -> tuple[GroundedSentence, ...]:
    """About 800 Chinese characters over 8 pages; two sentences of three cited, 17 citations."""
    written, pick = [], random.Random(seed)
    for i in range(sentences):
        cited = [i % 8, (i * 3 + 1) % 8][: 1 + (i % 6 == 1)] if i % 3 else []
        pages = tuple(_page(run, number) for number in cited)
        end = "。" if i % 3 != 1 else "；"
        written.append(
            GroundedSentence(f"{_filled(_FACTS[i % len(_FACTS)], pick)}第{i + 1}项{end}", pages)
        )
    return tuple(written)


def _page(run: int, number: int) -> GroundingPage:
    opaque = (f"AUZIYQ{run:04d}{number}" + "kZ3vXq9_bT7" * 16)[:170]
    return GroundingPage(_LONG_LINK + opaque, f"example{number}.com")


def answer_text(tokens: int = 345, *, run: int = 0) -> str:
    """A cited answer of about this many tokens (four bytes each); 345 stream in exactly 4.0 s."""
    pick = random.Random(run)
    text = _filled(_ANSWER, pick)
    while len(text.encode()) < tokens * 4:
        text += f"\n- {_filled(_ANSWER, pick)}"
    return text.encode()[: tokens * 4].decode("utf-8", "ignore")


def _queries(run: int, *, geo: bool) -> dict[str, Any]:
    if not geo:
        topics = [{"query": f"钠离子电池 {t}（编号{run}）", "map": None} for t in _TOPICS]
        return {"query": topics, "rationale": "分别核对性能、环境适应性和成本。"}
    place = _PLACES[run % len(_PLACES)]
    task = {
        "intent": "nearby",
        "place": place,
        "city": _CITIES.get(place, "北京"),
        "keywords": [_KINDS[run % len(_KINDS)], _KINDS[(run + 3) % len(_KINDS)]],
        "radius_m": 2000 + 10 * run,
    }
    words = ("亲子活动推荐与票价", "室内游乐场开放时间", "家长评价和排队情况")
    queries: list[dict[str, Any]] = [
        {"query": f"{place} {w}（编号{run}）", "map": None} for w in words
    ]
    queries[0]["map"] = task
    return {"query": queries, "rationale": "先找地点，再看评价。"}


def _reflection(run: int) -> dict[str, Any]:
    return {
        "is_sufficient": False,
        "knowledge_gap": "缺少安全性和价格走势的近期数据。",
        "follow_up_queries": [
            {"query": f"{words}（编号{run}）", "map": None} for words in _FOLLOW_UPS
        ],
    }


def _rulings(prompt: str) -> list[dict[str, Any]]:
    """Rule that each statement is borne out by the first passage there is."""
    passages, _, told = prompt.partition("<statements>")
    passage = re.findall(r"^(\d+\.\d+) ", passages, re.MULTILINE)[:1]
    names = re.findall(r"^(\d+[a-z]?) ", told, re.MULTILINE)
    return [{"id": name, "v": "s", "p": passage} for name in names]


def _enough() -> dict[str, Any]:
    return {"is_sufficient": True, "knowledge_gap": "", "follow_up_queries": []}


def _map_text(prompt: str) -> str:
    ids = re.findall(r"\[\^(a\d+-\d+)\] ([^|\n]+)", prompt)[:3]
    told = "，".join(f"{name.strip()}[^{mark}]" for mark, name in ids)
    return f"附近适合带孩子去的有{told}，距离和开放时间见记录。" if told else "附近没有查到。"
