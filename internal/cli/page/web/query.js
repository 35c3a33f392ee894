// What somebody searches for: words that must all be there, and facts such as state:idle, health:unhealthy, ns:team-a, free>40 or util<5.
import { conditions, conditionWords } from './words.js';

const healths = ['Healthy', 'Degraded', 'Unhealthy', 'Unknown'];

// among asks whether what a device has is one of those that are meant, which are found once.
const among = (meant, of) => { const names = new Set(meant); return (d) => names.has(of(d)); };

// facts are what a device is asked for by name. Each takes the device, its slot and its node.
const facts = {
  state: (value) => among(conditions.filter((c) => c.toLowerCase().startsWith(value) || conditionWords[c].startsWith(value)), (d) => d.condition),
  health: (value) => among(healths.filter((name) => name.toLowerCase().startsWith(value)), (d) => d.health ?? 'Healthy'),
  ns: (value) => (d) => [...(d.pods ?? []), ...(d.seats ?? [])].some((h) => h.namespace.toLowerCase() === value),
  placement: (value) => (d) => (d.seats ?? []).some((s) => (s.namespace + '/' + s.placement).toLowerCase() === value || s.placement.toLowerCase() === value),
  pod: (value) => (d) => (d.pods ?? []).some((p) => (p.namespace + '/' + p.name).toLowerCase().includes(value)),
  product: (value) => (d, slot) => hyphened(slot.product || (slot.vendor ?? '') + ' device').includes(value),
  device: (value) => (d, slot) => slot.id.toLowerCase().includes(value),
  node: (value) => (d, slot, node) => node.name.toLowerCase().includes(value),
  zone: (value) => (d, slot, node) => (node.zone ?? '').toLowerCase() === value,
  fabric: (value) => (d, slot, node) => (node.fabric ?? '').toLowerCase().includes(value),
};

// amounts are what a device is compared by: free memory in GiB, and utilization in percent, which no bound holds for where it is not known.
const amounts = { free: (d) => (d.freeMiB ?? 0) / 1024, util: (d) => d.utilizationPercent ?? NaN };

// hyphened is a name as one word.
export const hyphened = (name) => name.toLowerCase().replace(/\s+/g, '-');

export const hints = Object.keys(facts).map((name) => name + ':').concat('free>', 'free<', 'util>', 'util<',
  conditions.map((c) => 'state:' + c.toLowerCase()), healths.map((s) => 'health:' + s.toLowerCase()));

// parse makes of a text what devices are asked for: facts, and words; null where all are meant.
export function parse(text) {
  const asked = { facts: [], words: [] };
  for (const word of text.trim().toLowerCase().split(/\s+/).filter(Boolean)) {
    const fact = factOf(word);
    if (fact) asked.facts.push(fact);
    else asked.words.push(word);
  }
  return asked.facts.length + asked.words.length ? asked : null;
}

function factOf(word) {
  const compared = /^(free|util)([<>])=?(\d+(?:\.\d+)?)$/.exec(word);
  if (compared) {
    const amount = amounts[compared[1]], bound = Number(compared[3]);
    return compared[2] === '>' ? (d) => amount(d) >= bound : (d) => amount(d) <= bound;
  }
  const named = /^([a-z]+):(.*)$/.exec(word);
  return named && facts[named[1]] ? facts[named[1]](named[2]) : null;
}

const nodeText = (node) => (node.text ??= [node.name, node.zone, node.fabric, node.closed].join(' ').toLowerCase());

// slotText is the same for all nodes of a layout, heldText is empty of most devices that are idle.
const slotText = (slot) => (slot.text ??= (slot.id + ' ' + (slot.product ?? '')).toLowerCase());

const heldText = (device) => (device.text ??= holders(device).toLowerCase());

function holders(device) {
  let text = device.cordoned ? 'cordoned' : '';
  if (device.why) text += ' ' + device.why;
  if (device.reason) text += ' ' + device.reason;
  for (const p of device.pods ?? []) text += ' ' + p.namespace + '/' + p.name;
  for (const s of device.seats ?? []) text += ' ' + s.namespace + '/' + s.placement + ' ' + s.plan;
  return text;
}

// select finds the nodes of which a device is meant. A mask says which; null where all are. A word that a node has is one that all its devices have.
export function select(nodes, asked) {
  if (!asked) return nodes.map((node) => ({ node, mask: null, count: node.devices.length }));
  const found = [];
  for (const node of nodes) {
    const words = asked.words.filter((word) => !nodeText(node).includes(word));
    const meant = (device, slot) => asked.facts.every((fact) => fact(device, slot, node)) && words.every((word) => slotText(slot).includes(word) || heldText(device).includes(word));
    let mask = null;
    let count = 0;
    for (let i = 0; i < node.devices.length; i++) {
      if (!meant(node.devices[i], node.layout.devices[i])) continue;
      mask ??= new Uint8Array(node.devices.length);
      mask[i] = 1;
      count++;
    }
    if (count) found.push({ node, mask: count === node.devices.length ? null : mask, count });
  }
  return found;
}
