"""Run `tanlu doctor`: check what is configured and if it works. Keys are never shown."""

import asyncio
import logging
import os
import time
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import SecretStr
from typing_extensions import TypedDict

from agent.cli.console import ANSWERED, FAILED, USAGE, console_language, fail, print_json, printable
from agent.cli.environment import open_environment
from agent.configuration import MODEL_FIELDS, Configuration, configure
from agent.core.errors import AgentError, ConfigurationError
from agent.core.shared_limits import SharedLimits
from agent.settings import Settings, read_settings
from agent.texts import Language, counted, say

log = logging.getLogger(__name__)
State = Literal["ok", "missing", "broken", "off"]
_SAMPLE = "sample data: "
LONGEST_MODEL_CHECK = 180.0
"""Seconds for three questions to a model, which a slow one needs."""
LONGEST_CHECK = 60.0
"""Seconds; a check that takes longer counts as broken."""


class Check(TypedDict):
    """Hold the result of one check; `missing` and `off` are no failures."""

    name: str
    state: State
    detail: str
    suggestion: str


_KEYS: Final = (
    "gemini_api_key", "google_api_key", "openai_api_key", "amap_maps_api_key", "bocha_api_key",
    "tavily_api_key", "serper_api_key", "openalex_api_key", "semantic_scholar_api_key",
)  # fmt: skip
_OLDEST_NODE = 20
_MAP_ADVICE: Final = {"map_no_node": "node", "map_install_failed": "npm", "map_key_missing": "amap"}


def check_row(name: str, state: State, detail: str, suggestion: str = "") -> Check:
    return Check(name=name, state=state, detail=detail, suggestion=suggestion)


def advice(key: str, **values: str) -> str:
    """Return what to do, in the reader's language."""
    return say(f"doctor.advice.{key}", console_language(), **values)


async def examine() -> list[Check]:
    """Return every check in the order they are shown; a service that fails raises nothing."""
    try:
        settings, configuration = read_settings(), configure({})
    except ConfigurationError as error:
        return [check_row(error.name, "broken", error.message, advice("correct", name=error.name))]
    checks = [
        _mode(settings),
        *_keys(settings),
        *_addresses(settings),
        _access(),
        *_tiles(settings),
    ]
    try:
        live = _service_checks(settings, configuration)
        for results in await asyncio.gather(
            _data_folder(settings), _cluster(settings), _node(), *live
        ):
            checks += results
    finally:
        await _close()
    return checks


def _mode(settings: Settings) -> Check:
    if settings.mode == "offline":
        why = "TANLU_MODE=offline" if settings.tanlu_mode == "offline" else "no model key was found"
        return check_row("mode", "ok", f"offline: bundled sample data ({why})",
                     advice("live"))  # fmt: skip
    if not settings.model_configured:
        return check_row("mode", "broken", "online, but no model is configured", advice("model"))
    return check_row("mode", "ok", "online")


def _keys(settings: Settings) -> list[Check]:
    def key(field: str) -> Check:
        if getattr(settings, field) is not None:
            return check_row(field.upper(), "ok", "set")
        if field == "amap_maps_api_key" and settings.mode == "online":
            return check_row(field.upper(), "missing", "not set", advice("amap"))
        return check_row(field.upper(), "off", "not set")

    return [key(field) for field in _KEYS]


def _addresses(settings: Settings) -> list[Check]:
    """Return the addresses that differ from the usual ones; these are no secrets."""
    addresses = {
        name.upper(): value
        for name in ("google_gemini_base_url", "openai_base_url", "tanlu_model")
        if (value := getattr(settings, name))
    }
    return [check_row(name, "ok", str(value)) for name, value in addresses.items()]


def _access() -> Check:
    """Check whom a server with this environment would answer."""
    from agent.server.auth.api_keys import access

    rules = access()
    if rules.problem:
        return check_row(
            "access",
            "broken",
            rules.summary,
            advice("correct", name=rules.problem.split()[0].rstrip(":")),
        )
    if rules.open and rules.is_exposed:
        return check_row("access", "missing", rules.summary, advice("keys"))
    return check_row("access", "ok", rules.summary)


def _tiles(settings: Settings) -> list[Check]:
    """Check the page's base map, where one is configured."""
    from agent.server.base_map import base_map

    if settings.map_tiles == "none":
        return []
    tiles, problem = base_map(settings)
    if tiles is None:
        return [check_row("MAP_TILES", "missing", problem, advice("tiles"))]
    return [check_row("MAP_TILES", "ok", f"{settings.map_tiles}: the page loads tiles from there")]


