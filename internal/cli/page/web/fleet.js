// The view of the fleet: what is asked for on the left, the picture or the table, and the node that is chosen on the right.
import { h, morph, num, renew } from './dom.js';
import { Picture } from './picture.js';
import { Table } from './table.js';
import { panel } from './panel.js';
import { parse, select, hints, hyphened } from './query.js';
import { modes, legend, hueOf } from './colours.js';
import { conditions, conditionWords, counted, grouped, mib, usd } from './words.js';

const groupings = { product: 'Product', zone: 'Zone', fabric: 'Fabric', '': 'Nothing' };

export class FleetView {
  constructor(app) {
    this.app = app;
    const on = {
      select: (node, device) => app.go({ node, device }),
      moved: (node) => { this.said = node.name + ': ' + conditions.filter((c) => node.counts[c]).map((c) => node.counts[c] + ' ' + conditionWords[c]).join(', '); this.say(); },
      scrolled: () => this.beside(),
    };
    this.picture = new Picture(on);
    this.table = new Table(on);
    this.search = h('input', { type: 'search', id: 'search', placeholder: 'Search: state:idle free>40', 'aria-label': 'Search nodes and devices', list: 'hints', autocomplete: 'off', spellcheck: 'false' });
    this.search.addEventListener('input', () => app.go({ q: this.search.value }, true));
    this.rail = h('aside', { class: 'rail', 'aria-label': 'What is shown' });
    this.bar = h('div', { class: 'bar' });
    this.kpis = h('dl', { class: 'kpis' });
    this.none = h('p', { class: 'empty', hidden: true });
    this.status = h('p', { class: 'hidden', role: 'status', 'aria-live': 'polite' });
    this.side = h('aside', { class: 'side', 'aria-label': 'The node that is chosen', hidden: true });
    this.facets = h('div', { class: 'facets' });
    this.rail.append(h('datalist', { id: 'hints' }, hints.map((value) => h('option', { value }))), this.search, this.facets);
    this.element = h('div', { class: 'fleet' }, this.rail, h('section', { class: 'middle', 'aria-label': 'Nodes' }, this.kpis, this.bar, this.none, this.picture.element, this.table.element, this.status), this.side);
    this.element.addEventListener('click', (e) => this.click(e));
    this.element.addEventListener('change', (e) => { if (e.target.name) app.go({ [e.target.name]: e.target.value }); });
  }

  say() { this.status.textContent = this.said; }

  click(event) {
    const button = event.target.closest('[data-term]');
    if (button) this.app.go({ q: toggled(this.app.state.q, button.dataset.term) });
    if (event.target.closest('[data-close]')) this.app.go({ node: '', device: '' });
  }

  // render shows what the fleet is now.
  render() {
    const { fleet, state, palette } = this.app;
    if (document.activeElement !== this.search) this.search.value = state.q;
    const sections = this.found(fleet, state);
    const tabular = state.as === 'table';
    this.picture.element.hidden = tabular;
    renew(this.kpis, [fleet.version], () => kpis(fleet));
    renew(this.bar, [sections, palette, state.q, state.group, state.colour, state.zoom, state.as], () => this.controls(sections));
    renew(this.facets, [fleet.version, palette, state.q, state.colour], () => this.filters());
    this.none.hidden = this.items.length > 0;
    this.none.textContent = fleet.nodes.size ? 'No device is like that.' : 'There are no nodes with devices here, or you may not see them.';
    this.picture.show(sections, { mode: state.colour, zoom: state.zoom, selected: state.node, palette });
    this.beside();
    this.panel();
  }

  // found are the nodes that are meant, in their sections; they are looked for where something changed.
  found(fleet, state) {
    const asked = [fleet.version, state.q, state.group].join(' ');
    if (asked !== this.asked) {
      this.asked = asked;
      this.items = select(fleet.list(), parse(state.q));
      this.sections = grouping(this.items, state.group);
    }
    return this.sections;
  }

  beside() {
    const tabular = this.app.state.as === 'table';
    const first = this.picture.visible();
    this.table.element.classList.toggle('hidden', !tabular);
    if (!tabular && this.first === first && this.shown === this.items) return;
    this.first = first;
    this.shown = this.items;
    clearTimeout(this.later);
    // The hidden table follows when scrolling pauses.
    const show = () => this.table.show(ordered(this.picture.sections), !tabular, first);
    if (tabular) show();
    else this.later = setTimeout(show, 120);
  }

