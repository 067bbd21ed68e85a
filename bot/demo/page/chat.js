// One person's Telegram: a chat with its messages, and the place to write.

import { ask, listen } from "./api.js";
import { el, find } from "./dom.js";
import { bubble, textOf } from "./message.js";
import { label, language, t } from "./texts.js";

let panes = 0;

export class Pane {
  part = (selector) => find(selector, this.node);

  // `tell` has what the pane reports: problem(words), away(connected), chosen() at a focus or another chat.
  constructor(person, environment, tell) {
    Object.assign(this, { person, environment, tell, shown: new Map(), about: null });
    this.node = document.importNode(find("#pane").content, true).firstElementChild;
    [this.list, this.scroll, this.field, this.menu] = [".list", ".scroll", "textarea", ".menu"].map((name) => this.part(name));
    this.menu.id = `menu-${panes++}`;
    this.field.setAttribute("aria-controls", this.menu.id);
    const acts = [
      ["form", "submit", this.#send], ["textarea", "keydown", this.#key], ["textarea", "input", this.#suggest],
      ["input", "change", this.#upload], [".about button", "click", () => this.#attend()],
      [".slash", "click", () => ((this.field.value = "/"), this.field.focus(), this.#suggest())],
      [".draft button", "click", () => this.#try("stop", {})], [".scroll", "click", this.#click],
      [".scroll", "keydown", this.#walk], [".menu", "click", ({ target }) => this.#pick(target.closest("[role=option]"))],
    ];
    for (const [selector, kind, act] of acts) this.part(selector).addEventListener(kind, act.bind(this));
    this.node.addEventListener("focusin", tell.chosen);
    this.open(person.chat);
  }

  open(chat) {
    this.unlisten?.();
    Object.assign(this, { chat, seen: null });
    this.#attend();
    this.say();
    this.unlisten = listen(`/control/events?id=${chat}`, (seen) => this.#show(seen), this.tell.away);
    this.tell.chosen();
  }

  // All that depends on the language, or on which chat is open.
  say() {
    const { person, environment, chat } = this;
    label(this.node, t("chat_of", { name: person.name }));
    this.field.placeholder = t(chat < 0 ? "write_group" : "write", { bot: environment.bot.username });
    Object.assign(this.part(".face"), { textContent: person.name[0], className: `face tone${person.id % 5}` });
    const rooms = [[person.chat, environment.bot.first_name], [environment.group, environment.groupTitle]].map(([id, name]) =>
      el("button", { ariaPressed: String(id === chat), onclick: () => this.open(id) }, name),
    );
    this.part(".chats").replaceChildren(...rooms);
    this.shown.clear();
    this.list.replaceChildren();
    if (this.seen) this.#show(this.seen);
  }

  #show(seen) {
    const ids = new Set(seen.messages.map((message) => message.message_id));
    for (const [id, { node }] of this.shown) if (!ids.has(id)) node.remove(), this.shown.delete(id);
    for (const message of seen.messages) this.#place(message);
    this.seen = seen;
    this.part("p.none").hidden = seen.messages.length > 0;
    this.#head(seen);
  }

  // Only what is new or changed is built.
  #place(message) {
    const old = this.shown.get(message.message_id);
    const key = JSON.stringify(message);
    if (old?.key === key) return;
    const mine = message.from?.id === this.person.id;
    const node = bubble(message, { mine, named: this.chat < 0 });
    if (old) old.node.replaceWith(node);
    else this.list.append(node);
    this.shown.set(message.message_id, { key, node, message, mine });
  }

  #head({ draft, action }) {
    const { bot, people } = this.environment;
    const rest = this.chat < 0 ? t("members", { count: people.length }) : `${t("bot")} · @${bot.username}`;
    const writes = Boolean(action || draft);
    this.part("h2").textContent = this.person.name;
    Object.assign(this.part(".line"), { textContent: writes ? t("typing") : rest, className: writes ? "line typing" : "line" });
    this.part(".draft").hidden = !draft;
    this.part(".draft .bubble").textContent = draft?.text ?? "";
    this.part(".draft button").hidden = !draft?.can_stop;
  }

  async #try(verb, told) {
    try {
      await ask(`/control/${verb}`, { person: this.person.id, ...(verb !== "stop" && { chat: this.chat }), ...told });
      return true;
    } catch (problem) {
      this.tell.problem(t("failed", { why: problem.message }));
      return false;
    }
  }

  write(text, about = null) {
    const target = about && { [about.edit ? "message_id" : "reply_to"]: about.message.message_id };
    return this.#try(about?.edit ? "edit" : "say", { text, ...target });
  }

  async #send(event) {
    event.preventDefault();
    const text = this.field.value.trim();
    if (!text) return;
    this.field.value = "";
    this.menu.hidden = true;
    if (!(await this.write(text, this.about))) return void (this.field.value ||= text);
    this.#attend();
    this.scroll.scrollTop = 0;
  }

  async #upload({ target }) {
    const [file] = target.files;
    if (!file) return;
    const reader = new FileReader();
    const address = await new Promise((resolve) => ((reader.onload = () => resolve(reader.result)), reader.readAsDataURL(file)));
    const kind = file.type.startsWith("image/") ? "photo" : "document";
    const told = { name: file.name, mime: file.type || "application/octet-stream", content: address.split(",")[1] };
    await this.#try("upload", { kind, caption: this.field.value.trim(), ...told });
    this.field.value = "";
    target.value = "";
  }

  // What the next message is about: a message to reply to or to edit, or nothing.
  #attend(about = null) {
    if (about?.edit || this.about?.edit) this.field.value = about?.edit ? textOf(about.message) : "";
    this.about = about;
    this.part(".about").hidden = !about;
    if (!about) return;
    const head = about.edit ? t("editing") : t("replying", { name: about.message.from?.first_name });
    this.part(".about span").textContent = `${head}: ${textOf(about.message).slice(0, 80)}`;
    this.field.focus();
  }

