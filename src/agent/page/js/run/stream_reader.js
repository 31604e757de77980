/** Reads a run's stream into its turn: progress, the answer's text, why it failed. */

import { textOf } from "./turns.js";

/** @import { StreamPart } from "../../vendor/langgraph-sdk.js" */

export class StreamReader {
  /** The run's own words on its failure. @type {Failure} */
  failure = null;
  #turn;
  /** Nothing of the answer can have been missed. */
  #whole = false;

  /** @param {Turn} turn */
  constructor(turn) { this.#turn = turn; }

  /** Takes in one part; returns whether the turn differs now. @param {StreamPart} part */
  read({ event, data }) {
    switch (event) {
      case "metadata":
        this.#whole = true;
        return false;
      case "custom":
        return this.#addEvent(data);
      case "messages":
        return this.#addText(data?.[0]);
      case "error":
        this.failure = data;
    }
    return false;
  }

  /** @param {RunEvent} event */
  #addEvent(event) {
    if (typeof event?.type !== "string") return false;
    if (event.type === "answering") this.#whole = true;
    if (event.type === "withdrawn") {
      this.#turn.text = event.text ?? "";
      return true;
    }
    this.#turn.events = [...this.#turn.events, event];
    return true;
  }

  /**
   * Appends a piece of the answer; of one whose beginning was missed, nothing until it is finished.
   * @param {Message|undefined} chunk
   */
  #addText(chunk) {
    const text = textOf(chunk?.content);
    if (chunk?.type !== "AIMessageChunk" || !text || !this.#whole) return false;
    if (chunk.id !== this.#turn.messageId) Object.assign(this.#turn, { messageId: chunk.id, text: "" });
    this.#turn.text += text;
    return true;
  }
}
