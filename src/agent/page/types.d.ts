/** What the server sends and what modules of the page hand each other. Read by `make check`, not served. */

type Language = "zh" | "en";
/** A language of the page, or that of an answer by its tag, with its texts by their keys. */
type Spoken = Language | { tag: string; texts: Record<string, string> };
type InLanguages<T> = Record<Language, T>;

/** Degrees; which system they are in is said by whoever hands them over. */
interface Point { lng: number; lat: number }
/** Latitude and longitude, in the order of map libraries. */
type LatLng = [number, number];
/** WGS-84; `accuracy` in metres, known only where the browser said where it is. */
interface Position extends Point { accuracy?: number }
/** Something that lies somewhere: `wgs84` always, `location` as the map service said it. */
interface Located { wgs84: Point; location?: Point & { crs: "GCJ-02" | "WGS-84" } }

/* What the server configures: /app/config.json. */

interface PublicConfig {
  version: string;
  keys: boolean;
  user: string | null;
  mode: "online" | "offline" | "broken";
  notice: InLanguages<string> | null;
}

interface Config extends PublicConfig {
  reason: Record<Language, string> | null;
  tiles: Tiles | null;
  photos: boolean;
  max_question: number;
  /** Whether answers can be had as PDF. */
  pdf: boolean;
  /** Whether an answer may be shared with whoever has its address. */
  sharing: boolean;
  /** The diets and the longest text of what one prefers; null where that is not kept. */
  memory: { diet: string[]; longest: number } | null;
  /** Whether keys of live data may be given. */
  connect: boolean;
  /** Whether files may be given. */
  uploads: boolean;
}

/** What one prefers; a field that is empty says nothing. */
interface Person {
  on: boolean;
  home_city: string;
  with_children: boolean;
  budget: number | null;
  currency: string;
  diet: string[];
  language: string;
}

/** One's own documents, and how many bytes of them may be given. */
interface OwnDocuments {
  collections: Collection[];
  limits: { file: number; owner: number; used: number };
}
interface Collection { name: string; own: boolean; count: number; files: OwnDocument[] }
interface OwnDocument { id: string; name: string; passages: number; uploaded: boolean }

/** A shared answer; its path is below the page's own folder. */
interface Share {
  path: string;
  message: string;
  ends_at: string;
  this_machine_only: boolean;
  /** What of its owner's the page may show. */
  shows: ("position" | "documents")[];
}

interface Tiles {
  kind: "raster" | "vector";
  /** Who is asked for them; empty for this server. */
  host: string;
  url: string;
  overlays: string[];
  subdomains: string[];
  attribution_zh: string;
  attribution_en: string;
  attribution_url: string;
  max_zoom: number;
  referrer_policy: ReferrerPolicy;
}

/* What a finished answer carries. */

type SourceKind = "page" | "place" | "paper" | "filing" | "document";
interface Source {
  id: string;
  kind: SourceKind;
  title: string;
  url: string;
  provider?: string;
  site?: string;
  published?: string | null;
  unresolved?: boolean;
  quotes?: string[];
  /** Of a calculation the lines that the text uses; `[1c]` cites the third. */
  sums?: string[];
  number?: number | null;
}

interface Place extends Located {
  id: string;
  name: string;
  address: string | null;
  category: string | null;
  name_en?: string;
  name_pinyin?: string;
  name_hant?: string;
  category_en?: string;
  open_time_en?: string;
  /** The same in the language of an answer that is neither Chinese nor English. */
  hours?: string;
  district: string | null;
  district_en?: string;
  distance_m: number | null;
  distance_from: string | null;
  distance_from_en?: string;
  /** Whether that is an area, whose middle the map's point of it is. */
  from_middle?: boolean;
  further?: { origin: string; origin_en?: string; metres: number | null; from_middle?: boolean }[];
  /** On foot, measured. */
  walk_m?: number;
  walk_s?: number;
  /** By how much a way between two gets longer over it; on foot, else by straight lines. */
  detour_m?: number;
  detour_walked?: boolean;
  rating: number | null;
  cost: number | null;
  per_head?: boolean;
  per_night?: boolean;
  currency?: string;
  open_time: string | null;
  photo: string | null;
  url: string;
  source: string;
  verdicts?: {
    constraint: string; verdict: "satisfied" | "violated" | "unknown"; field?: string; text: string;
  }[];
  phone?: string;
  /** ISO weekdays, and minutes since midnight in China; `end` may pass 1440. */
  zone?: string;
  opening?: { days: number[]; start: number; end: number }[];
  mentioned: boolean;
  /** What its card says of its bullet's words: where each part begins in them, and it. */
  told?: [number, string][];
  /** Which of its facts the words beside its card say; older answers have none. */
  said?: string[];
  /** In the list, on the map and on its card; older answers have none. */
  number?: number;
  fetched_at: string;
}

