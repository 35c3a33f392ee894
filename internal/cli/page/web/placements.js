// The view of placements: the list, and the one that is chosen.
import { h, morph, num, renew } from './dom.js';
import { detail, behave, strategyText } from './detail.js';
import { ask } from './stream.js';
import { counted, mib } from './words.js';

// tagOf says how a placement is: why it has no plan, else whether it runs.
const tagOf = (p) => (p.refused || p.reason ? h('span', { class: 'tag ' + (p.refused ? 'bad' : p.reason === 'Running' ? 'good' : '') }, p.refused || p.reason) : null);

// mostListed are in the list; searching finds the others.
const mostListed = 100;

export class PlacementsView {
  constructor(app) {
    this.app = app;
    this.search = h('input', { type: 'search', placeholder: 'Search placements', 'aria-label': 'Search placements', autocomplete: 'off' });
    this.search.addEventListener('input', () => this.render());
    this.list = h('ul', { class: 'list' });
    this.main = h('section', { class: 'detail', 'aria-label': 'The placement that is chosen', tabindex: '-1' });
    this.element = h('div', { class: 'placements' }, h('aside', { class: 'rail', 'aria-label': 'Placements' }, this.search, this.list), this.main);
    behave(this.main, (lit) => { this.lit = lit; this.show(); });
  }

  render() {
    const { fleet, state } = this.app;
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...fleet.placements.entries()].sort((a, b) => (a[0] < b[0] ? -1 : 1)).filter(([key, p]) => words.every((w) => (key + ' ' + p.model + ' ' + p.reason).toLowerCase().includes(w)));
    const key = state.placement || all[0]?.[0] || '';
    renew(this.list, [fleet.version, this.search.value, key], () => [all.slice(0, mostListed).map(([name, p]) => h('li', { 'data-key': name }, h('a', { href: '#/placements/' + name, 'aria-current': name === key ? 'page' : null, class: p.plan ? '' : 'unplaced' },
      h('b', { class: 'words' }, p.name), h('span', { class: 'muted small words' }, p.namespace), h('span', { class: 'small words' }, [p.model, p.strategy && strategyText(p.strategy)].filter(Boolean).join(' · ')), h('span', { class: 'small' }, p.plan ? num('placements.' + name + '.totals.devices', p.totals.devices, counted(p.totals.devices, 'device')) : '', tagOf(p))))),
    all.length > mostListed ? h('li', { class: 'muted' }, 'and ', num('more', all.length - mostListed), ' more: search') : null]);
    const part = fleet.placements.get(key);
    const version = key + ' ' + part?.version;
    if (part && version !== this.version) this.load(key, version);
    if (!part) { this.detail = null; this.version = ''; }
    this.part = part;
    this.show();
  }

  async load(key, version) {
    if (this.version?.split(' ')[0] !== key) this.detail = null;
    this.version = version;
    this.problem = '';
    try {
      const found = await ask('placement/' + key.split('/').map(encodeURIComponent).join('/'));
      if (this.version === version) this.detail = found;
    } catch (error) {
      if (this.version === version) this.problem = error.message;
    }
    this.show();
  }

  show() {
    const { fleet } = this.app, p = this.part, d = this.detail;
    if (!p) return morph(this.main, h('p', { class: 'empty' }, fleet.placements.size ? 'There is no placement like that, or you may not see it.' : 'There are no placements here, or you may not see them.'));
    const key = p.namespace + '/' + p.name, at = 'placements.' + key + '.';
    morph(this.main,
      h('div', { class: 'title' }, h('h2', { class: 'words' }, p.name), h('span', { class: 'muted words' }, p.namespace), tagOf(p), p.ready ? h('span', { class: 'muted words' }, p.ready + ' pods as planned') : null,
        p.totals.devices ? h('a', { class: 'act', href: '#/fleet?q=' + encodeURIComponent('placement:' + key) }, 'Show in the fleet') : null),
      h('p', { class: 'muted' }, h('span', { class: 'words' }, p.model ?? ''), p.totals.devices ? [' · ', num(at + 'totals.devices', p.totals.devices, counted(p.totals.devices, 'device')), ', ', num(at + 'totals.plannedMiB', p.totals.plannedMiB, mib(p.totals.plannedMiB)), ' planned'] : ''),
      this.problem ? h('p', { class: 'note' }, this.problem) : null,
      d ? detail(d, fleet, this.lit) : h('p', { class: 'muted' }, 'Reading …'));
  }
}
