// The tour: what a Session is, in five steps that move on by themselves when the thing has happened.

import { find, findAll } from "./dom.js";
import { t } from "./texts.js";

// `at` is what the step points to; `done(state, then)` compares the glass box with how it was when the step began.
const grown = (state, then) => Boolean(state.session) && state.session.revision > (then.session?.revision ?? 0);
const STEPS = [
  { at: ".life", say: "say1", done: (state, then) => Boolean(state.session) && (grown(state, then) || state.session._id !== then.session?._id) },
  { at: ".papers .request", say: "say2", open: true, done: grown },
  { at: "#restart", done: (state) => state.happening?.what === "ready" },
  { at: "#hour", say: "say4", press: true, done: (state, then) => Boolean(state.session) && state.session._id !== then.session?._id },
  { at: "#steal", done: (state) => state.happening?.what === "refused" },
];

export class Tour {
  // `write(text)` says something as the selected person; `glass` shows on phones what a step points to.
  constructor(node, { write, show }) {
    Object.assign(this, { node, write, show, step: -1, state: {} });
    find("#tour-close").addEventListener("click", () => this.close());
    find("#tour-next").addEventListener("click", () => this.#go(this.step + 1));
    find("#tour-do").addEventListener("click", () => this.#act());
    node.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
  }

  begin() {
    this.node.hidden = false;
    this.#go(0);
  }

  close() {
    this.node.hidden = true;
    this.step = -1;
    this.#point(null);
  }

  moved(state) {
    this.state = state;
    if (STEPS[this.step]?.done(state, this.then)) this.#go(this.step + 1);
  }

  say() {
    if (this.step < 0) return;
    const over = this.step >= STEPS.length;
    find(".count", this.node).textContent = over ? t("finish") : t("step", { step: this.step + 1 });
    find("[role=status]", this.node).textContent = over ? t("done") : t(`step${this.step + 1}`);
    for (const name of ["#tour-do", "#tour-next"]) find(name).hidden = over;
  }

  #go(step) {
    if (this.step < 0 && step > 0) return;
    Object.assign(this, { step, then: { ...this.state, happening: null } });
    this.say();
    this.#point(STEPS[step]);
  }

  #point(step) {
    for (const node of findAll(".pointed")) node.classList.remove("pointed");
    if (!step) return;
    const node = find(step.at);
    node.classList.add("pointed");
    if (step.open) node.open = true;
    node.scrollIntoView({ block: "nearest" });
  }

  async #act() {
    const step = STEPS[this.step];
    if (!step.say || step.press) await this.show(find(step.at));
    if (step.say) await this.write(t(step.say));
  }
}
