/** Own documents: files are dropped here or chosen, read by the server, and asked; they can be deleted. */

import { disclosure } from "../disclosure.js";
import { contains, el, fill, icon } from "../dom.js";
import { language, textsOf, translator } from "../i18n.js";
import { documents, give, removeDocument, serverError } from "../run/server.js";

const say = translator("page.documents");
/** Says why a file is not taken, by the server's code. */
const REASONS = textsOf("page.documents.codes");
const LONGEST_COLLECTION = 40;

export class DocumentsView {
  #onChange;
  /** @type {OwnDocuments} */
  #told = { collections: [], limits: { file: Infinity, owner: Infinity, used: 0 } };
  /** @type {Set<string>} */
  #asked = new Set();
  #open = new Set();
  #waiting = 0;
  #label = el("span", { class: "documents-label" });
  #only = el("input", { type: "checkbox", onchange: () => this.#changed() });
  #choose = el("input", {
    type: "file", multiple: true, class: "visually-hidden", tabindex: -1, "aria-hidden": "true",
    onchange: () => {
      this.take([...this.#choose.files ?? []]);
      this.#choose.value = "";
    },
  });
  #progress = el("ul", { class: "uploads small", "aria-live": "polite" });
  #list = el("div", { class: "collections" });
  #problem = el("p", { class: "small warn", role: "alert", hidden: true });
  #onlyLabel = el("label", { class: "only small" }, this.#only, el("span", {}, say("only")));

