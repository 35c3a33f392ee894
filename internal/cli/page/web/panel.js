// The node that is chosen: its devices as they are arranged, each with who holds it.
import { h, num } from './dom.js';
import { sample } from './fleet.js';
import { look } from './colours.js';
import { podsOf, rankOf } from './model.js';
import { conditions, conditionWords, counted, mib, moment, rate } from './words.js';

export function panel(node, chosen, palette) {
  const list = node.layout.devices.map((slot, i) => ({ slot, device: node.devices[i] }));
  const at = 'nodes.' + node.name + '.';
  return [
    h('div', { class: 'sidehead' }, h('h2', {}, node.name), h('button', { type: 'button', 'data-close': '', 'aria-label': 'Close' }, '×')),
    h('p', { class: 'muted words' }, [node.product, node.zone, node.fabric ? 'fabric ' + node.fabric : ''].filter(Boolean).join(' · ')),
    node.closed ? h('p', {}, h('span', { class: 'tag bad' }, node.closed), ' It takes no new work.') : null,
    node.partial ? h('p', { class: 'note' }, 'The inventory of this node is not seen: these are the devices that plans name.') : null,
    h('p', {}, num(at + 'devices', node.devices.length, counted(node.devices.length, 'device')), ': ', conditions.filter((c) => node.counts[c]).map((c, n) => [n ? ', ' : '', num(at + 'conditions.' + c, node.counts[c]), ' ' + conditionWords[c]]), node.freeMiB ? ['; ', num(at + 'freeMiB', node.freeMiB, mib(node.freeMiB)), ' free'] : null),
    node.mean === undefined ? null : h('p', {}, num(at + 'utilization.meanPercent', node.mean, node.mean + ' %'), ' busy on average, as the agent read at ', h('span', { class: 'words' }, moment(node.readAt))),
    ...[...Map.groupBy(list, ({ slot }) => slot.numa)].sort((a, b) => (a[0] ?? -1) - (b[0] ?? -1)).map(([numa, devices]) => numaBox(numa, devices, node, chosen, palette)),
    domains(node, at),
  ];
}

function numaBox(numa, devices, node, chosen, palette) {
  const ports = (node.layout.nics ?? []).filter((n) => n.numa === numa);
  const bySwitch = Map.groupBy(devices, ({ slot }) => slot.switch);
  return h('section', { class: 'numa', 'data-key': 'numa' + numa },
    h('h3', {}, numa === undefined ? 'NUMA node not known' : ['NUMA node ', num('numa', numa)]),
    [...bySwitch].sort((a, b) => (a[0] ?? -1) - (b[0] ?? -1)).map(([number, below]) => h('div', { class: number === undefined ? 'direct' : 'switchbox' },
      number === undefined ? null : h('h4', {}, 'PCIe switch', ports.filter((n) => n.switch === number).map((n) => h('span', { class: 'port' }, portText(n)))),
      h('ul', { class: 'devices' }, below.map(({ slot, device }) => deviceRow(slot, device, chosen === slot.id, node, palette))))),
    ports.some((n) => n.switch === undefined) ? h('p', { class: 'muted small' }, 'Ports: ', ports.filter((n) => n.switch === undefined).map((n, at) => [at ? ', ' : '', portText(n)])) : null);
}

const portText = (n) => [h('span', { class: 'words' }, n.name + ' ' + n.kind), n.gbps ? [' ', num('nics.' + n.name + '.gbps', n.gbps), ' Gbit/s'] : '', n.up ? '' : ' (down)'];

function deviceRow(slot, device, chosen, node, palette) {
  const { colour, shape } = look('state', device, slot, palette);
  const at = 'devices.' + node.name + '/' + slot.id + '.';
  const seats = (device.seats ?? []).map((s) => h('a', { href: '#/placements/' + s.namespace + '/' + s.placement }, h('span', { class: 'words' }, s.namespace + '/' + s.placement), s.rank === undefined ? '' : [' rank ', h('data', { value: s.rank, 'data-n': at + 'seats.rank' }, rankOf(s))]));
  return h('li', { 'data-key': slot.id, class: chosen ? 'chosen' : '', 'aria-current': chosen ? 'true' : null },
    sample(shape, colour),
    h('div', {},
      h('code', {}, slot.id), ' ', h('span', { class: 'muted' }, conditionWords[device.condition]),
      device.health ? h('span', { class: 'tag ' + (device.health === 'Unhealthy' ? 'bad' : 'warn') }, device.health + (device.reason ? ': ' + device.reason : '')) : null,
      device.cordoned ? h('span', { class: 'tag' }, 'cordoned') : null,
      slot.parent ? h('div', { class: 'small muted' }, 'part of ', h('code', {}, slot.parent)) : null,
      device.pods?.length ? h('div', { class: 'small words' }, 'pod ' + podsOf(device)) : null,
      seats.length ? h('div', { class: 'small' }, seats) : null,
      device.why ? h('div', { class: 'small muted words' }, device.why) : null,
      device.message ? h('div', { class: 'small muted words' }, device.message) : null,
      memory(slot, device, at),
      device.utilizationPercent === undefined ? null : h('div', { class: 'small' }, num(at + 'utilization.percent', device.utilizationPercent, device.utilizationPercent + ' %'), ' busy')));
}

function memory(slot, device, at) {
  if (!slot.totalMiB) return null;
  const part = (n) => ({ width: Math.min(100, (100 * (n ?? 0)) / slot.totalMiB) + '%' });
  return h('div', { class: 'memory small' },
    h('div', { class: 'meter', 'aria-hidden': 'true' }, h('i', { class: 'planned', style: part(device.plannedMiB) }), h('i', { class: 'others', style: part(device.othersMiB) }), h('i', { class: 'free', style: part(device.freeMiB) })),
    device.plannedMiB ? [num(at + 'memory.plannedMiB', device.plannedMiB, mib(device.plannedMiB)), ' planned, '] : null,
    device.othersMiB ? [num(at + 'memory.othersMiB', device.othersMiB, mib(device.othersMiB)), ' used by others, '] : null,
    device.freeMiB ? [num(at + 'memory.freeMiB', device.freeMiB, mib(device.freeMiB)), ' free '] : 'nothing free ', 'of ', num(at + 'memory.totalMiB', slot.totalMiB, mib(slot.totalMiB)));
}

function domains(node, at) {
  const list = node.layout.domains ?? [];
  if (!list.length) return null;
  return h('section', { class: 'numa' }, h('h3', {}, 'Link domains'), h('ul', { class: 'plainlist' }, list.map((d, n) => h('li', {},
    d.kind, d.generation ? [' ', num(at + 'domains.' + n + '.generation', d.generation)] : '', ', ', d.topology.toLowerCase(), ' of ', num(at + 'domains.' + n + '.members', d.members.length, counted(d.members.length, 'device')),
    d.peerMBps ? [', ', num(at + 'domains.' + n + '.peerMBps', d.peerMBps, rate(d.peerMBps)), ' to each other'] : null,
    node.fabric ? ', and on to other nodes of the fabric' : ''))));
}
