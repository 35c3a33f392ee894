// The view of what the fleet would give for a model that is not there: the server's planner is asked as somebody types.
import { h, morph, num } from './dom.js';
import { detail, behave, strategyText } from './detail.js';
import { ask } from './stream.js';

// fields are the flags of `kubectl rankwright plan`, with what they are called here.
const fields = [
  ['model', 'Model', { type: 'text', list: 'models', placeholder: 'Llama-3.1-70B, 32B', required: true }],
  ['isl', 'Prompt tokens', { type: 'number', min: 0, placeholder: 'half of the longest' }],
  ['osl', 'Answer tokens', { type: 'number', min: 0, placeholder: 'half of the longest' }],
  ['max-model-len', 'Longest sequence', { type: 'number', min: 1, placeholder: '8192' }],
  ['max-sequences', 'Sequences in a copy', { type: 'number', min: 1, placeholder: '16' }],
  ['total-sequences', 'Sequences in all', { type: 'number', min: 1, placeholder: 'or in all copies' }],
  ['replicas', 'Copies', { type: 'number', min: 1, placeholder: '1' }],
  ['objective', 'Goal', ['', 'Throughput', 'Latency', 'Cost']],
  ['max-ttft', 'First token within', { type: 'text', placeholder: '500ms' }],
  ['max-tpot', 'Each token within', { type: 'text', placeholder: '40ms' }],
  ['quantization', 'Weights', ['', 'Auto', 'BF16', 'FP8', 'INT8', 'INT4', 'MXFP4', 'NVFP4']],
  ['engine', 'Engine', { type: 'text', placeholder: 'vLLM' }],
];

export class WhatIfView {
  constructor(app) {
    this.app = app;
    this.form = h('form', { class: 'ask', 'aria-label': 'What is asked for' }, h('datalist', { id: 'models' }), fields.map(([name, text, kind]) => h('label', {}, h('span', {}, text), Array.isArray(kind) ? h('select', { name }, kind.map((value) => h('option', { value }, value || 'default'))) : h('input', { name, autocomplete: 'off', spellcheck: 'false', ...kind }))));
    this.main = h('section', { class: 'detail', 'aria-label': 'What the fleet would give' });
    this.element = h('div', { class: 'placements whatif' }, h('aside', { class: 'rail' }, h('h2', {}, 'What if'), this.form), this.main);
    this.form.addEventListener('submit', (e) => e.preventDefault());
    this.form.addEventListener('input', () => { clearTimeout(this.typing); this.typing = setTimeout(() => app.go({ ask: this.query() }, true), 150); });
    behave(this.main, (lit) => { this.lit = lit; this.show(); });
    ask('models').then((names) => morph(this.form.querySelector('#models'), names.map((value) => h('option', { value }))), () => {});
  }

  query() {
    return new URLSearchParams([...new FormData(this.form)].filter(([, value]) => value !== '')).toString();
  }

  render() {
    const { state, fleet } = this.app;
    if (this.asked !== state.ask) {
      const given = new URLSearchParams(state.ask);
      for (const [name] of fields) {
        const field = this.form.elements[name];
        if (document.activeElement !== field) field.value = given.get(name) ?? '';
      }
    }
    if (new URLSearchParams(state.ask).get('model') && (this.asked !== state.ask || this.version !== fleet.version)) this.plan(state.ask, fleet.version);
    this.asked = state.ask;
    this.show();
  }

  // plan asks, one question at a time; what changed meanwhile is asked next.
  async plan(query, version) {
    if (this.running) return;
    this.running = true;
    this.version = version;
    try {
      const found = await ask('plan?' + query);
      this.problem = found.problem ?? '';
      this.answer = found.problem ? null : found;
    } catch (error) {
      this.answer = null;
      this.problem = error.message;
    }
    this.running = false;
    this.show();
    const { state } = this.app;
    if (state.ask !== query) this.plan(state.ask, this.app.fleet.version);
  }

  show() {
    const a = this.answer;
    morph(this.main,
      this.problem ? h('p', { class: 'note bad words', role: 'alert' }, this.problem) : null,
      !a && !this.problem ? h('div', { class: 'empty' }, h('p', {}, 'Name a model, and see the plan that this fleet would give it as it is now: with the same planner as ', h('code', {}, 'kubectl rankwright plan'), '.'), h('p', {}, 'Nothing is changed, and nothing is reserved.')) : null,
      a ? [
        h('div', { class: 'title' }, h('h2', { class: 'words' }, a.plan ? strategyText(a.plan.strategy) : 'It does not fit'), h('span', { class: 'muted words' }, a.model || a.name), h('span', { class: 'muted', role: 'status' }, 'planned in ', num('micros', a.micros, (a.micros / 1000).toFixed(1)), ' ms')),
        a.plan ? null : h('p', { class: 'muted' }, 'The fleet as it is now has no place for it.'),
        detail(a, this.app.fleet, this.lit, true),
        h('details', {}, h('summary', {}, 'In a terminal'), h('div', { class: 'command' }, h('code', {}, a.command), h('button', { type: 'button', 'data-copy': a.command }, 'Copy'))),
      ] : null);
  }
}