async def _data_folder(settings: Settings) -> list[Check]:
    from agent.runs.threads import open_saver

    where = settings.memory
    try:
        async with open_saver(where):
            return [
                check_row(
                    "threads", "ok", f"kept in {await asyncio.to_thread(_storage_name, where)}"
                )
            ]
    except (AgentError, OSError) as error:
        where_else = "data_dir" if isinstance(where, Path) else "database"
        return [check_row("threads", "broken", str(error), advice(where_else))]


def _storage_name(where: Path | SecretStr) -> str:
    if isinstance(where, Path):
        return str(where)
    from agent.runs.postgres import database_name

    return f"the Postgres {database_name(where)}"


async def _node() -> list[Check]:
    from agent.mcp.amap.install import node_version

    try:
        version = await asyncio.to_thread(node_version)
    except (OSError, ValueError) as error:
        return [check_row("node", "broken", str(error), advice("node"))]
    if version is None:
        return [check_row("node", "missing", "not found: the map needs it", advice("node"))]
    major = version.lstrip("v").partition(".")[0]
    if major.isdigit() and int(major) < _OLDEST_NODE:
        return [check_row("node", "broken", f"{version} is too old", advice("node"))]
    return [check_row("node", "ok", version)]


def _service_checks(
    settings: Settings, configuration: Configuration
) -> list[Awaitable[list[Check]]]:
    """Return the checks that ask the services themselves, all at once."""
    if settings.mode == "online" and not settings.model_configured:
        return []
    from agent.services import process_services

    try:
        services: Any = process_services()
    except AgentError as error:
        return [asyncio.sleep(0, [check_row("services", "broken", error.message)])]
    return [
        *(
            _in_time(
                f"model: {model}", partial(_model, services, model, variables), LONGEST_MODEL_CHECK
            )
            for model, variables in _variables(configuration).items()
        ),
        _in_time("map server", partial(_map, services, settings)),
        _in_time("web search", partial(_search, services, configuration)),
        _in_time("sources", partial(_sources, services)),
        _in_time("reranking", partial(_reranking, services)),
        _in_time("embeddings", partial(_embeddings, services)),
        _in_time("knowledge base", partial(_knowledge, services, settings)),
        _in_time("code", partial(_code, services, settings)),
    ]


async def _model(services: Any, model: str, variables: Sequence[str]) -> list[Check]:
    """Check one model, by three small questions; `variables` are those that name it."""
    from agent.models.catalogue import parse
    from agent.models.probe import probe

    name = f"model: {model}"
    if services.sample is not None:
        return [check_row(name, "ok", f"{_SAMPLE}{model}")]
    seen, language = await probe(services.models, model), console_language()
    if seen.error:
        detail = f"{', '.join(variables)}: {seen.error.message}"
        if seen.names:
            detail += f"; it has {', '.join(seen.names)}"
        if seen.error.code in ("model_missing", "configuration"):
            return [check_row(name, "broken", detail, advice("known_model", name=variables[0]))]
        if seen.error.code == "model_not_running":
            return [check_row(name, "broken", detail, advice("server"))]
        key = services.settings.key_name(parse(model).provider)
        return [check_row(name, "broken", detail, advice("service", name=key))]
    parts = [say("doctor.model_answers", language, seconds=f"{seen.seconds:.1f}")]
    if seen.tokens_a_second:
        parts.append(say("doctor.model_speed", language, n=f"{seen.tokens_a_second:.0f}"))
    if seen.window:
        parts.append(say("doctor.model_window", language, n=f"{seen.window:,}"))
    lacks = {"no_text": seen.writes, "no_forms": seen.fills_forms, "no_tools": seen.calls_tools}
    missing = [key for key, able in lacks.items() if not able]
    parts += [say(f"doctor.model_{key}", language) for key in missing]
    state: State = "missing" if missing else "ok"
    return [check_row(name, state, ", ".join(parts), advice("able_model") if missing else "")]


def _variables(configuration: Configuration) -> dict[str, list[str]]:
    """Return each model that a role has, once, with the variables that name it."""
    models: dict[str, list[str]] = {}
    for field in MODEL_FIELDS:
        own = os.environ.get(field.upper()) or not os.environ.get("TANLU_MODEL")
        names = models.setdefault(getattr(configuration, field), [])
        if (name := field.upper() if own else "TANLU_MODEL") not in names:
            names.append(name)
    return models