  panel() {
    const { fleet, state, palette } = this.app;
    const node = fleet.nodes.get(state.node);
    this.side.hidden = !node;
    if (node) morph(this.side, panel(node, state.device, palette));
  }

  controls(sections) {
    const { state, palette } = this.app;
    const devices = this.items.reduce((sum, item) => sum + item.count, 0);
    const radio = (name, value, text) => h('label', { class: 'pick', 'data-key': name + value }, h('input', { type: 'radio', name, value, checked: String(state[name]) === String(value) }), h('span', {}, text));
    return [
      h('fieldset', { class: 'picks' }, h('legend', { class: 'hidden' }, 'Colour'), Object.entries(modes).map(([value, text]) => radio('colour', value, text))),
      h('fieldset', { class: 'picks' }, h('legend', { class: 'hidden' }, 'Size'), [['0', 'S'], ['1', 'M'], ['2', 'L']].map(([value, text]) => radio('zoom', value, text))),
      h('fieldset', { class: 'picks' }, h('legend', { class: 'hidden' }, 'As'), radio('as', 'picture', 'Picture'), radio('as', 'table', 'Table')),
      h('label', { class: 'by' }, 'Group by ', h('select', { name: 'group' }, Object.entries(groupings).map(([value, text]) => h('option', { value, selected: state.group === value }, text)))),
      h('p', { class: 'legend', 'aria-label': 'Legend' }, legend(state.colour, palette).map(([text, shape, colour]) => h('span', {}, sample(shape, colour), text)),
        state.as === 'picture' && state.zoom > 0 ? [h('span', {}, h('i', { class: 'key inked' }), 'link domain'), h('span', {}, h('i', { class: 'key wired' }), 'PCIe switch'), h('span', {}, h('i', { class: 'key board' }), 'NUMA node')] : null),
      h('p', { class: 'found', role: 'status' }, num('shown.nodes', this.items.length, counted(this.items.length, 'node')), ', ', num('shown.devices', devices, counted(devices, 'device')), state.q ? ' found' : '', sections.length > 1 ? ' in ' : '', sections.length > 1 ? num('shown.groups', sections.length, counted(sections.length, 'group')) : ''),
    ];
  }

  filters() {
    const { fleet, state, palette } = this.app;
    const totals = fleet.totals;
    if (!totals) return [];
    const words = state.q.toLowerCase().split(/\s+/);
    const facet = (term, text, count, swatch, name) => h('li', { 'data-key': term }, h('button', { type: 'button', class: 'facet', 'data-term': term, 'aria-pressed': String(words.includes(term.toLowerCase())) }, swatch, h('span', { class: 'name' }, text), num(name, count, grouped(count))));
    const most = fleet.most();
    return [
      h('h2', {}, 'State'),
      h('ul', {}, conditions.map((c) => facet('state:' + c.toLowerCase(), conditionWords[c], totals.totals.conditions?.[c] ?? 0, sample({ Idle: 'hollow', OutOfUse: 'crossed', Unknown: 'hatched' }[c] ?? 'filled', palette[{ InUse: 'in-use', Reserved: 'reserved', Idle: 'idle', OutOfUse: 'out', Unknown: 'unknown' }[c]]), 'totals.conditions.' + c))),
      h('h2', {}, 'Product'),
      h('ul', {}, totals.products.map((g) => facet('product:' + hyphened(g.name), g.name, g.totals.devices, null, 'products.' + g.name + '.totals.devices'))),
      most.length ? [h('h2', {}, 'Placements'), h('ul', {}, most.map((p) => facet('placement:' + p.namespace + '/' + p.name, p.namespace + '/' + p.name, p.totals.devices, state.colour === 'holder' ? sample('filled', hueOf(p.namespace + '/' + p.name, palette)) : null, 'placements.' + p.namespace + '/' + p.name + '.totals.devices')))] : null,
      fleet.placements.size > most.length ? h('a', { class: 'more', href: '#/placements' }, 'All ', num('placements', fleet.placements.size, counted(fleet.placements.size, 'placement'))) : null,
    ];
  }
}

