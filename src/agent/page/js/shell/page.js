/** Conversation, question box, lists and map, tied together; the address names the thread. */

import { opening, TurnList } from "../answer/turn_list.js";
import { fill } from "../dom.js";
import { hasText, translator } from "../i18n.js";
import { MapView } from "../map/map.js";
import { hasScene } from "../map/scene.js";
import { Conversation } from "../run/conversation.js";
import { assistants, serverError, threadPath } from "../run/server.js";
import { DocumentsView } from "./documents.js";
import { Layout, part } from "./layout.js";
import { menu, notifyEnd } from "./menu.js";
import { failed } from "./notice.js";
import { Selection } from "./selection.js";
import { Sidebar } from "./sidebar.js";

/**
 * @typedef {object} First what is seen before all else is loaded
 * @property {HTMLElement} welcome what stands there before the first question
 * @property {import("./composer.js").Composer} composer
 * @property {import("../map/location.js").NearView} near
 */

const say = translator("page.page");
const NAME = document.title;
const TITLE_LENGTH = 60;

export class Page {
  #config;
  #signIn;
  /** Says whose end was last told: the turn's id and status. */
  #announced = "";
  #picking = false;
  /** @type {string|null} the answer that the next thread's first one is compared with */
  #since = null;
  /** @type {HTMLElement|null} */
  #instead = null;

