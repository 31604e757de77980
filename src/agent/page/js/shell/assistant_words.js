/** Who may be asked, in plain words where we know the assistant. */

import { language } from "../words.js";

const KNOWN = {
  zh: {
    agent: ["查一查", "网页和地图一起查，半分钟左右给出有出处的回答。"],
    deep_research: ["深入研究", "拆成子题逐个读，写一份带来源的长报告，要几分钟。"],
    team_answer: ["求准答案", "几位成员讨论、计算、互相核对，给出唯一的答案。"],
    plan_execute: ["资料汇编", "百科、论文、公告和自己的文档逐项查，引用到页。"],
  },
  en: {
    agent: ["Look it up", "Searches the web and the map; an answer with sources in about half a minute."],
    deep_research: ["Deep research", "Reads topic by topic and writes a long report with sources. Takes minutes."],
    team_answer: ["One exact answer", "A team discusses, calculates and checks each other, for one answer."],
    plan_execute: ["Dossier", "Encyclopedia, papers, filings and own documents, cited by page."],
  },
};
export const FIRST = "agent";

/**
 * What is offered for the server's assistants. A graph's own assistant goes by the graph's id,
 * others made over the same graph by their own id and name.
 * @param {{assistant_id: string, graph_id: string, name: string, description: string}[]} assistants
 * @returns {{value: string, graphId: string, title: string, line: string}[]}
 */
export function choicesOf(assistants) {
  return assistants.map(({ assistant_id: id, graph_id: graphId, name, description }) => {
    const isOwn = !name || name === graphId;
    const words = isOwn && Object.hasOwn(KNOWN[language], graphId) ? KNOWN[language][graphId] : [];
    const [title = name || graphId, line = description ?? ""] = words;
    return { value: isOwn ? graphId : id, graphId, title, line };
  });
}
