// A placement with its plan: what it should deliver, which device is which rank with how many bytes, who talks to whom, or why there is no plan.
import { h, num } from './dom.js';
import { billions, bytes, counted, digits, figure, mib, rate } from './words.js';

// parts of a device's memory, in the order in which they are drawn.
const components = [['weightsBytes', 'Weights'], ['kvCacheBytes', 'KV cache'], ['activationsBytes', 'Activations'], ['overheadBytes', 'Overhead']];

export function detail(d, fleet, lit, imagined) {
  return [
    d.refusal ? refusal(d.refusal) : null,
    d.plan ? [estimate(d.plan), d.observed ? observed(d.observed) : null, facts(d.plan, imagined), legendOf(), d.plan.shapes.flatMap((shape, n) => copies(d.plan, shape, n, fleet, lit)), links(d.plan, lit), findings(d.plan), others(d.plan)] : null,
    d.otherPlans?.length ? h('p', { class: 'note' }, 'Other plans of this placement hold devices, too: ', h('span', { class: 'words' }, d.otherPlans.join(', '))) : null,
    d.conditions?.length ? conditionsOf(d.conditions) : null,
  ];
}

function estimate(plan) {
  const e = plan.estimate;
  if (!e) return h('p', { class: 'note' }, 'Nothing is estimated for this plan.');
  return h('section', { class: 'cards', 'aria-label': 'Estimate' },
    card('Throughput', 'estimate.tokensPerSecond', e.tokensPerSecond, 1, 'tokens/s'),
    card('Time to first token', 'estimate.ttftMillis', e.ttftMillis, 1, 'ms'),
    card('Time per token', 'estimate.tpotMicros', e.tpotMicros, 1e-3, 'ms'),
    card('Step', 'estimate.stepMillis', e.stepMillis, 1e-3, 's'),
    e.microUSDPerMillionTokens ? h('div', { class: 'card' }, h('h3', {}, 'Price'), h('p', { class: 'big' }, num('estimate.microUSDPerMillionTokens', e.microUSDPerMillionTokens, figure(e.microUSDPerMillionTokens / 1e6, digits(e.tokensPerSecond?.low, e.tokensPerSecond?.high))), h('small', {}, 'USD a million tokens'))) : null,
    e.loadSeconds ? h('div', { class: 'card' }, h('h3', {}, 'Loading'), h('p', { class: 'big' }, num('estimate.loadSeconds', e.loadSeconds), h('small', {}, 's at least'))) : null,
    e.basis ? h('p', { class: 'basis words' }, 'Computed, not measured: ' + e.basis + '.') : null);
}

// card is a number with its range.
function card(title, name, expected, unit, words) {
  if (!expected?.value) return null;
  const { value, low, high } = expected;
  const d = digits(low, high);
  const show = (n, of) => num(name + '.' + of, n, figure(n * unit, d));
  const at = (n) => (100 * (n - 0.8 * low)) / (1.25 * high - 0.8 * low) + '%';
  return h('div', { class: 'card' }, h('h3', {}, title), h('p', { class: 'big' }, show(value, 'value'), h('small', {}, words)),
    high ? [h('div', { class: 'range', 'aria-hidden': 'true' }, h('i', { class: 'span', style: { left: at(low), right: 100 - parseFloat(at(high)) + '%' } }), h('i', { class: 'dot', style: { left: at(value) } })), h('p', { class: 'small muted' }, show(low, 'low'), ' to ', show(high, 'high'))] : null);
}

function observed(o) {
  return h('p', { class: 'note' }, 'Observed: ', num('observed.tokensPerSecond', o.tokensPerSecond ?? 0), ' tokens/s, first token after ', num('observed.ttftMillis', o.ttftMillis ?? 0), ' ms, ', num('observed.tpotMicros', o.tpotMicros ?? 0, figure((o.tpotMicros ?? 0) / 1e3, 3)), ' ms a token, with ', num('observed.concurrency', o.concurrency ?? 0), ' requests in flight.');
}

