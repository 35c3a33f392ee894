// The fleet as the server tells it: parts that are set and go.

export class Fleet {
  constructor() {
    this.clear();
  }

  clear() {
    this.version = 0;
    this.totals = null;
    this.outage = null;
    this.layouts = new Map();
    this.nodes = new Map();
    this.placements = new Map();
    this.sorted = null;
  }

  // apply takes a change over.
  apply(change) {
    if (change.whole) this.clear();
    this.version = change.version;
    this.largest = null;
    const set = change.set ?? {};
    for (const key in set) if (key.startsWith('layout/')) this.layouts.set(key.slice(7), set[key]);
    for (const key in set) {
      if (key === 'fleet') this.totals = set[key];
      else if (key === 'outage') this.outage = set[key];
      else if (key.startsWith('node/')) this.setNode(key.slice(5), set[key]);
      else if (key.startsWith('placement/')) this.placements.set(key.slice(10), set[key]);
    }
    for (const key of change.gone ?? []) {
      if (key === 'outage') this.outage = null;
      else if (key.startsWith('layout/')) this.layouts.delete(key.slice(7));
      else if (key.startsWith('placement/')) this.placements.delete(key.slice(10));
      else if (key.startsWith('node/') && this.nodes.delete(key.slice(5))) this.sorted = null;
    }
  }

  setNode(name, part) {
    const layout = this.layouts.get(part.layout);
    const node = { name, ...part, layout, counts: {}, freeMiB: 0, mean: meanOf(part.devices), product: productOf(layout), device: undefined };
    for (const d of part.devices) {
      node.counts[d.condition] = (node.counts[d.condition] ?? 0) + 1;
      node.freeMiB += d.freeMiB ?? 0;
    }
    if (!this.nodes.has(name)) this.sorted = null;
    this.nodes.set(name, node);
  }

  // list is the nodes in order of their names.
  list() {
    const order = (this.sorted ??= [...this.nodes.keys()].sort());
    return order.map((name) => this.nodes.get(name));
  }

  // most are the placements with most devices.
  most() {
    return (this.largest ??= [...this.placements.values()].filter((p) => p.totals.devices).sort((a, b) => b.totals.devices - a.totals.devices || (a.name < b.name ? -1 : 1)).slice(0, 12));
  }

  // find is a device of a node with its slot.
  find(name, id) {
    const node = this.nodes.get(name);
    const at = node ? node.layout.devices.findIndex((d) => d.id === id) : -1;
    return at < 0 ? null : { node, slot: node.layout.devices[at], device: node.devices[at] };
  }
}

// meanOf is the mean utilization of devices in percent; undefined where none shows it.
function meanOf(devices) {
  const shown = devices.map((d) => d.utilizationPercent).filter((n) => n !== undefined);
  return shown.length ? Math.round(shown.reduce((sum, n) => sum + n, 0) / shown.length) : undefined;
}

// productOf is what a node has, in a word.
function productOf(layout) {
  const names = [...new Set(layout.devices.map((d) => d.product || (d.vendor ?? '') + ' device'))];
  return names.join(' + ') || 'no devices';
}

export const holderOf = (device) => {
  if (device.seats?.length) return device.seats[0].namespace + '/' + device.seats[0].placement;
  if (device.pods?.length) return device.pods[0].namespace + '/' + device.pods[0].name;
  return '';
};

export const podsOf = (device) => (device.pods ?? []).map((p) => p.namespace + '/' + p.name).join(', ');

export const rankOf = (seat) => (seat.rank === undefined ? '' : seat.copy + ':' + seat.rank);