  /** @param {() => void} onChange what is asked is another, or may be asked now */
  constructor(onChange) {
    this.#onChange = onChange;
    const pick = el("button", { class: "button", type: "button", onclick: () => this.#choose.click() },
      icon("up"), say("choose"));
    const panel = el("div", { class: "rules-panel documents-panel", tabindex: -1 },
      el("p", { class: "small muted" }, say("hint")), el("div", {}, pick, this.#choose), this.#progress,
      this.#problem, this.#list, this.#onlyLabel);
    this.#fold = disclosure({ label: this.#label, panel, name: say("name") });
    this.#fold.button.title = say("name");
    this.#fold.button.addEventListener("click", () => { if (!panel.hidden) this.#read(); });
    this.node = el("div", { class: "rules", dataset: { part: "documents" } }, this.#fold.node);
    this.#show();
  }

  #fold;

  /** Tells whether no file is on its way. */
  get isReady() { return this.#waiting === 0; }

  /** Returns the choice as settings of a run. @returns {Record<string, string>} */
  get settings() {
    const names = [...this.#asked];
    if (!names.length) return {};
    return { collections: names.join(","), ...(this.#only.checked && { sources: "own" }) };
  }

  open() { if (this.#fold.button.ariaExpanded !== "true") this.#fold.button.click(); }

  close() { this.#fold.close(); }

  /**
   * Gives files to the server, one after another, and has them asked. They go to the one own collection
   * that is asked already, else to a new one of the first that is taken. What there is to tell stays open.
   * @param {File[]} files
   */
  async take(files) {
    if (!files.length) return;
    this.open();
    this.#waiting += 1;
    this.#changed();
    const rows = files.map((file) => this.#row(file));
    await this.#read();
    const own = this.#told.collections.filter(({ name, own }) => own && this.#asked.has(name));
    const taken = this.#told.collections.map(({ name }) => name);
    let collection = own.length === 1 && this.#asked.size === 1 ? own[0].name : "";
    let isPlain = true;
    for (const [at, row] of rows.entries()) {
      const name = collection || newName(files[at], taken);
      const note = await row(name);
      if (note !== null) this.#asked.add(collection = name);
      isPlain &&= note === "";
    }
    this.#waiting -= 1;
    await this.#read();
    if (isPlain && !contains(this.#list, document.activeElement)) this.#fold.close();
  }

  /**
   * Shows a file on its way.
   * @param {File} file
   * @returns {(collection: string) => Promise<string|null>} gives it, and returns what there is to note; null
   *   where it is not taken
   */
  #row(file) {
    const bar = el("progress", { max: 1, value: 0, "aria-label": say("giving", { name: file.name }) });
    const words = el("span", { class: "muted" }, say("waits"));
    const row = el("li", {}, el("span", { class: "upload-name" }, file.name), bar, words);
    this.#progress.append(row);
    return async (collection) => {
      try {
        if (file.size > this.#told.limits.file) throw { code: "too_large" };
        const told = await give(file, collection, (share) => {
          bar.value = share;
          fill(words, share < 1 ? `${Math.round(share * 100)} %` : say("reading"));
        });
        const way = told.outcome === "same" ? "same" : "read";
        const note = told.note[language] ?? "";
        fill(words, say(way, { n: told.passages }), note && ` · ${note}`);
        row.classList.add("done");
        return note;
      } catch (error) {
        words.className = "warn";
        fill(words, this.#why(error));
        return null;
      } finally {
        bar.remove();
      }
    };
  }

  /** Says why a file was not taken. @param {any} error */
  #why({ code, message }) {
    const most = String(Math.floor(this.#told.limits.file / 2 ** 20));
    return REASONS.get(code)?.replace("{most}", most) ?? message;
  }

  async #read() {
    try {
      this.#told = await documents();
      const there = new Set(this.#told.collections.map(({ name }) => name));
      for (const name of this.#asked) if (!there.has(name)) this.#asked.delete(name);
      this.#problem.hidden = true;
    } catch (error) {
      fill(this.#problem, say("failed", { reason: serverError(error).message }));
      this.#problem.hidden = false;
    }
    this.#changed();
  }

  #changed() {
    this.#show();
    this.#onChange();
  }

  #show() {
    const focused = document.activeElement?.getAttribute("data-focus");
    fill(this.#list, ...this.#told.collections.map((one) => this.#collection(one)));
    const again = focused && this.#list.querySelector(`[data-focus="${CSS.escape(focused)}"]`);
    if (again instanceof HTMLElement) again.focus();
    const [first, ...more] = this.#asked;
    const asked = this.#told.collections.filter(({ name }) => this.#asked.has(name));
    const count = asked.reduce((sum, { files, count }) => sum + (files.length || count), 0);
    fill(this.#label, icon("documents"),
      first && el("span", {}, first, more.length > 0 && " …", count > 1 && ` (${count})`));
    this.#onlyLabel.hidden = !first;
  }

  /** @param {Collection} collection */
  #collection({ name, own, files, count }) {
    const box = el("input", { type: "checkbox", checked: this.#asked.has(name),
      dataset: { focus: `ask ${name}` },
      onchange: () => {
        if (box.checked) this.#asked.add(name);
        else this.#asked.delete(name);
        this.#changed();
      } });
    const title = el("label", { class: "collection-name" }, box, el("span", {}, name));
    if (!files.length) {
      const words = el("span", { class: "small muted" }, say("many", { n: count }));
      return el("div", { class: "collection" }, title, words);
    }
    return el("div", { class: "collection" }, title,
      el("details", { open: this.#open.has(name), ontoggle: (event) => {
        const { open } = /** @type {HTMLDetailsElement} */ (event.target);
        if (open) this.#open.add(name); else this.#open.delete(name);
      } },
        el("summary", { class: "small muted", dataset: { focus: `files ${name}` } },
          say(own ? "files" : "shared", { n: files.length })),
        el("ul", { class: "small" }, ...files.map((file) => el("li", {}, el("span", {}, file.name),
          file.uploaded && this.#remover(name, file))))));
  }

  /** @param {string} collection @param {OwnDocument} file */
  #remover(collection, file) {
    const words = say("remove", { name: file.name });
    const button = el("button", { class: "button quiet", type: "button", "aria-label": words, title: words,
      onclick: async () => {
        if (!button.classList.contains("danger")) {
          button.classList.add("danger");
          fill(button, say("sure"));
          return;
        }
        button.disabled = true;
        try {
          await removeDocument(collection, file.id);
        } catch (error) {
          fill(this.#problem, say("failed", { reason: serverError(error).message }));
        }
        await this.#read();
      },
      onblur: () => {
        button.classList.remove("danger");
        fill(button, icon("remove"));
      } }, icon("remove"));
    return button;
  }
}

/**
 * Makes the name of a collection of a file's; another where that is taken.
 * @param {{name: string}} file @param {string[]} taken
 */
function newName(file, taken) {
  const words = file.name.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}_-]+/gu, "-").replace(/^-+|-+$/g, "");
  const stem = [...words].slice(0, LONGEST_COLLECTION).join("") || (language === "zh" ? "文件" : "files");
  let name = stem;
  for (let n = 2; taken.includes(name); n += 1) name = `${stem}-${n}`;
  return name;
}