function facts(plan, imagined) {
  const t = plan.totals;
  const fact = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
  return h('dl', { class: 'facts' },
    fact('Strategy', h('b', { class: 'words' }, strategyText(plan.strategy))),
    fact('Takes', num('plan.totals.devices', t.devices, counted(t.devices, 'device')), ' on ', num('plan.totals.nodes', t.nodes, counted(t.nodes, 'node')), ', ', num('plan.totals.totalBytes', t.totalBytes, bytes(t.totalBytes))),
    fact('Model', num('plan.parameters', plan.parameters, billions(plan.parameters)), ' parameters'),
    fact('Precision', h('span', { class: 'words' }, plan.quantization + ' weights' + (plan.kvCacheType ? ', ' + plan.kvCacheType + ' cache' : ''))),
    fact('Engine', h('span', { class: 'words' }, plan.engine)),
    imagined ? null : fact('Kept by', plan.enforcement ?? ''),
    imagined ? null : fact('Plan', h('code', {}, plan.name), plan.active ? '' : ' (not in force)'));
}

const legendOf = () => h('p', { class: 'legend' }, components.map(([key, text]) => h('span', {}, h('i', { class: 'sample part ' + key }), text)), h('span', {}, h('i', { class: 'sample part rest' }), 'left on the device'));

function copies(plan, shape, n, fleet, lit) {
  const count = shape.strategy.replicas;
  const seats = Map.groupBy(plan.seats.filter((s) => s.copy >= shape.firstReplica && s.copy < shape.firstReplica + count), (s) => s.copy);
  return [...seats].map(([copy, list]) => copyOf(plan, shape, n, copy, list, fleet, lit));
}

function copyOf(plan, shape, n, copy, list, fleet, lit) {
  const wide = Math.max(...list.map((s) => s.tensor)) + 1;
  const rows = Map.groupBy(list, (s) => s.data + '/' + s.stage);
  const many = shape.strategy.data > 1;
  return h('section', { class: 'copy', 'data-key': 'copy' + copy },
    h('h3', {}, 'Copy ', num('copy', copy), h('span', { class: 'muted' }, ' · ', num('copy.ranks', list.length, counted(list.length, 'rank')))),
    h('div', { class: 'scrollx' }, h('table', { class: 'ranks' },
      h('caption', { class: 'hidden' }, 'Stages by tensor ranks; each cell is a device'),
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, many ? 'Data rank, stage' : 'Stage'), Array.from({ length: wide }, (_, t) => h('th', { scope: 'col' }, 'tensor ', num('tensor', t))))),
      h('tbody', {}, [...rows].map(([, cells]) => {
        const first = cells[0], stage = shape.stages[first.stage];
        return h('tr', {}, h('th', { scope: 'row' }, many ? ['data ', num('data', first.data), ', '] : null, 'stage ', num('stage', first.stage), h('div', { class: 'small muted' }, 'layers ', num('stages.' + n + '.' + first.stage + '.firstLayer', stage.firstLayer), '–', num('stages.' + n + '.' + first.stage + '.lastLayer', stage.lastLayer)),
          h('div', { class: 'small muted' }, components.filter(([key]) => stage.perDevice[key]).map(([key, text]) => h('div', {}, text + ' ', num('stages.' + n + '.' + first.stage + '.' + key, stage.perDevice[key], bytes(stage.perDevice[key])))), h('div', {}, h('b', {}, num('stages.' + n + '.' + first.stage + '.totalBytes', stage.perDevice.totalBytes, bytes(stage.perDevice.totalBytes))), ' a device'))),
          cells.map((seat) => h('td', {}, cell(seat, stage, shape, n, fleet, lit))));
      })))));
}

