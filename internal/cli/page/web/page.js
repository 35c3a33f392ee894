// The page: what the address says is what is shown, and what the stream says is what it is shown of.
import { h, morph } from './dom.js';
import { Fleet } from './model.js';
import { follow } from './stream.js';
import { Standing } from './standing.js';
import { modes, palette } from './colours.js';
import { FleetView } from './fleet.js';
import { PlacementsView } from './placements.js';
import { WhatIfView } from './whatif.js';

const $ = (id) => document.getElementById(id);
const views = { fleet: 'Fleet', placements: 'Placements', 'what-if': 'What if' };
const defaults = { q: '', colour: 'state', zoom: '1', as: 'picture', group: 'product', node: '', device: '' };
const keys = [['/', 'search'], ['f  p  w', 'fleet, placements, what if'], ['1 to 6', 'colour by state, holder, health, free and planned memory, utilization'], ['+  −', 'size of the picture'], ['t', 'picture or table'], ['arrows, Home, End', 'from node to node in the picture'], ['Enter', 'open the node'], ['Esc', 'close, or empty the search'], ['d', 'light, dark, or as the system has it']];

const app = { fleet: new Fleet(), state: {}, palette: palette(), go };
const shown = {};

// read takes the state from the address.
function read() {
  app.address = location.hash;
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [view, ...rest] = path.split('/');
  app.state = { ...defaults, ...Object.fromEntries(new URLSearchParams(view === 'what-if' ? '' : query ?? '')), view: views[view] ? view : 'fleet', placement: rest.map(decodeURIComponent).join('/'), ask: view === 'what-if' ? query ?? '' : app.state.ask ?? '' };
}

// go changes the state, and with it the address. What somebody types replaces the address before.
function go(change, replace) {
  const next = { ...app.state, ...change };
  let hash = '#/' + next.view;
  if (next.view === 'fleet') {
    const query = new URLSearchParams(Object.entries(defaults).filter(([name, value]) => next[name] !== value).map(([name]) => [name, next[name]]));
    if (String(query)) hash += '?' + query;
  }
  if (next.view === 'placements' && next.placement) hash += '/' + next.placement;
  if (next.view === 'what-if' && next.ask) hash += '?' + next.ask;
  history[replace ? 'replaceState' : 'pushState'](null, '', hash);
  read();
  render();
}

// moved shows what the address says now. Most browsers tell of a change of it twice.
function moved() {
  if (app.address === location.hash) return;
  read();
  render();
}

const makers = { fleet: FleetView, placements: PlacementsView, 'what-if': WhatIfView };

function render() {
  const name = app.state.view;
  morph($('tabs'), Object.entries(views).map(([view, text]) => h('a', { href: '#/' + view, 'aria-current': view === name ? 'page' : null, 'data-key': view }, text)));
  const made = (shown[name] ??= new makers[name](app));
  if ($('view').firstChild !== made.element) $('view').replaceChildren(made.element);
  header();
  made.render();
  document.title = views[name] + ' · Rankwright';
}

function header() {
  const totals = app.fleet.totals;
  const kinds = { Cluster: 'cluster', Files: 'files', Simulated: 'simulated' };
  morph($('source'), totals ? [h('span', { class: 'muted' }, kinds[totals.source.kind] + ' '), totals.source.name] : '');
  const unseen = totals?.notPermitted ?? [];
  $('unseen').hidden = !unseen.length;
  morph($('unseen'), unseen.length ? [h('b', {}, 'Not permitted: '), unseen.map((u) => u.kind + (u.seenIn ? ' outside of namespace ' + u.seenIn : '')).join(', ') + '. What somebody unseen might hold is not shown as free.'] : '');
}

let waiting = false;

// soon draws what changed with the next picture of the screen.
function soon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    render();
    requestAnimationFrame(() => performance.mark('shown'));
  });
}

// What is known of the plugin: when it was heard of last, and whether it is not any more.
let heard = Date.now(), lost = false;
const standing = new Standing($('live'), $('why'), $('since'));

function tell(word) {
  lost = word === 'lost';
  if (!lost) heard = Date.now();
  const silent = { since: heard, why: 'The plugin does not answer: kubectl rankwright ui ended, or is held up' };
  const kind = app.fleet.totals?.source.kind;
  standing.show(lost ? silent : app.fleet.outage, { undefined: 'reading', Cluster: 'live' }[kind] ?? '');
}

const themes = ['', 'light', 'dark'];
function theme(next) {
  document.documentElement.dataset.theme = next;
  $('theme').textContent = { '': '◐', light: '☀', dark: '☾' }[next];
  $('theme').setAttribute('aria-label', 'Theme: ' + (next || 'as the system has it'));
  app.palette = palette();
}

function help() {
  const open = document.querySelector('dialog');
  if (open) return open.remove();
  const dialog = h('dialog', { 'aria-label': 'Keys' }, h('h2', {}, 'Keys'), h('dl', {}, keys.map(([key, what]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, what)])), h('form', { method: 'dialog' }, h('button', {}, 'Close')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// search gives the focus to what is searched with, once the key is up, so that it is not typed there.
const search = () => addEventListener('keyup', () => ($('view').querySelector('input[type=search]') ?? $('view').querySelector('input'))?.focus(), { once: true });

const pressed = {
  '/': search,
  f: () => go({ view: 'fleet' }),
  p: () => go({ view: 'placements' }),
  w: () => go({ view: 'what-if' }),
  t: () => go({ as: app.state.as === 'table' ? 'picture' : 'table' }),
  '+': () => zoom(1),
  '=': () => zoom(1),
  '-': () => zoom(-1),
  '?': help,
  d: () => { theme(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % 3]); render(); },
  ...Object.fromEntries(Object.keys(modes).map((colour, n) => [String(n + 1), () => go({ colour })])),
};
const zoom = (by) => go({ zoom: String(Math.max(0, Math.min(2, Number(app.state.zoom) + by))) });

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest?.('input:not([type=radio]), select, textarea');
  if (event.key === 'Escape') {
    if (typing?.type === 'search' && typing.value) { typing.value = ''; typing.dispatchEvent(new Event('input')); }
    typing?.blur();
    if (!typing && app.state.node) go({ node: '', device: '' });
    return;
  }
  if (typing || !pressed[event.key]) return;
  event.preventDefault();
  pressed[event.key]();
});

theme('');
$('theme').addEventListener('click', () => pressed.d());
$('keys').addEventListener('click', help);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { app.palette = palette(); render(); });
for (const event of ['hashchange', 'popstate']) addEventListener(event, moved);
read();
render();
follow((change) => {
  app.fleet.apply(change);
  performance.mark('applied');
  soon();
}, tell);
