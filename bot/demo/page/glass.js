// The glass box: the Session as it lies in MongoDB, the last request to the model, and what happened, of one person.

import { ask, listen, Refusal } from "./api.js";
import { el, find, findAll } from "./dom.js";
import { clockTime, language, t } from "./texts.js";

const LOG_MOST = 200;
const TEXT_MOST = 400;
const SOFT = { "summariser-failed": "refused", trouble: "refused", killed: "refused", stopped: "refused" };

function words(content) {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return blocks.map((block) => {
    if (block.type === "text") return block.text;
    if (block.type === "tool_use") return `→ ${block.name}(${typeof block.input === "string" ? block.input : JSON.stringify(block.input)})`;
    if (block.type === "tool_result") return `← ${typeof block.content === "string" ? block.content : words(block.content ?? [])}`;
    return block.name ? `${block.name}: ${block.description ?? ""}` : `[${block.type}]`;
  }).join("\n");
}

function folded(text) {
  const short = text.length > TEXT_MOST ? `${text.slice(0, TEXT_MOST)}…` : text;
  return el("span.words", {}, short);
}

const entry = (role, text, ...more) => el("li", {}, el(`b.role.${role}`, {}, role), folded(text), ...more);
const part = (name, count, open, ...children) =>
  el("details.part", { open, "data-part": name }, el("summary", {}, name, " ", el("small", {}, count)), ...children);

export class Glass {
  // `people()` are all there are; `moved(state)` is told of every new state of the box.
  constructor(node, { people, away, moved }) {
    Object.assign(this, { node, people, moved, state: {}, happenings: [] });
    listen("/glass/events", (happening) => this.#happened(happening), away);
    setInterval(() => this.#tick(), 1000);
  }

  look(person, chat) {
    const same = this.person?.id === person.id && this.chat === chat;
    Object.assign(this, { person, chat });
    if (!same) this.state = {};
    this.say();
    return this.refresh();
  }

  // Asked again while an answer is on its way: once more afterwards, never twice at a time.
  async refresh() {
    if (this.asking || !this.person) return void (this.again = true);
    this.asking = true;
    const { person, chat } = this;
    const where = `person=${person.id}&chat=${chat}`;
    try {
      const [kept, sent] = await Promise.all([ask(`/glass/session?${where}`), ask(`/glass/request?${where}`)]);
      if (person === this.person && chat === this.chat) this.#show(kept, sent.request);
    } catch (problem) {
      if (!(problem instanceof Refusal || problem instanceof TypeError)) throw problem;
    } finally {
      this.asking = false;
    }
    if (this.again) (this.again = false), await this.refresh();
  }

  say() {
    find("h2", this.node).textContent = t("glass_of", { name: this.person.name });
    if (this.state.kept) this.#show(this.state.kept, this.state.request);
    find(".log", this.node).replaceChildren(...this.happenings.map((happening) => this.#line(happening)));
  }

  #show(kept, request) {
    const before = this.state;
    this.state = { kept, request, session: kept.session, at: performance.now() };
    this.#head(kept, before.session);
    this.#paper(".session", this.#document(kept));
    this.#paper(".request", this.#request(request));
    this.#tick();
    this.moved(this.state);
  }

  #head({ session }, before) {
    find(".none", this.node).hidden = Boolean(session);
    find(".left", this.node).hidden = !session;
    const rows = session ? [["_id", `${session._id.slice(0, 8)}…${session._id.slice(-4)}`],
      ["status", t(session.status)], ["revision", session.revision], ["expires", ""]] : [];
    find(".head", this.node).replaceChildren(...rows.map(([key, value]) => {
      const name = key === "revision" || key === "expires" ? t(key) : key;
      return el(`div.${key}`, {}, el("dt", {}, name), el("dd", {}, String(value)));
    }));
    const moved = session?._id !== before?._id ? "_id" : session?.revision !== before?.revision ? "revision" : null;
    if (moved && before) find(`.head .${moved}`, this.node)?.classList.add("moved");
    find("._id", this.node)?.setAttribute("title", session._id);
  }

  #tick() {
    const cell = find(".head .expires dd", this.node);
    if (!cell || this.state.kept.expiresInSeconds === null) return;
    const left = Math.ceil(this.state.kept.expiresInSeconds - (performance.now() - this.state.at) / 1000);
    cell.textContent = left > 0 ? `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}` : t("expired");
    cell.parentNode.classList.toggle("over", left <= 0);
    const share = Math.max(0, Math.min(1, left / this.idleSeconds));
    find(".left i", this.node).style.transform = `scaleX(${share})`;
  }

  // A paper is written anew; what was unfolded in it stays unfolded.
  #paper(selector, children) {
    const paper = find(`${selector} > div`, this.node);
    const open = new Map(findAll("details", paper).map((node) => [node.dataset.part, node.open]));
    paper.replaceChildren(...children);
    for (const node of findAll("details", paper)) node.open = open.get(node.dataset.part) ?? node.open;
  }

  #document({ session, archived, earlier, notes }) {
    const kept = el("p.kept", {}, t("kept", { archived, earlier, notes: notes.length }));
    if (!session) return [kept];
    const { messages, summary, task } = session;
    const said = messages.map(({ seq, role, content }) => entry(role, words(content), el("small", {}, `#${seq}`)));
    const steps = task?.steps.map(({ text, status }) => el("li", {}, el("b.role", {}, status), text)) ?? [];
    const whole = JSON.stringify(session, null, 2);
    return [
      part(t("messages"), messages.length, true, el("ol.talk", {}, ...said)),
      part(t("summary"), summary ? `#0–${summary.upTo}` : t("none"), Boolean(summary), el("p", {}, summary?.text ?? "")),
      part(t("task"), task ? steps.length : t("none"), Boolean(task), el("p", {}, task?.goal ?? ""), el("ol", {}, ...steps)),
      part(t("document"), `${whole.length} B`, false, el("pre", { tabIndex: 0 }, whole)),
      kept,
    ];
  }

  #request(request) {
    if (!request) return [el("p", {}, t("no_request"))];
    const { model, parts, usage } = request;
    const cached = usage.cache_read_input_tokens ?? 0;
    const total = cached + (usage.input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
    const rows = parts.map(({ section, role, content, repeated, marked }) =>
      el(`li${repeated ? ".repeated" : ""}${marked ? ".marked" : ""}`, {},
        el(`b.role.${section === "messages" ? role : section}`, {}, section === "messages" ? role : t(section)),
        folded(words(content)), repeated ? el("small.stamp", {}, t("cached")) : null),
    );
    return [el("p.kept", {}, `${model} · ${total} ${t("tokens")}, ${cached} ${t("cached")}`), el("ol.talk", {}, ...rows)];
  }

  #happened(happening) {
    if (happening.number <= (this.happenings.at(-1)?.number ?? -1)) return;
    this.happenings = [...this.happenings, happening].slice(-LOG_MOST);
    const log = find(".log", this.node);
    log.append(this.#line(happening));
    if (log.children.length > LOG_MOST) log.firstElementChild.remove();
    log.scrollTop = log.scrollHeight;
    this.moved({ ...this.state, happening });
    this.refresh();
  }

  #line(happening) {
    const name = this.people().find(({ id }) => id === happening.person)?.name ?? "";
    const id = happening.session ? ` ${happening.session.slice(0, 8)}` : "";
    const sentence = t(`log_${happening.what}`, happening);
    return el(`li.${SOFT[happening.what] ?? happening.what}`, {},
      el("time", {}, clockTime(Date.parse(happening.at))), el("b", {}, name), el("span", {}, sentence, id && el("code", {}, id)));
  }
}
