// What somebody searches for: words that must all be there, and facts such as state:idle, health:unhealthy, ns:team-a or free>40.
import { conditions, conditionWords } from './words.js';

const healths = ['Healthy', 'Degraded', 'Unhealthy', 'Unknown'];

// facts are what a device is asked for by name. Each takes the device, its slot and its node.
const facts = {
  state: (value) => (d) => d.condition.toLowerCase().startsWith(value) || conditionWords[d.condition].startsWith(value),
  health: (value) => (d) => (d.health ?? 'Healthy').toLowerCase().startsWith(value),
  ns: (value) => (d) => [...(d.pods ?? []), ...(d.seats ?? [])].some((h) => h.namespace.toLowerCase() === value),
  placement: (value) => (d) => (d.seats ?? []).some((s) => (s.namespace + '/' + s.placement).toLowerCase() === value || s.placement.toLowerCase() === value),
  pod: (value) => (d) => (d.pods ?? []).some((p) => (p.namespace + '/' + p.name).toLowerCase().includes(value)),
  product: (value) => (d, slot) => hyphened(slot.product || (slot.vendor ?? '') + ' device').includes(value),
  device: (value) => (d, slot) => slot.id.toLowerCase().includes(value),
  node: (value) => (d, slot, node) => node.name.toLowerCase().includes(value),
  zone: (value) => (d, slot, node) => (node.zone ?? '').toLowerCase() === value,
  fabric: (value) => (d, slot, node) => (node.fabric ?? '').toLowerCase().includes(value),
};

// hyphened is a name as one word.
export const hyphened = (name) => name.toLowerCase().replace(/\s+/g, '-');

export const hints = Object.keys(facts).map((name) => name + ':').concat('free>', 'free<',
  conditions.map((c) => 'state:' + c.toLowerCase()), healths.map((s) => 'health:' + s.toLowerCase()));

// parse makes of a text what says whether a device is meant; null where all are.
export function parse(text) {
  const tests = text.trim().toLowerCase().split(/\s+/).filter(Boolean).map(testOf);
  if (!tests.length) return null;
  return (device, slot, node) => tests.every((test) => test(device, slot, node));
}

function testOf(word) {
  const compared = /^free([<>])=?(\d+(?:\.\d+)?)$/.exec(word);
  if (compared) {
    const bound = Number(compared[2]) * 1024;
    return (d) => (compared[1] === '>' ? (d.freeMiB ?? 0) >= bound : (d.freeMiB ?? 0) <= bound);
  }
  const named = /^([a-z]+):(.*)$/.exec(word);
  if (named && facts[named[1]]) return facts[named[1]](named[2]);
  return (device, slot, node) => nodeText(node).includes(word) || slotText(slot).includes(word) || heldText(device).includes(word);
}

const nodeText = (node) => (node.text ??= [node.name, node.zone, node.fabric, node.closed].join(' ').toLowerCase());

// slotText is the same for all nodes of a layout, heldText is empty of most devices that are idle.
const slotText = (slot) => (slot.text ??= (slot.id + ' ' + (slot.product ?? '')).toLowerCase());

const heldText = (device) => (device.text ??= [
  device.why, device.reason, device.cordoned ? 'cordoned' : '', ...(device.pods ?? []).map((p) => p.namespace + '/' + p.name),
  ...(device.seats ?? []).map((s) => s.namespace + '/' + s.placement + ' ' + s.plan),
].join(' ').toLowerCase());

// select finds the nodes of which a device is meant. A mask says which; null where all are.
export function select(nodes, test) {
  if (!test) return nodes.map((node) => ({ node, mask: null, count: node.devices.length }));
  const found = [];
  for (const node of nodes) {
    let mask = null;
    let count = 0;
    for (let i = 0; i < node.devices.length; i++) {
      if (!test(node.devices[i], node.layout.devices[i], node)) continue;
      mask ??= new Uint8Array(node.devices.length);
      mask[i] = 1;
      count++;
    }
    if (count) found.push({ node, mask: count === node.devices.length ? null : mask, count });
  }
  return found;
}
