// The tour: what a Session is, in five steps that move on by themselves when the thing has happened.

import { find, findAll } from "./dom.js";
import { t } from "./texts.js";

const grown = ({ session }, then) => session?.revision > (then.session?.revision ?? 0);
const begun = ({ session }, then) => session?.revision > 0 && session._id !== then.session?._id;

// `at`: what the step points to, and presses where `press`; `done` compares the inspector with how it was before.
const STEPS = [
  { at: ".life", say: "say1", done: (state, then) => grown(state, then) || begun(state, then) },
  { at: ".request", say: "say2", done: grown },
  { at: "#restart", press: true, done: ({ event }) => event?.what === "ready" },
  { at: "#hour", press: true, say: "say2", done: begun },
  { at: "#intrude", press: true, done: ({ event }) => event?.what === "refused" },
];

export class Tour {
  // `write(key)` says something as whoever is selected, `press(button)` makes something happen.
  constructor(node, { write, press }) {
    Object.assign(this, { node, write, press, step: -1, state: {} });
    const acts = { open: () => this.#go(0), close: () => this.#go(-1), next: () => this.#go(this.step + 1), do: () => this.#act() };
    for (const [name, act] of Object.entries(acts)) find(`#tour-${name}`).addEventListener("click", act);
    node.addEventListener("keydown", (event) => event.key === "Escape" && this.#go(-1));
    this.#go(0);
  }

  moved(state) {
    this.state = state;
    if (!this.then?.kept) this.then = state;
    else if (STEPS[this.step]?.done(state, this.then)) this.#go(this.step + 1);
  }

  say() {
    if (this.step < 0) return;
    const over = this.step >= STEPS.length;
    find(".count", this.node).textContent = over ? t("finish") : t("step", { step: this.step + 1 });
    find("[role=status]", this.node).textContent = over ? t("done") : t(`step${this.step + 1}`);
    for (const name of ["#tour-do", "#tour-next"]) find(name).hidden = over;
  }

  #go(step) {
    Object.assign(this, { step, then: this.state });
    this.node.hidden = step < 0;
    this.say();
    for (const node of findAll(".pointed")) node.classList.remove("pointed");
    const node = STEPS[step] && find(STEPS[step].at);
    if (!node) return;
    node.classList.add("pointed");
    if (node.matches("details")) node.open = true;
    node.scrollIntoView({ block: "nearest" });
  }

  async #act() {
    const { at, press, say } = STEPS[this.step];
    if (press) await this.press(find(at));
    if (say) await this.write(say);
  }
}
