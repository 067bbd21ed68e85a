// The inspector: the Session as it lies in MongoDB, the last request to the model, and what happened.

import { ask, listen } from "./api.js";
import { el, find, findAll } from "./dom.js";
import { clockTime, t } from "./texts.js";

const MAX_LOG_LINES = 500;
const MAX_TEXT_CHARS = 400;

const SAID = {
  text: ({ text }) => text,
  file: ({ kind, name, bytes }) => `[${kind}] ${name} · ${bytes} B`,
  image: ({ source }) => `[${source.media_type}]`,
  document: ({ title = "", source }) => `[${source.media_type}] ${title}`,
  tool_use: ({ name, input }) => `→ ${name} ${typeof input === "string" ? input : JSON.stringify(input)}`,
  tool_result: ({ content }) => `← ${said(content ?? "")}`,
};
const tool = ({ type, name = `[${type}]`, description = "" }) => `${name} ${description}`;
const said = (content) =>
  typeof content === "string" ? content : content.map((block) => (SAID[block.type] ?? tool)(block)).join("\n");

function entry(role, content, stamp, classes = "") {
  const text = said(content);
  const short = text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}…` : text;
  return el(`li${classes}`, {}, el(`b.role.${role}`, {}, t(role)), el("span.words", {}, short), stamp && el("small", {}, stamp));
}

function part(key, count, open, ...children) {
  return el("details.part", { open, "data-part": key }, el("summary", {}, t(key), " ", el("small", {}, count)), ...children);
}

export class Inspector {
  part = (selector) => find(selector, this.node);

  // `people()` are all there are; `moved(state)` is told of every new state of the box, `away` of the connection.
  constructor(node, { people, away, moved }) {
    Object.assign(this, { node, people, moved, state: {}, events: [] });
    listen("/inspector/events", (event) => this.#happened(event), away);
    setInterval(() => this.#tick(), 1000);
  }

  look(person, chat) {
    Object.assign(this, { person, chat, state: {} });
    this.part(".none").hidden = false;
    for (const name of [".head", ".session > div", ".request > div"]) this.part(name).replaceChildren();
    this.say();
    return this.refresh();
  }

  // All that depends on the language.
  say() {
    this.part("h2").textContent = t("inspector_of", { name: this.person.name });
    this.part(".log").replaceChildren(...this.events.map((event) => this.#line(event)));
    if (this.state.kept) this.#show(this.state);
  }

  // Asked while an answer is on its way: once more afterwards, never twice at a time.
  async refresh() {
    this.again = Boolean(this.asking);
    if (this.asking || !this.person) return;
    const { person, chat } = this;
    const where = `person=${person.id}&chat=${chat}`;
    this.asking = true;
    // Nothing where the server is away: the streams say so, and ask again when it is back.
    const answers = Promise.all([ask(`/inspector/session?${where}`), ask(`/inspector/request?${where}`)]);
    const [kept, sent] = await answers.catch(() => []);
    this.asking = false;
    const isStill = person === this.person && chat === this.chat;
    if (sent && isStill) this.#show({ kept, request: sent.request, session: kept.session, at: performance.now() });
    if (this.again || !isStill) await this.refresh();
  }

  #show(state) {
    const before = this.state.session;
    this.state = state;
    this.#head(state.session, before);
    this.#fill(".session > div", this.#document(state.kept));
    this.#fill(".request > div", this.#request(state.request));
    this.#tick();
    this.moved(state);
  }

  #head(session, before) {
    this.part(".none").hidden = Boolean(session);
    this.part(".left").hidden = !session;
    const rows = session ? { _id: session._id, status: t(session.status), revision: session.revision, expires: "" } : {};
    this.part(".head").replaceChildren(...Object.entries(rows).map(([key, value]) => {
      const moved = before && before[key] !== session[key] ? ".moved" : "";
      return el(`div.${key}${moved}`, { title: value }, el("dt", {}, t(key)), el("dd", {}, String(value)));
    }));
  }

  #tick() {
    const cell = this.part(".head .expires");
    if (!cell) return;
    const left = Math.ceil(this.state.kept.expiresInSeconds - (performance.now() - this.state.at) / 1000);
    const clock = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    cell.lastChild.textContent = left > 0 ? clock : t("expired");
    cell.classList.toggle("over", left <= 0);
    this.part(".left i").style.transform = `scaleX(${Math.max(0, Math.min(1, left / this.idleSeconds))})`;
  }

  // A paper is written anew; what was unfolded in it stays unfolded.
  #fill(selector, children) {
    const paper = this.part(selector);
    const open = new Map(findAll("details", paper).map((node) => [node.dataset.part, node.open]));
    paper.replaceChildren(...children);
    for (const node of findAll("details", paper)) node.open = open.get(node.dataset.part) ?? node.open;
  }

  #document({ session, archived, earlier, notes, bytes }) {
    const kept = el("p.kept", {}, t("kept", { archived, earlier, notes: notes.length }));
    if (!session) return [kept];
    const { messages, summary, task } = session;
    const talk = messages.map(({ seq, role, content }) => entry(role, content, `#${seq}`));
    const steps = task?.steps.map(({ text, status }) => el("li", {}, el("b.role", {}, status), text));
    return [
      summary && part("summary", `#0–${summary.upTo}`, true, el("p", {}, summary.text)),
      task && part("task", steps.length, true, el("p", {}, task.goal), el("ol.talk", {}, ...steps)),
      part("messages", messages.length, true, el("ol.talk", {}, ...talk)),
      part("document", `${bytes} B`, false, el("pre", { tabIndex: 0 }, JSON.stringify(session, null, 2))),
      kept,
    ].filter(Boolean);
  }

  #request(request) {
    if (!request) return [el("p.kept", {}, t("no_request"))];
    const { cache_read_input_tokens: cached = 0, cache_creation_input_tokens: stored = 0, input_tokens = 0 } = request.usage;
    const rows = request.parts.map(({ section, role, content, repeated, marked }) =>
      entry(section === "messages" ? role : section, content, repeated && t(cached ? "cached" : "repeated"),
        `${repeated ? ".repeated" : ""}${marked ? ".marked" : ""}`),
    );
    const tokens = cached + stored + input_tokens;
    return [el("p.kept", {}, `${request.model} · ${t("spent", { tokens, cached })}`), el("ol.talk", {}, ...rows)];
  }

  #happened(event) {
    const known = this.events.find(({ number }) => number === event.number);
    if (known?.at === event.at) return;
    const log = this.part(".log");
    if (known) (this.events = []), log.replaceChildren();
    this.events = [...this.events, event].slice(-MAX_LOG_LINES);
    log.append(this.#line(event));
    if (log.children.length > MAX_LOG_LINES) log.firstChild.remove();
    log.scrollTop = log.scrollHeight;
    this.moved({ ...this.state, event });
    this.refresh();
  }

  #line(event) {
    const name = this.people().find(({ id }) => id === event.person)?.name;
    const id = event.session && el("code", {}, event.session.slice(0, 8));
    const time = el("time", {}, clockTime(Date.parse(event.at)));
    return el(`p.${event.what}`, {}, time, name && el("b", {}, name), el("span", {}, t(`log_${event.what}`, event), " ", id));
  }
}
