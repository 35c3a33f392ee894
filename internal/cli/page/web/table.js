// Nodes as a table, of which only the rows in view are there. Beside the picture it is hidden from the eye, and says what the picture shows.
import { h, morph, num } from './dom.js';
import { holderOf } from './model.js';
import { conditions, mib } from './words.js';

const rowHeight = 30;
const heads = ['Node', 'Devices', 'In use', 'Reserved', 'Idle', 'Out of use', 'Unknown', 'Free', 'Utilization', 'Held by', 'Zone', 'Product'];

export class Table {
  constructor(on) {
    this.on = on;
    this.head = h('thead', {}, h('tr', {}, heads.map((name) => h('th', { scope: 'col' }, name))));
    this.body = h('tbody');
    this.table = h('table', { class: 'nodes' }, h('caption', { class: 'hidden' }, 'Nodes with their devices'), this.head, this.body);
    this.element = h('div', { class: 'tablebox', 'data-kept': '', tabindex: '0', role: 'region', 'aria-label': 'Nodes as a table' }, this.table);
    this.element.addEventListener('scroll', () => requestAnimationFrame(() => this.render()), { passive: true });
    this.body.addEventListener('click', (e) => { const row = e.target.closest('tr[data-node]'); if (row) this.on.select(row.dataset.node, ''); });
    this.items = [];
  }

  // show takes over the rows. Beside a picture it shows those that are in view there.
  show(items, beside, first) {
    this.items = items;
    this.beside = beside;
    this.first = first ?? 0;
    this.render();
  }

  render() {
    const from = this.beside ? this.first : Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - 10);
    const count = this.beside ? 40 : Math.ceil(this.element.clientHeight / rowHeight) + 20;
    const rows = this.items.slice(from, from + count);
    this.table.setAttribute('aria-rowcount', this.items.length + 1);
    const pad = (n) => (n > 0 && !this.beside ? h('tr', { class: 'pad', 'aria-hidden': 'true', style: { height: n * rowHeight + 'px' } }) : null);
    morph(this.body, pad(from), rows.map((item, n) => row(item.node, from + n)), pad(this.items.length - from - rows.length));
  }
}

function row(node, n) {
  const holders = new Map();
  for (const d of node.devices) {
    const holder = holderOf(d);
    if (holder) holders.set(holder, (holders.get(holder) ?? 0) + 1);
  }
  const at = 'nodes.' + node.name + '.';
  const cell = (name, value, text) => h('td', { class: 'n' }, value || text ? num(at + name, value, text) : h('span', { class: 'none' }, '–'));
  return h('tr', { 'data-node': node.name, 'data-key': node.name, 'aria-rowindex': n + 2 },
    h('th', { scope: 'row' }, h('button', { type: 'button', class: 'plain words', tabindex: '-1' }, node.name), node.closed ? h('span', { class: 'tag bad' }, node.closed) : null),
    cell('devices', node.devices.length), conditions.map((c) => cell('conditions.' + c, node.counts[c] ?? 0)), cell('freeMiB', node.freeMiB, node.freeMiB ? mib(node.freeMiB) : ''), cell('utilization.meanPercent', node.mean, node.mean === undefined ? '' : node.mean + ' %'),
    h('td', { class: 'words' }, [...holders.keys()].slice(0, 3).join(', ') + (holders.size > 3 ? ' …' : '')), h('td', { class: 'words' }, node.zone ?? ''), h('td', { class: 'words' }, node.product));
}