/** What the places of a map search lie around. */
interface Anchor extends Located { name: string; name_en?: string; district?: string; district_en?: string }

type TravelMode = "walking" | "driving" | "bicycling" | "transit";
interface RouteStep { instruction: string; distance_m: number | null }
interface Route {
  line?: [number, number][];
  id: string;
  mode: TravelMode | "straight";
  origin: string;
  destination: string;
  origin_en?: string;
  destination_en?: string;
  distance_m: number | null;
  duration_s: number | null;
  steps?: RouteStep[];
  url: string;
  source: string;
  fetched_at: string;
  ends?: Anchor[];
  via?: Anchor[];
}

interface WeatherDay {
  date: string;
  day: string;
  night: string;
  high_c: number | null;
  low_c: number | null;
  wind: string | null;
  asked?: boolean;
  sky_en?: string;
  wind_en?: string;
}
interface Weather {
  id: string;
  city: string;
  city_en?: string;
  days: WeatherDay[];
  source: string;
  fetched_at: string;
}

interface Gap { query: string; message: string; recovered?: boolean }

/** A sentence that is not plainly quoted; positions count code points of the message's text. */
interface Statement {
  start: number;
  end: number;
  verdict: string;
  source: string | null;
  /** The deciding passage, or the beginning of one that the source has among its quotes. */
  quote: string | null;
  /** Words of the passage that say otherwise. */
  says?: string;
  /** Words of the sentence that are not borne out. */
  spans?: string[];
}

interface Usage {
  model_calls?: number;
  input_tokens?: number;
  output_tokens?: number;
  searches?: number;
  map_calls?: number;
  cost_usd?: number | null;
  seconds?: number;
}

interface Feature {
  geometry: { coordinates: [number, number] };
  properties: { role?: string; name?: string; gcj02?: Point } | null;
}

interface Answer {
  text: string;
  assistant?: string;
  sources: Source[];
  places: Place[];
  routes: Route[];
  weather: Weather[];
  gaps: Gap[];
  queries: (PlannedQuery & { round?: number })[];
  /** The planned day, where one was wanted. */
  next_questions?: string[];
  outing: {
    stops: { place?: string; name: string }[]; left_out?: { place: string; text: string }[];
    start?: Anchor; end?: Anchor; back?: object;
  } | null;
  search_entry_points: string[];
  usage: Usage;
  checks: { cited?: number; claims?: Record<string, number>; statements?: Statement[] };
  geojson: { features: Feature[] } | null;
  anchor: Anchor | null;
  needs: string | null;
  mode: string;
  /** The language of its own parts, whichever is the page's around them. */
  spoken: Spoken;
  degraded: boolean;
  /** The bare answer of a team; "" for every other assistant. */
  final_answer: string;
  outcome: string;
  verified: boolean;
  /** The events of its turn. */
  progress: RunEvent[];
}

/* A run under way, and its plan. */

/** A progress event. */
interface RunEvent {
  type: string;
  node?: string;
  id?: string;
  text?: string;
  count?: number;
  seconds?: number;
  speaker?: string;
  spots?: Spot[];
  sources?: { title: string; url: string; site: string }[];
}

type SpotRole = "anchor" | "place" | "origin" | "destination";
/** Something that the map has located; WGS-84. */
interface Spot extends Point { role: SpotRole; name: string; id?: string }

interface MapTask { intent: string }
interface PlannedQuery { query: string; map?: MapTask | null }
/** A plan that waits, under the key of its part. */
interface Estimate {
  searches: number;
  map_calls: number;
  model_calls: number;
  cost_usd: { low: number; high: number } | null;
  seconds?: { low: number; high: number };
}
interface Review {
  queries?: PlannedQuery[];
  topics?: Record<string, unknown>[];
  tasks?: Record<string, unknown>[];
  steps?: string[];
  most?: number;
  words?: { maps: string[]; estimate: string };
  estimate?: Estimate;
  /** What each line adds to the estimate, and what another one would. */
  shares?: { lines: Estimate[]; own: Estimate };
  problem?: string | null;
}
type PlanPart = "queries" | "topics" | "tasks" | "steps";
/** What a person decides about a plan. */
type Decision = Partial<Record<PlanPart, unknown[]>> | { cancel: true };

/** What is asked of a run under way: something besides, or something no more. */
type Wish = { wish: string } | { drop: string };

type TurnStatus = "starting" | "running" | "waiting" | "done" | "stopped" | "aside" | "failed";