function cell(seat, stage, shape, n, fleet, lit) {
  const found = fleet.find(seat.node, seat.device);
  const total = (found?.slot.totalMiB ?? 0) * 2 ** 20 || stage.perDevice.totalBytes;
  const marks = marksOf(seat, shape, n, lit);
  const trouble = seat.lost || (found?.device.health === 'Unhealthy' ? found.device.health : '');
  return h('button', { type: 'button', class: 'rank' + (marks.own ? ' own' : '') + (marks.kinds.length ? ' lit' : '') + (lit && !marks.kinds.length && !marks.own ? ' dim' : '') + (trouble ? ' trouble' : ''), 'data-seat': n + ':' + seat.copy + ':' + (seat.rank ?? ''), 'data-href': '#/fleet?node=' + encodeURIComponent(seat.node) + '&device=' + encodeURIComponent(seat.device), title: 'Show the device in the fleet' },
    h('span', { class: 'ranktop' }, h('span', {}, seat.rank === undefined ? 'no rank' : ['rank ', num('rank', seat.rank)]), h('span', { class: 'marks' }, marks.kinds.map((k) => h('i', { class: 'dot' + (k % 6), title: shape.groups[k].name })))),
    h('span', { class: 'stack', 'aria-hidden': 'true' }, components.map(([key]) => h('i', { class: 'part ' + key, style: { width: (100 * stage.perDevice[key]) / total + '%' } }))),
    h('code', {}, seat.device.replace(/^([a-z]+)-0000:/, '$1-')), h('span', { class: 'small muted words' }, seat.node),
    found?.slot.totalMiB ? h('span', { class: 'small muted' }, 'of ', num('devices.' + seat.node + '/' + seat.device + '.memory.totalMiB', found.slot.totalMiB, mib(found.slot.totalMiB))) : h('span', { class: 'small muted' }, 'device not seen'),
    trouble ? h('span', { class: 'tag bad' }, trouble) : null);
}

// marksOf says in which groups a rank is with what is lit: a rank, or all groups of a kind.
function marksOf(seat, shape, n, lit) {
  if (!lit || seat.rank === undefined || !shape.groups) return { kinds: [] };
  if (lit.kind !== undefined) {
    const k = shape.groups.findIndex((g) => g.name === lit.kind);
    const at = k < 0 ? -1 : shape.groups[k].ranks.findIndex((g) => g.includes(seat.rank));
    return { kinds: at >= 0 ? [at] : [] };
  }
  if (lit.shape !== n || lit.copy !== seat.copy) return { kinds: [] };
  const kinds = shape.groups.map((g, k) => (g.size > 1 && g.name !== 'world' && g.ranks.some((ranks) => ranks.includes(lit.rank) && ranks.includes(seat.rank)) ? k : -1)).filter((k) => k >= 0);
  return { own: seat.rank === lit.rank, kinds };
}

function links(plan, lit) {
  const shape = plan.shapes[0];
  if (plan.meshProblem) return h('p', { class: 'note' }, 'The mesh does not fit the plan: ' + plan.meshProblem);
  if (!shape.groups?.length) return h('p', { class: 'note' }, 'There is no mesh of this plan, or you may not see it.');
  const byGroup = new Map((plan.links ?? []).map((l) => [l.group, l]));
  return h('section', {}, h('h3', {}, 'Process groups and their links'),
    h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ['Group', 'Groups', 'Ranks in each', 'Library', 'Slowest link by the inventories', 'Measured', 'Latency'].map((t, at) => h('th', { scope: 'col', class: at === 1 || at === 2 ? 'n' : null }, t)))),
      h('tbody', {}, shape.groups.map((g, k) => {
        const l = byGroup.get(g.name), at = 'groups.' + g.name + '.';
        return h('tr', { 'data-kind': g.name, tabindex: '0', class: lit?.kind === g.name ? 'lit' : '' },
          h('th', { scope: 'row' }, h('i', { class: 'dot' + (k % 6) }), g.name), h('td', { class: 'n' }, num(at + 'count', g.count)), h('td', { class: 'n' }, num(at + 'size', g.size)), h('td', {}, g.library ?? ''),
          h('td', {}, l?.slowest ? [l.slowest.kind, l.slowest.mbps ? [' ', num(at + 'slowest.mbps', l.slowest.mbps, rate(l.slowest.mbps))] : '', ' between ranks ', num(at + 'slowest.ranks.0', l.slowest.ranks[0]), ' and ', num(at + 'slowest.ranks.1', l.slowest.ranks[1])] : h('span', { class: 'none' }, g.size > 1 ? 'not known' : 'one rank')),
          h('td', {}, l?.verified?.mbps ? [num(at + 'verified.mbps', l.verified.mbps, rate(l.verified.mbps)), l.verified.plannedMBps ? [' of ', num(at + 'verified.plannedMBps', l.verified.plannedMBps, rate(l.verified.plannedMBps)), ' planned'] : ''] : h('span', { class: 'none' }, 'not measured')),
          h('td', { class: 'n' }, l?.verified?.latencyMicros ? [num(at + 'verified.latencyMicros', l.verified.latencyMicros), ' µs'] : ''));
      }))));
}