  /**
   * @param {Config} config
   * @param {ReturnType<typeof import("./sign_in.js").signInDialog>} signIn asks for a key
   * @param {First} first
   */
  constructor(config, signIn, { welcome, composer, near }) {
    this.#config = config;
    this.#signIn = signIn;
    this.composer = composer;
    this.near = near;
    composer.most = config.max_question;
    if (config.uploads) composer.takeFiles((onChange) => new DocumentsView(onChange));
    this.conversation = new Conversation({ maxQuestion: config.max_question });
    this.layout = new Layout({ onNew: () => this.#new() });
    this.map = new MapView(config, { onSelect: (id) => this.selection.chooseOnMap(id) });
    this.turns = new TurnList(part("turns"), config, {
      threadId: () => this.conversation.threadId,
      onPlace: (turnId, placeId, why) => this.selection.choose(turnId, placeId, why),
      onReview: (answer) => this.#decide(answer),
      onAgain: (turn) => this.#again(turn),
      onFinish: () => this.conversation.finish(),
      onNear: (turn) => this.near.request(() => this.#again(turn)),
      onAnew: (turn) => this.#anew(turn),
      since: () => new URL(location.href).searchParams.get("since"),
      isFirst: (turnId) => this.conversation.turns[0]?.id === turnId,
      onAsk: (question) => this.ask({ question, assistant: "agent", review: false }),
      onReplace: (turn, question, assistant) =>
        this.ask({ ...this.composer.options, question, assistant }, turn),
      assistants: () => this.composer.assistants,
      empty: welcome,
    });
    this.selection = new Selection({ map: this.map, turns: this.turns, layout: this.layout });
    this.sidebar = new Sidebar({
      onOpen: (threadId) => this.#go(threadId),
      onClose: () => this.layout.closeThreads(),
      onRefused: () => this.#signIn.open(this.#config.user),
      onRemoved: (threadId) => { if (threadId === this.conversation.threadId) this.#new(); },
    });
  }

  /** Puts everything in its place and shows what the address names. */
  async begin() {
    part("threads").append(...this.sidebar.nodes);
    part("map-column").append(this.selection.node);
    if (!this.composer.node.isConnected) fill(part("composer"), this.composer.node);
    part("bar-end").append(menu(this.#config));
    this.map.showPosition(this.near.value);
    history.scrollRestoration = "manual";
    this.#listen();
    this.sidebar.refresh();
    assistants().then((list) => this.composer.offer(list), () => {});
    await this.#follow();
    this.#take(new URL(location.href).searchParams);
    const isFree = document.activeElement === document.body && !document.querySelector("dialog[open]");
    if (isFree && !this.conversation.threadId && matchMedia("(pointer: fine)").matches) this.composer.focus();
  }

  /**
   * Asks the question of the address, once; one that another page's link brought is only written down.
   * @param {URLSearchParams} told
   */
  #take(told) {
    const question = told.get("q") ?? told.get("draft");
    if (!question || this.conversation.threadId) return;
    history.replaceState(null, "", "app");
    if (told.has("q")) this.ask({ ...this.composer.options, question });
    else this.composer.giveBack(question);
  }

  #listen() {
    document.addEventListener("keydown", (event) => this.#key(event));
    this.conversation.addEventListener("change", () => this.#show());
    this.conversation.addEventListener("thread", () => this.#named());
    this.conversation.addEventListener("signin", () => this.#signIn.open(this.#config.user));
    addEventListener("popstate", () => this.#follow());
    document.addEventListener("visibilitychange", () => this.#catchUp());
    addEventListener("online", () => this.#catchUp());
  }

  /** Takes shortcuts: "/" leads to the question box, Ctrl+K to the list. @param {KeyboardEvent} event */
  #key(event) {
    const isWriting = event.target instanceof Element && event.target.closest("input, textarea, dialog");
    if (event.key === "/" && !isWriting) this.composer.focus();
    else if (event.key === "k" && (event.ctrlKey || event.metaKey)) {
      this.layout.openThreads();
      this.sidebar.focus();
    } else return;
    event.preventDefault();
  }

  /** Takes up what other windows did meanwhile. */
  #catchUp() {
    if (document.hidden) return;
    this.sidebar.refresh();
    this.conversation.refresh();
  }

  /** Opens what the address names: a thread, or the empty page. */
  async #follow() {
    const threadId = new URL(location.href).searchParams.get("thread");
    if (threadId && threadId === this.conversation.threadId) return;
    this.conversation.reset();
    this.#instead = threadId ? opening() : null;
    this.#show();
    if (!threadId) return;
    try {
      await this.conversation.open(threadId);
      this.#instead = null;
      this.#show();
      this.composer.choose(this.conversation.current?.assistant);
      this.turns.showLast();
    } catch (error) {
      const { status, message } = serverError(error);
      if (status === 401) {
        this.#signIn.open(this.#config.user);
        return;
      }
      const way = status === 404
        ? { again: () => this.#new(), label: say("new") } : { again: () => this.#follow() };
      this.#instead = failed({ text: say("lost", { reason: message }), ...way });
      this.#show();
    }
  }

  /** @param {string|null} threadId */
  #go(threadId) {
    this.layout.closeThreads();
    if (threadId === this.conversation.threadId) return;
    this.#since = null;
    history.pushState(null, "", threadId ? threadPath(threadId) : "app");
    this.#follow();
  }

  #new() {
    this.#go(null);
    this.layout.show("answer");
    this.composer.focus();
  }

  /** Puts the thread the conversation has got into the address: reloading the page opens it again. */
  #named() {
    const { threadId } = this.conversation;
    const address = new URL(location.href);
    if (threadId && address.searchParams.get("thread") !== threadId) {
      history.pushState(null, "", threadPath(threadId, this.#since));
    }
    this.sidebar.mark(threadId);
    this.sidebar.refresh();
  }

  /** @param {import("./composer.js").Asked} asked @param {Turn|null} replaces the last turn, asked anew */
  async ask({ question, assistant, review, settings }, replaces = null) {
    const near = this.near.value && { lng: this.near.value.lng, lat: this.near.value.lat };
    const asking = this.conversation.ask(question, { assistant, near, review, settings, replaces });
    this.layout.show("answer");
    this.#show();
    this.turns.showLast();
    // What fails is told by its turn; without a turn nothing was asked.
    if (!(await asking)) this.composer.giveBack(question);
  }

  /** @param {Decision} answer */
  #decide(answer) {
    const going = this.conversation.resume(answer);
    this.#show();
    this.turns.showLast();
    return going;
  }

  /** @param {Turn} turn */
  #again(turn) {
    this.ask({ ...this.composer.options, question: turn.question, assistant: turn.assistant });
  }

  /** Asks a question on a thread of its own, whose answer is compared with this one. @param {Turn} turn */
  #anew(turn) {
    const since = `${this.conversation.threadId}.${turn.messageId}`;
    this.#go(null);
    this.#since = since;
    this.#again(turn);
  }

  /** @param {Position|null} position */
  moved(position) {
    this.map.showPosition(position);
    this.#show();
  }

  /** Lets the person choose a spot on the map; null when cancelled. */
  async pick() {
    this.#picking = true;
    this.#show();
    this.layout.show("map");
    try {
      return await this.map.pick();
    } finally {
      this.#picking = false;
      this.layout.show("answer");
      this.#show();
    }
  }

  #show() {
    const { turns, current = null } = this.conversation;
    this.turns.update(turns, this.#instead);
    this.composer.update(current);
    this.selection.update(turns);
    this.layout.hasMap(this.#needsMap(turns));
    this.#tell(current);
    document.title = current ? `${turns[0].question.slice(0, TITLE_LENGTH)} · ${NAME}` : NAME;
    if (!current) this.sidebar.mark(null);
  }

  /** Tells whether there is anything to draw, or to choose on a map. @param {Turn[]} turns */
  #needsMap(turns) {
    const position = this.near.value && this.#config.tiles;
    return Boolean(this.#picking || position || turns.some(hasScene));
  }

  /** Says how a run ended, once, for those who do not see it. @param {Turn|null} current */
  #tell(current) {
    const now = current && `${current.id} ${current.status}`;
    if (now === this.#announced) return;
    const isKnown = this.#announced.split(" ")[0] === current?.id;
    this.#announced = now ?? "";
    const end = isKnown && current && hasText(`page.page.${current.status}`) && say(current.status);
    fill(part("status"), end);
    if (end && current) notifyEnd(current, end);
    if (isKnown) this.sidebar.refresh();
  }
}
