/** What a run's stream adds to its turn: progress, the answer's text, why it failed. */

import { textOf } from "./turns.js";

export class StreamReader {
  /** The run's own words on its failure. @type {object|null} */
  failure = null;
  #turn;
  #whole;

  /**
   * @param {import("./turns.js").Turn} turn
   * @param {{whole?: boolean}} options whether nothing of the run can have been missed
   */
  constructor(turn, { whole = false } = {}) {
    this.#turn = turn;
    this.#whole = whole;
  }

  /** Takes in one part; returns whether the turn differs now. */
  read({ id, event, data }) {
    switch (event) {
      case "metadata":
        this.#whole = true;
        return false;
      case "custom":
        return this.#happened(data, id);
      case "messages":
        return this.#said(data?.[0]);
      case "error":
        this.failure = data;
        return false;
      default:
        return false;
    }
  }

  #happened(told, id) {
    if (typeof told?.type !== "string") return false;
    if (told.type === "answering") this.#whole = true;
    this.#turn.events = [...this.#turn.events, { ...told, at: this.#at(id) }];
    return true;
  }

  /** Pieces of the answer; of one whose beginning was missed, nothing until it is finished. */
  #said(chunk) {
    const text = textOf(chunk?.content);
    if (chunk?.type !== "AIMessageChunk" || !text || !this.#whole) return false;
    if (chunk.id !== this.#turn.messageId) Object.assign(this.#turn, { messageId: chunk.id, text: "" });
    this.#turn.text += text;
    return true;
  }

  /** By the server's clock, which a replay has too; by ours where its ids tell no time. */
  #at(id) {
    const { began, startedAt } = this.#turn;
    const told = /^(\d{13})-\d+$/.exec(id ?? "");
    return Math.max(0, told && began ? Number(told[1]) - began : Date.now() - startedAt);
  }
}