function findings(plan) {
  if (!plan.findings?.length) return null;
  return h('section', {}, h('h3', {}, 'What verification found wrong'), h('ul', { class: 'findings' }, plan.findings.map((f) => h('li', {}, h('span', { class: 'tag bad' }, f.reason), ' ', h('span', { class: 'words' }, f.message ?? f.pod.node)))));
}

function others(plan) {
  if (!plan.rejected?.length) return null;
  return h('details', {}, h('summary', {}, 'Other shapes that were looked at'), h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ['Shape', 'Reason', 'In numbers'].map((t) => h('th', { scope: 'col' }, t)))),
    h('tbody', {}, plan.rejected.map((r) => h('tr', {}, h('th', { scope: 'row', class: 'words' }, r.strategy), h('td', {}, r.reason), h('td', { class: 'words' }, r.message))))));
}

function refusal(r) {
  const s = r.shortfall;
  const most = s ? Math.max(s.neededMiB ?? 0, s.freeMiB ?? 0, 1) : 1;
  const bar = (text, name, value, kind) => value === undefined ? null : h('div', { class: 'compare' }, h('span', {}, text), h('div', { class: 'meter wide', 'aria-hidden': 'true' }, h('i', { class: kind, style: { width: (100 * value) / most + '%' } })), num(name, value, mib(value)));
  return h('section', { class: 'refusal' },
    h('h3', {}, 'No plan: ' + r.reason), h('p', { class: 'words' }, r.message),
    s ? h('div', {}, bar('One copy needs', 'shortfall.neededMiB', s.neededMiB, 'bad'), bar('Free to use', 'shortfall.freeMiB', s.freeMiB ?? 0, 'free'), bar('Largest device', 'shortfall.largestDeviceMiB', s.largestDeviceMiB, 'free'), h('p', {}, num('shortfall.freeDevices', s.freeDevices ?? 0, counted(s.freeDevices ?? 0, 'free device')))) : null,
    r.remedies?.length ? [h('h4', {}, 'Each of these alone would make it fit'), h('ol', { class: 'remedies' }, r.remedies.map((m) => h('li', {}, h('span', { class: 'tag' }, m.kind), ' ', h('span', { class: 'words' }, m.change), m.command ? h('div', { class: 'command' }, h('code', {}, m.command), h('button', { type: 'button', 'data-copy': m.command }, 'Copy')) : null)))]
      : h('p', { class: 'muted' }, 'No single change of the placement or of the cluster was found to be enough.'));
}

function conditionsOf(list) {
  return h('details', {}, h('summary', {}, 'Conditions'), h('table', { class: 'plain' }, h('tbody', {}, list.map((c) => h('tr', {}, h('th', { scope: 'row' }, c.type), h('td', {}, c.status), h('td', {}, c.reason), h('td', { class: 'words' }, c.message))))));
}

// behave gives a view of placements what its parts do: groups light up, commands are copied, devices lead to the fleet.
export function behave(element, light) {
  const from = (e) => {
    const kind = e.target.closest?.('[data-kind]')?.dataset.kind;
    if (kind !== undefined) return { kind };
    const seat = e.target.closest?.('[data-seat]')?.dataset.seat;
    if (seat === undefined) return null;
    const [shape, copy, rank] = seat.split(':');
    return rank === '' ? null : { shape: Number(shape), copy: Number(copy), rank: Number(rank) };
  };
  let last = '';
  const over = (e) => {
    const lit = from(e), text = JSON.stringify(lit);
    if (text !== last) { last = text; light(lit); }
  };
  for (const event of ['mouseover', 'focusin']) element.addEventListener(event, over);
  element.addEventListener('mouseleave', () => { last = ''; light(null); });
  element.addEventListener('click', (e) => {
    const copied = e.target.closest('[data-copy]');
    if (copied) navigator.clipboard.writeText(copied.dataset.copy).then(() => { copied.textContent = 'Copied'; }, () => {});
    const seat = e.target.closest('[data-href]');
    if (seat) location.hash = seat.dataset.href;
  });
}

// strategyText is a strategy for people.
export const strategyText = (summary) => (summary === 'None' ? 'One device' : summary);
