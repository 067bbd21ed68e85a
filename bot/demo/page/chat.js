// One person's Telegram: a chat with its messages, and the place to write.

import { ask, listen } from "./api.js";
import { el, find, findAll } from "./dom.js";
import { bubble, textOf } from "./message.js";
import { language, t } from "./texts.js";

const NEAR_END = 80;
let panes = 0;

export class Pane {
  // `person` has id and name; `stage` has bot and group; `report(problem)` shows a sentence; `chosen()` and
  // `opened()` are told of a focus and of another chat.
  constructor(person, stage, { report, away, chosen, opened }) {
    Object.assign(this, { person, stage, report, away, opened, chat: person.chat, shown: new Map(), about: null });
    this.node = document.importNode(find("#pane").content, true).firstElementChild;
    const part = (selector) => find(selector, this.node);
    this.list = part(".list");
    this.scroll = part(".scroll");
    this.field = part("textarea");
    this.menu = part(".menu");
    this.menu.id = `menu-${panes++}`;
    this.field.setAttribute("aria-controls", this.menu.id);
    const on = (selector, kind, act) => part(selector).addEventListener(kind, act.bind(this));
    on("form", "submit", this.#send);
    on("textarea", "keydown", this.#key);
    on("textarea", "input", this.#suggest);
    on("input", "change", this.#upload);
    on(".slash", "click", () => ((this.field.value = "/"), this.field.focus(), this.#suggest()));
    on(".about button", "click", () => this.#attend(null));
    on(".newest", "click", () => this.#toEnd());
    on(".draft button", "click", () => this.#try("stop", {}));
    on(".menu", "click", (event) => this.#pick(event.target.closest("li")));
    on(".scroll", "click", this.#click);
    on(".scroll", "keydown", this.#walk);
    on(".scroll", "scroll", () => this.#atEnd() && (part(".newest").hidden = true));
    this.node.addEventListener("focusin", chosen);
    this.say();
    this.open(this.chat);
  }

  close() {
    this.unlisten?.();
    this.node.remove();
  }

  // All words that depend on the language, or on which chat is open.
  say() {
    const { person, stage } = this;
    this.node.setAttribute("aria-label", t("chat_of", { name: person.name }));
    this.field.placeholder = t(this.chat < 0 ? "write_group" : "write", { bot: stage.bot.username });
    const face = find(".face", this.node);
    face.textContent = person.name[0];
    face.className = `face tone${person.id % 5}`;
    const rooms = [[person.chat, stage.bot.first_name], [stage.group, stage.groupTitle]];
    const buttons = rooms.map(([id, name]) =>
      el("button", { type: "button", "aria-pressed": String(id === this.chat), onclick: () => this.open(id) }, name),
    );
    find(".chats", this.node).replaceChildren(...buttons);
    if (this.seen) this.#show(this.seen, true);
  }

  open(chat) {
    this.unlisten?.();
    Object.assign(this, { chat, seen: null });
    this.shown.clear();
    this.list.replaceChildren();
    this.#attend(null);
    this.unlisten = listen(`/control/events?id=${chat}`, (seen) => this.#show(seen), this.away);
    this.say();
    this.opened();
  }

  // ------------------------------------------------------------------------------------------------ what is seen

  #show(seen, anew = false) {
    const first = !this.seen || anew;
    const stay = first || this.#atEnd();
    this.seen = seen;
    if (anew) this.shown.clear(), this.list.replaceChildren();
    const ids = new Set(seen.messages.map((message) => message.message_id));
    for (const [id, { node }] of this.shown) if (!ids.has(id)) node.remove(), this.shown.delete(id);
    const fresh = seen.messages.filter((message) => this.#place(message)).length;
    find("p.none", this.node).hidden = seen.messages.length > 0;
    this.#drafted(seen.draft);
    this.#headed(seen);
    if (stay) this.#toEnd();
    else if (fresh) find(".newest", this.node).hidden = false;
  }

  // Only what is new or changed is built; true for a message that was not there.
  #place(message) {
    const old = this.shown.get(message.message_id);
    const key = JSON.stringify(message);
    if (old?.key === key) return false;
    const mine = message.from?.id === this.person.id;
    const node = bubble(message, { mine, named: this.chat < 0 });
    if (old) old.node.replaceWith(node);
    else this.list.append(node);
    this.shown.set(message.message_id, { key, node, message, mine });
    return !old;
  }

  #drafted(draft) {
    const node = find(".draft", this.node);
    node.hidden = !draft;
    find(".bubble", node).textContent = draft?.text ?? "";
    find("button", node).hidden = !draft?.can_stop;
  }

  #headed(seen) {
    const isGroup = this.chat < 0;
    const name = isGroup ? seen.chat.title : this.stage.bot.first_name;
    find("h2", this.node).textContent = `${this.person.name} → ${name}`;
    const writes = Boolean(seen.action || seen.draft);
    const line = find(".line", this.node);
    const rest = isGroup ? t("members", { count: this.stage.people.length }) : `@${this.stage.bot.username} · ${t("bot")}`;
    line.textContent = writes ? t("typing") : rest;
    line.classList.toggle("typing", writes);
  }

  #atEnd() {
    return this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < NEAR_END;
  }

  #toEnd() {
    this.scroll.scrollTop = this.scroll.scrollHeight;
    find(".newest", this.node).hidden = true;
  }

  // ------------------------------------------------------------------------------------------------ what is done

  async #try(verb, told) {
    try {
      await ask(`/control/${verb}`, { person: this.person.id, ...(verb !== "stop" && { chat: this.chat }), ...told });
      return true;
    } catch (problem) {
      this.report(t("failed", { why: problem.message }));
      return false;
    }
  }

  write(text) {
    return this.#try("say", { text });
  }

  async #send(event) {
    event.preventDefault();
    const text = this.field.value.trim();
    if (!text) return;
    const { edit, message } = this.about ?? {};
    const verb = edit ? "edit" : "say";
    const told = edit ? { message_id: message.message_id } : message ? { reply_to: message.message_id } : {};
    this.field.value = "";
    this.#suggest();
    if (await this.#try(verb, { text, ...told })) this.#attend(null), this.#toEnd();
    else this.field.value ||= text;
  }

  async #upload(event) {
    const [file] = event.target.files;
    if (!file) return;
    const bytes = new Uint8Array(await file.arrayBuffer());
    let binary = "";
    for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
    const kind = file.type.startsWith("image/") ? "photo" : "document";
    const told = { kind, name: file.name, mime: file.type || "application/octet-stream", content: btoa(binary) };
    if (await this.#try("upload", { ...told, caption: this.field.value.trim() }) && kind === "photo") this.field.value = "";
    event.target.value = "";
  }

  // What the next message is about: a message to reply to or to edit, or nothing.
  #attend(about) {
    const wasEdit = this.about?.edit;
    this.about = about;
    const name = about?.message.from?.first_name;
    find(".about", this.node).hidden = !about;
    find(".about span", this.node).textContent = about
      ? `${about.edit ? t("editing") : t("replying", { name })}: ${textOf(about.message).slice(0, 80)}`
      : "";
    if (about?.edit) this.field.value = textOf(about.message);
    else if (wasEdit) this.field.value = "";
    if (about) this.field.focus();
  }

  #editLast() {
    const last = [...this.shown.values()].filter(({ mine, message }) => mine && message.text).at(-1);
    if (last) this.#attend({ edit: true, message: last.message });
  }

  #key(event) {
    const items = this.menu.hidden ? [] : findAll("li", this.menu);
    const at = items.findIndex((item) => item.ariaSelected === "true");
    const acts = {
      ArrowDown: items.length && (() => this.#mark(items, (at + 1) % items.length)),
      ArrowUp: items.length ? () => this.#mark(items, (at - 1 + items.length) % items.length)
        : !this.field.value && (() => this.#editLast()),
      Tab: items.length && !event.shiftKey && (() => this.#pick(items[at])),
      Enter: !event.shiftKey && !event.isComposing
        && (() => (items[at] ? this.#pick(items[at]) : find("form", this.node).requestSubmit())),
      Escape: () => (items.length ? (this.menu.hidden = true) : this.#attend(null)),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  async #suggest() {
    const typed = this.field.value;
    if (/^\/\w*$/.test(typed)) this.commands = (await ask(`/control/bot?language=${language}`)).commands;
    const matches = /^\/\w*$/.test(this.field.value)
      ? this.commands.filter(({ command }) => `/${command}`.startsWith(this.field.value)) : [];
    const items = matches.map(({ command, description }, number) =>
      el("li", { role: "option", id: `${this.menu.id}-${number}`, "data-command": command },
        el("b", {}, `/${command}`), " ", description),
    );
    this.menu.replaceChildren(...items);
    this.menu.hidden = !items.length;
    this.#mark(items, 0);
  }

  #mark(items, chosen) {
    items.forEach((item, number) => item.setAttribute("aria-selected", String(number === chosen)));
    this.field.setAttribute("aria-activedescendant", items[chosen]?.id ?? "");
  }

  #pick(item) {
    if (!item) return;
    this.field.value = `/${item.dataset.command}`;
    find("form", this.node).requestSubmit();
    this.field.focus();
  }

  #click(event) {
    const pressed = event.target.closest("button.press, button.command");
    if (pressed?.matches(".command")) return void this.#try("say", { text: pressed.value });
    if (pressed) return void this.#try("press", { data: pressed.value, message_id: Number(pressed.name) });
    if (event.target.closest("a, button, pre, .spoiler:not(.open)") || String(getSelection())) return;
    this.#choose(event.target.closest(".message"));
  }

  #choose(node) {
    const found = node && this.shown.get(Number(node.dataset.id));
    if (found) this.#attend({ message: found.message });
  }

  #walk(event) {
    const here = event.target.closest(".message");
    const steps = { ArrowUp: here ? here.previousElementSibling : this.list.lastElementChild, ArrowDown: here?.nextElementSibling };
    if (event.key in steps) event.preventDefault(), steps[event.key]?.focus();
    else if (event.key === "Enter" && event.target === here) event.preventDefault(), this.#choose(here);
  }
}