async def _map(services: Any, settings: Settings) -> list[Check]:
    """Check each map, side by side."""
    checks = (_map_server(services, one, settings) for one in services.maps.clients)
    return list(await asyncio.gather(*checks))


async def _map_server(services: Any, client: Any, settings: Settings) -> Check:
    provider = client.provider
    name = "map server" if provider == "amap" else f"map server {provider}"
    if settings.mode == "online" and client.server.missing:
        return check_row(name, "off", f"not tried: {client.server.missing} is not set")
    report: Mapping[str, Any] = await client.health()
    if report["works"]:
        return _of_sample(services, await _asked_map(client, name, str(report["message"])))
    # Without a key for it, a map that cannot start is something missing, not something broken.
    state: State = "broken" if settings.mode == "online" else "missing"
    suggestion = advice(_MAP_ADVICE[code]) if (code := str(report["code"])) in _MAP_ADVICE else ""
    return check_row(name, state, str(report["message"] or "did not start"), suggestion)


async def _asked_map(client: Any, name: str, started: str) -> Check:
    """Ask the map what stands at one position: a server that starts may have a wrong key."""
    from agent.mcp.map import probe_map

    result = await probe_map(client, console_language())
    if result.gaps:
        code = result.gaps[0]["code"]
        suggestion = advice("amap") if code == "map_key_invalid" and name == "map server" else ""
        return check_row(name, "broken", result.gaps[0]["message"], suggestion)
    names = ", ".join(place["name"] for place in result.places[:1])
    return check_row(name, "ok", f"started: {started}; answers: {names}")


async def _search(services: Any, configuration: Configuration) -> list[Check]:
    from agent.search.web import REGISTRY, key_variable

    reports = await services.web.health(configuration.research_model)
    checks = [_of_sample(services, _check_of(report)) for report in reports]
    if any(report["configured"] for report in reports):
        return checks
    names = ", ".join(map(key_variable, REGISTRY))
    none = check_row("web search", "missing", "no service is set up", advice("search", names=names))
    return [none, *checks]


async def _sources(services: Any) -> list[Check]:
    reports = await services.library().health()
    return [_of_sample(services, _check_of(report, "source")) for report in reports]


def _of_sample(services: Any, result: Check) -> Check:
    """Return a check that says where a service that works is one of the sample's."""
    if services.sample is None or result["state"] != "ok":
        return result
    return Check(**{**result, "detail": f"{_SAMPLE}{result['detail']}"})


async def _reranking(services: Any) -> list[Check]:
    return [_check_of(await services.reranker().health(), "reranking")]


async def _embeddings(services: Any) -> list[Check]:
    from agent.knowledge.embeddings import build_embedder

    embedder = build_embedder(services.settings, services.calls)
    if embedder is None:
        return [check_row("embeddings", "off", "EMBEDDING_MODEL is not set: found by words only")]
    async with aclosing(embedder):
        return [_check_of(await embedder.health(), "embeddings")]


async def _knowledge(services: Any, settings: Settings) -> list[Check]:
    from agent.knowledge.base import has_documents, open_knowledge_base

    reports = await services.knowledge().health()
    checks = [_check_of(report, "knowledge base") for report in reports]
    if services.sample and await asyncio.to_thread(has_documents, settings):
        async with aclosing(open_knowledge_base(settings, services.calls)) as base:
            own, *_ = await base.health()
        detail = f"{own['message']}, kept for runs with a key"
        checks.append(check_row("knowledge base: own documents", "off", detail))
    return checks


async def _code(services: Any, settings: Settings) -> list[Check]:
    works, detail = await services.code().health()
    if works:
        return [check_row("code", "ok", f"runs in a sandbox: {detail}")]
    if settings.code_sandbox == "off":
        return [check_row("code", "off", detail)]
    return [check_row("code", "missing", f"not run: {detail}", advice("sandbox"))]


def _check_of(report: Mapping[str, Any], kind: str = "search") -> Check:
    """Return a service's report, {provider, configured, works, message}, as a check."""
    name = f"{kind}: {report['provider']}"
    if not report["configured"]:
        return check_row(name, "off", str(report["message"]))
    return check_row(name, "ok" if report["works"] else "broken", str(report["message"]))