/** One question with everything that came of it. Times are in milliseconds since the epoch. */
interface Turn {
  /** The human message's. */
  id: string;
  runId: string | null;
  /** The AI message's. */
  messageId: string | null;
  question: string;
  /** Graph id. */
  assistant: string;
  status: TurnStatus;
  startedAt: number;
  endedAt: number | null;
  events: RunEvent[];
  /** Markdown, while streaming and after. */
  text: string;
  answer: Answer | null;
  review: Review | null;
  /** One line. */
  error: string | null;
  /** The run's context, the same again after a review. */
  settings: Record<string, unknown>;
  /** The id of the turn that it was asked in place of. */
  replaces: string | null;
  /** Under which the server took the question, where it died since. */
  firstRunId: string | null;
  /** The server died; the run is about to go on. */
  isLost: boolean;
  /** The connection is broken; the run may well go on. */
  isAway: boolean;
}

/* Records of LangGraph's server. */

type ContentBlock = string | { text?: string };
interface Message {
  type: string;
  id: string;
  content: string | ContentBlock[];
  /** `words` are texts by their keys, in a language that the page has none in. */
  additional_kwargs?: Partial<Answer> & { language?: string; words?: Record<string, string> };
}
interface ThreadValues {
  messages?: Message[];
  geojson?: Answer["geojson"];
  anchors?: Anchor[];
  turn?: { language?: string; reader?: string };
}
type Metadata = Record<string, string | undefined>;
interface Interrupt { value: Review }
interface ThreadState {
  values: ThreadValues;
  next?: string[];
  tasks?: { interrupts?: Interrupt[] }[];
  interrupts?: Interrupt[];
  metadata?: Metadata | null;
}
type RunStatus = "pending" | "running" | "error" | "success" | "timeout" | "interrupted";
interface QuestionMessage { id?: string; type?: string; role?: string; content: Message["content"] }
/** What a run is started with: a question, or the answer to its review. */
interface RunPayload {
  input?: { messages: QuestionMessage[]; user_location?: Point; utc_offset?: number } | null;
  command?: { resume: Decision } | null;
}
interface RunRecord extends RunPayload { context?: Record<string, unknown> }
/** With what it was asked: in `kwargs`, or, as Aegra has it, beside its id. */
interface Run extends RunRecord {
  run_id: string;
  status: RunStatus;
  created_at: string;
  updated_at: string;
  metadata?: Metadata | null;
  kwargs?: RunRecord;
}
interface Thread {
  thread_id: string;
  status: "idle" | "busy" | "interrupted" | "error";
  updated_at: string;
  metadata?: Metadata | null;
  /** What a person is asked, by the step that asks. */
  interrupts?: Record<string, unknown[]>;
}
/** What a run says about its failure. */
type Failure = { error?: string; message?: string } | string | null | undefined;
interface Assistant {
  assistant_id: string;
  graph_id: string;
  name?: string | null;
  description?: string | null;
}
type Client = import("./vendor/langgraph-sdk.js").Client;

/* What modules hand each other. */

/** One part of a turn on the page. */
interface View { node: HTMLElement; update(turn: Turn): void }
/** Why a place is chosen: its citation is read, or it is to be seen on the map. */
type ChoiceReason = "cited" | "map";
type ChoosePlace = (placeId: string | null, why?: ChoiceReason) => void;
/** What parts of an answer lead to. */
interface AnswerLinks {
  threadId: () => string | null;
  onPlace: ChoosePlace;
  onAnew: (turn: Turn) => void;
  /** Asks it again in its place. */
  onOnceMore: (turn: Turn) => void;
  since: () => string | null;
  isFirst: (turnId: string) => boolean;
}
/** What an answer tells otherwise than an earlier one. */
interface AnswerChanges {
  since: string;
  new: string[];
  gone: string[];
  figures: { before: string; after: string }[];
  same: number;
}
/** Follows a run until `signal` ends that; `wait` is `delay` but for tests. */
interface Following { signal: AbortSignal; wait: (ms: number, signal: AbortSignal) => Promise<void> }

/* Elements. */

type Child = Node | string | number | null | undefined | false;
type Attributes = {
  [Kind in keyof HTMLElementEventMap as `on${Kind}`]?: (event: HTMLElementEventMap[Kind]) => unknown;
} & { dataset?: Record<string, string | number>; [name: string]: unknown };
type IconName =
  "menu" | "new" | "close" | "send" | "stop" | "down" | "person" | "pin" | "again" | "remove" | "up" |
  "settings" | "rename" | "route" | "weather" | "cloudy" | "overcast" | "rain" | "thunder" | "snow" | "fog" |
  "wind" | "deep_research" | "team_answer" | "plan_execute" |
  "documents" | "copy" | "share" | "public" | "export" |
  "kind-page" | "kind-place" | "kind-paper" | "kind-filing" | "kind-document";
