/** What the page uses of markdown-it. */

export interface Token {
  type: string;
  tag: string;
  content: string;
  level: number;
  map: [number, number] | null;
  attrs: [string, string][] | null;
  children: Token[] | null;
  nesting: -1 | 0 | 1;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

export default class MarkdownIt {
  constructor(preset: "commonmark", options: { html: boolean });
  enable(rule: string): this;
  disable(rule: string): this;
  validateLink: (url: string) => boolean;
  core: { ruler: { push(name: string, rule: (state: { tokens: Token[]; env: any }) => void): void } };
  parse(text: string, env: object): Token[];
  render(text: string, env: object): string;
}