MakeChecks = Callable[[], Awaitable[list[Check]]]
"""What asks a service once it is called; nothing complains where it never is."""


async def _in_time(
    name: str, ask: MakeChecks, seconds: float = LONGEST_CHECK, suggestion: str = ""
) -> list[Check]:
    """Return the checks, or the reason why they could not be made in time."""
    try:
        async with asyncio.timeout(seconds):
            return await ask()
    except TimeoutError:
        problem = f"no answer within {seconds:g} s"
    except AgentError as error:
        problem = error.message
    except Exception as error:
        log.info("check of %s failed", name, exc_info=True)
        problem = f"unexpected {type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return [check_row(name, "broken", problem, suggestion)]


async def _close() -> None:
    from agent.services import close_process_services

    await close_process_services()


_STYLES = {"ok": "green", "off": "dim", "missing": "yellow", "broken": "bold red"}
_MARKS = {"off": "–", "ok": "✓", "missing": "!", "broken": "✗"}
"""By state, the worst last."""
_GROUPS = {
    "model": ("mode", "gemini", "google", "openai", "tanlu_model", "services"),
    "search": ("search", "web search", "bocha", "tavily", "serper"),
    "map": ("map", "amap", "node"),
    "documents": ("source", "openalex", "semantic", "rerank", "embed", "knowledge"),
    "cluster": ("cluster",),
    "machine": ("",),
}
"""What the names of a group's checks begin with."""


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0 if what is configured works, 1 if something does not."""
    try:
        open_environment(arguments)
    except AgentError as error:
        return fail(error, code=USAGE)
    checks = asyncio.run(examine())
    works = all(check["state"] != "broken" for check in checks)
    if arguments.json:
        print_json({"ok": works, "checks": checks})
    else:
        _print_groups(checks, every=arguments.verbose)
    return ANSWERED if works else FAILED


def _print_groups(checks: Sequence[Check], *, every: bool) -> None:
    """Print a line a group with what works there, and one for each check that does not."""
    from rich.console import Console
    from rich.text import Text

    console, language = Console(highlight=False), console_language()

    def show(line: str, style: str) -> None:
        console.print(Text(printable(line), style=style), soft_wrap=True)

    for group, members in _groups(checks).items():
        state = max((check["state"] for check in members), key=list(_MARKS).index)
        works = dict.fromkeys(_label(c, language) for c in members if c["state"] == "ok")
        idle = say("doctor.off", language) if state == "off" else ""
        show(f"{_MARKS[state]} {say(f'doctor.{group}', language)}  {', '.join(works) or idle}",
             _STYLES[state])  # fmt: skip
        for check in members:
            if every or check["state"] in ("missing", "broken"):
                line = f"    {_MARKS[check['state']]} {check['name']}: {check['detail']}"
                show(line, _STYLES[check["state"]])
    for suggestion, those in _suggestions(checks).items():
        show(f"→ {', '.join(check['name'] for check in those)}: {suggestion}", "bold")


def _groups(checks: Sequence[Check]) -> dict[str, list[Check]]:
    """Return the checks by the part of the program that they are about."""
    groups: dict[str, list[Check]] = {group: [] for group in _GROUPS}
    for check in checks:
        name = check["name"].lower()
        groups[next(g for g, names in _GROUPS.items() if name.startswith(names))].append(check)
    return {group: members for group, members in groups.items() if members}


def _label(check: Check, language: Language) -> str:
    """Return what a check that passed stands for, in a word or two."""
    name, service = check["name"], check["name"].partition(": ")[2]
    if name == "mode":
        kind = "sample" if check["detail"].startswith("offline") else "live"
        return say(f"doctor.{kind}", language)
    if check["detail"].startswith(_SAMPLE):
        return say("doctor.sample", language)
    in_detail = name in ("access", "threads")
    return service or (check["detail"] if in_detail else name)


def _suggestions(checks: Sequence[Check]) -> dict[str, list[Check]]:
    """Return each suggestion once, with the checks it is made for."""
    by_suggestion: dict[str, list[Check]] = {}
    for check in checks:
        if check["suggestion"]:
            by_suggestion.setdefault(check["suggestion"], []).append(check)
    return by_suggestion


CLUSTER_SECONDS = 10.0
"""For Postgres and Redis to answer."""
_LARGEST_DIFFERENCE = 1.0
"""Seconds between two clocks; times of runs are compared, and limits are booked by the minute."""
_PACKAGES = ("tanlu", "langgraph", "langgraph-api", "aegra-api")

_LEASES = (
    "SELECT count(*) FILTER (WHERE status = 'running'), count(*) FILTER (WHERE status = 'pending'),"
    " count(*) FILTER (WHERE status = 'running' AND lease_expires_at <"
    " now() - interval '60 seconds') FROM public.runs"
)
"""A minute after its end some server should have taken a lease up."""
_HAS_LEASES = (
    "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public'"
    " AND table_name = 'runs' AND column_name = 'lease_expires_at'"
)


async def _cluster(settings: Settings) -> list[Check]:
    """Return a check for each part that several servers share; none where nothing is shared."""

    def asked(name: str, ask: MakeChecks) -> Awaitable[list[Check]]:
        suggestion = advice("redis" if name == "redis" else "database")
        return _in_time(f"cluster: {name}", ask, CLUSTER_SECONDS, suggestion)

    asking = []
    if database := settings.database_url:
        asking += [
            asked("postgres", partial(_postgres, database)),
            asked("runs", partial(_runs, database)),
        ]
    if redis := settings.tanlu_redis_url:
        asking.append(asked("redis", partial(_redis, redis)))
    checks = [check for checks in await asyncio.gather(*asking) for check in checks]
    return [*checks, _part("versions", _versions())] if checks else []


def _part(name: str, detail: str, key: str = "") -> Check:
    """Return a check of the cluster; with the key of what to do, something is missing."""
    state: State = "missing" if key else "ok"
    return check_row(f"cluster: {name}", state, detail, advice(key) if key else "")


async def _postgres(url: SecretStr) -> list[Check]:
    def ask() -> tuple[str, int, int, float, list[int]]:
        from agent.runs.postgres import connect_postgres

        with connect_postgres(url) as connection:

            def one(sql: str) -> Any:
                row = connection.execute(sql.encode()).fetchone()
                return row[0] if row else None

            server = str(one("SHOW server_version")).split()[0]
            used = int(one("SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL"))
            most = int(one("SHOW max_connections"))
            apart = _apart(lambda: float(one("SELECT extract(epoch FROM clock_timestamp())")))
            leases: list[int] = []
            if one(_HAS_LEASES):
                leases = [int(n) for n in connection.execute(_LEASES.encode()).fetchone() or ()]
            return server, used, most, apart, leases

    server, used, most, apart, leases = await asyncio.to_thread(ask)
    connections = f"{server}, {used} of {most} connections in use"
    checks = [
        _part("postgres", connections, "connections" if used > 0.9 * most else ""),
        _clock("clock of postgres", apart),
    ]
    if leases:
        running, waiting, expired = leases
        detail = f"{counted('runs', running, 'en')} under way, {waiting} waiting"
        detail += f", {expired} of a server that is gone"
        checks.append(_part("leases", detail, "servers" if expired else ""))
    return checks


async def _runs(url: SecretStr) -> list[Check]:
    from agent.runs.run_log import RunLog

    async with aclosing(RunLog(url)) as run_log:
        pending = await run_log.pending()
    detail = f"{pending.open} open, by {counted('processes', pending.processes, 'en')}"
    if not pending.orphaned:
        return [_part("runs", detail)]
    minutes = counted("minutes", round((time.time() - pending.oldest) / 60), "en")
    detail = f"{detail}; {pending.orphaned} of processes that are gone, for {minutes}"
    return [_part("runs", detail, "servers")]


async def _redis(url: SecretStr) -> list[Check]:
    async with aclosing(SharedLimits(url)) as shared:
        server, now = await shared.server()
    return [_part("redis", server), _clock("clock of redis", time.time() - now)]


def _apart(read: Callable[[], float]) -> float:
    """Return the seconds by which our clock is ahead, half of the way there taken off."""
    began = time.time()
    theirs = read()
    return (began + time.time()) / 2 - theirs


def _clock(name: str, apart: float) -> Check:
    detail = f"{abs(apart):.2f} s {'behind' if apart > 0 else 'ahead of'} this machine's"
    return _part(name, detail, "clock" if abs(apart) > _LARGEST_DIFFERENCE else "")


def _versions() -> str:
    """Return those of the packages that serve; all instances should have the same."""
    versions = []
    for package in _PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(versions)