export const sample = (shape, colour) => h('i', { class: 'sample ' + shape, style: { '--c': colour }, 'aria-hidden': 'true' });

const toggled = (q, term) => {
  const words = q.split(/\s+/).filter(Boolean);
  const kind = term.slice(0, term.indexOf(':') + 1);
  const without = words.filter((w) => !w.startsWith(kind));
  return (words.includes(term) ? without : [...without, term]).join(' ');
};

const ordered = (sections) => sections.flatMap((s) => s.items);

// grouping puts nodes into sections.
function grouping(items, by) {
  if (!by) return [{ title: '', items }];
  const groups = Map.groupBy(items, (item) => item.node[by] || '');
  return [...groups.keys()].sort().map((name) => {
    const list = groups.get(name);
    const devices = list.reduce((n, item) => n + item.node.devices.length, 0), idle = list.reduce((n, item) => n + (item.node.counts.Idle ?? 0), 0);
    return { title: name || 'no ' + by, about: counted(list.length, 'node') + ', ' + counted(devices, 'device') + ', ' + grouped(idle) + ' idle', items: list };
  });
}

function kpis(fleet) {
  const f = fleet.totals;
  if (!f) return [];
  const t = f.totals;
  const one = (text, value, extra) => h('div', {}, h('dt', {}, text), h('dd', {}, value, extra ? h('small', {}, extra) : null));
  const seen = !(f.notPermitted ?? []).some((u) => u.kind === 'acceleratorinventories');
  const share = (n) => (t.devices ? Math.round((100 * n) / t.devices) : 0);
  if (!seen) return [one('Devices that plans name', num('totals.devices', t.devices, grouped(t.devices)), 'not permitted to see the others')];
  return [
    one('Nodes', num('nodes', f.nodes, grouped(f.nodes)), f.closedNodes ? [num('closedNodes', f.closedNodes), ' take no new work'] : null),
    one('Devices', num('totals.devices', t.devices, grouped(t.devices)), [num('totals.healthy', t.healthy, grouped(t.healthy)), ' healthy', t.cordoned ? [', ', num('totals.cordoned', t.cordoned, grouped(t.cordoned)), ' cordoned'] : null]),
    one('Held', num('held', (t.conditions?.InUse ?? 0) + (t.conditions?.Reserved ?? 0), grouped((t.conditions?.InUse ?? 0) + (t.conditions?.Reserved ?? 0))), [num('held.share', share((t.conditions?.InUse ?? 0) + (t.conditions?.Reserved ?? 0))), ' % of all']),
    one('Idle', num('totals.conditions.Idle', t.conditions?.Idle ?? 0, grouped(t.conditions?.Idle ?? 0)), t.conditions?.Unknown ? [num('totals.conditions.Unknown', t.conditions.Unknown, grouped(t.conditions.Unknown)), ' not known'] : null),
    one('Memory', num('totals.memoryMiB', t.memoryMiB, mib(t.memoryMiB)), [num('totals.heldMiB', t.heldMiB, mib(t.heldMiB)), ' held']),
    one('Planned', num('totals.plannedMiB', t.plannedMiB, mib(t.plannedMiB)), [num('totals.othersMiB', t.othersMiB, mib(t.othersMiB)), ' used by others']),
    one('Free', num('totals.freeMiB', t.freeMiB, mib(t.freeMiB)), 'for a new plan'),
    t.utilization ? one('Utilization', num('totals.utilization.meanPercent', t.utilization.meanPercent, t.utilization.meanPercent + ' %'), ['of ', num('totals.utilization.devices', t.utilization.devices, counted(t.utilization.devices, 'device'))]) : null,
    one('Idle, an hour', num('totals.idleMicroUSDPerHour', t.idleMicroUSDPerHour, usd(t.idleMicroUSDPerHour)), ['USD of ', num('totals.microUSDPerHour', t.microUSDPerHour, usd(t.microUSDPerHour)), t.unpriced ? [', ', num('totals.unpriced', t.unpriced, grouped(t.unpriced)), ' without a price'] : null]),
  ];
}