  #reply(node) {
    const found = this.shown.get(Number(node?.dataset.id));
    if (found) this.#attend({ message: found.message });
  }

  #key(event) {
    const items = this.menu.hidden ? [] : [...this.menu.children];
    const at = items.findIndex((item) => item.ariaSelected === "true");
    const own = [...this.shown.values()].findLast(({ mine, message }) => mine && message.text);
    const isPlain = !event.shiftKey && !event.isComposing;
    const pick = isPlain && (() => this.#pick(items[at]));
    const opened = {
      ArrowDown: () => this.#mark(items, (at + 1) % items.length), ArrowUp: () => this.#mark(items, at - 1),
      Enter: pick, Tab: pick, Escape: () => (this.menu.hidden = true),
    };
    const closed = {
      ArrowUp: own && !this.field.value && (() => this.#attend({ edit: true, message: own.message })), Escape: () => this.#attend(),
      Enter: isPlain && (() => this.part("form").requestSubmit()),
    };
    const act = (items.length ? opened : closed)[event.key];
    if (act) event.preventDefault(), act();
  }

  async #suggest() {
    const isCommand = () => /^\/\w*$/.test(this.field.value);
    const { commands } = isCommand() ? await ask(`/control/bot?language=${language}`) : { commands: [] };
    const items = commands.filter(({ command }) => isCommand() && `/${command}`.startsWith(this.field.value))
      .map(({ command, description }) => el("div", { role: "option", id: `${this.menu.id}-${command}`, "data-command": command },
        el("b", {}, `/${command}`), ` ${description}`));
    this.menu.replaceChildren(...items);
    this.menu.hidden = !items.length;
    this.#mark(items, 0);
  }

  #mark(items, chosen) {
    for (const item of items) item.ariaSelected = String(item === items.at(chosen));
    this.field.setAttribute("aria-activedescendant", items.at(chosen)?.id ?? "");
  }

  #pick(item) {
    if (!item) return;
    this.field.value = `/${item.dataset.command}`;
    this.part("form").requestSubmit();
    this.field.focus();
  }

  #click({ target }) {
    const pressed = target.closest("button.press, button.command");
    if (pressed?.matches(".command")) this.write(pressed.value);
    else if (pressed) this.#try("press", { data: pressed.value, message_id: Number(pressed.name) });
    else if (!target.closest("a, button, pre, .spoiler") && !String(getSelection())) this.#reply(target.closest(".message"));
  }

  #walk(event) {
    const here = event.target.closest(".message");
    const to = { ArrowUp: here ? here.previousElementSibling : this.list.lastElementChild, ArrowDown: here?.nextElementSibling };
    if (event.key in to) event.preventDefault(), to[event.key]?.focus();
    else if (event.key === "Enter" && event.target === here) event.preventDefault(), this.#reply(here);
  }
}
