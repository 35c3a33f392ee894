// The fleet as a picture: only what is in view is drawn, into one canvas that stays while the page scrolls below it.
import { h, same } from './dom.js';
import { arrange, zooms } from './arrange.js';
import { look, about } from './colours.js';
import { holderOf } from './model.js';
import { mib, counted } from './words.js';

const titleHeight = 34;

export class Picture {
  constructor(on) {
    this.on = on;
    this.canvas = h('canvas', { tabindex: '0', role: 'application', 'aria-label': 'Picture of the nodes. Arrow keys move, Enter opens. The table after it has the same facts.' });
    this.tall = h('div', { class: 'tall' }, this.canvas);
    this.tip = h('div', { class: 'tip', hidden: true, 'aria-hidden': 'true' });
    this.scroller = h('div', { class: 'scroller' }, this.tall);
    this.element = h('div', { class: 'picture', 'data-kept': '' }, this.scroller, this.tip);
    this.context = this.canvas.getContext('2d', { alpha: false });
    this.sections = [];
    this.cursor = null;
    this.scroller.addEventListener('scroll', () => { this.tip.hidden = true; this.draw(); this.on.scrolled(); }, { passive: true });
    this.canvas.addEventListener('mousemove', (e) => this.hover(e));
    this.canvas.addEventListener('mouseleave', () => { this.tip.hidden = true; });
    this.canvas.addEventListener('click', (e) => { const hit = this.hit(e); if (hit) this.on.select(hit.item.node.name, hit.id); });
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    this.canvas.addEventListener('focus', () => this.draw(true));
    this.canvas.addEventListener('blur', () => this.draw(true));
    new ResizeObserver(() => this.resize()).observe(this.scroller);
  }

  // show takes over what is to be drawn.
  show(sections, options) {
    Object.assign(this, options, { sections });
    this.place();
    this.draw(true);
  }

  // resize takes over the size of what is scrolled. Placing does not ask for it: whoever asks has the browser lay the page out at once.
  resize() {
    const { clientWidth: width, clientHeight: height } = this.scroller;
    const scale = window.devicePixelRatio || 1;
    if (!width || !height) return;
    Object.assign(this, { width, height });
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.width = width + 'px';
      this.canvas.style.height = height + 'px';
    }
    this.place();
    this.stale = true;
    this.paint();
  }

  // place gives each section its height and columns, where they may be others than before.
  place() {
    if (!this.width) return;
    const from = [this.sections, this.zoom, this.width, this.height];
    if (same(from, this.placed)) return;
    this.placed = from;
    const width = this.width - 24;
    const size = zooms[this.zoom ?? 1];
    let top = 0;
    for (const s of this.sections) {
      let w = size.head ? 118 : 0, t = 0;
      for (const layout of new Set(s.items.map((item) => item.node.layout))) {
        const a = arrange(layout, this.zoom);
        w = Math.max(w, a.width);
        t = Math.max(t, a.height);
      }
      s.w = w + 2 * size.pad;
      s.h = t + size.head + 2 * size.pad + (size.head ? 4 : 0);
      s.columns = Math.max(1, Math.floor((width + size.space) / (s.w + size.space)));
      s.rows = Math.ceil(s.items.length / s.columns);
      s.top = top;
      top += (s.title ? titleHeight : 8) + s.rows * (s.h + size.space) + 8;
    }
    this.tall.style.height = Math.max(top, this.height) + 'px';
  }

  // draw draws with the next picture of the screen: all of it where something is other than before, else what scrolling uncovers.
  draw(stale) {
    this.stale ||= stale;
    this.drawing ||= requestAnimationFrame(() => {
      this.drawing = 0;
      if (this.scroller.clientWidth === this.width && this.scroller.clientHeight === this.height) this.paint(); // else resize will, in the same picture of the screen
    });
  }

  paint() {
    const c = this.context;
    if (!this.palette || !this.width) return;
    const scale = window.devicePixelRatio || 1;
    const { width, height } = this, from = Math.round(this.scroller.scrollTop);
    const moved = from - this.from;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    let top = 0, bottom = height;
    if (!this.stale && Math.abs(moved) < height && Number.isInteger(scale)) {
      c.drawImage(this.canvas, 0, -moved, this.canvas.width / scale, this.canvas.height / scale);
      if (moved > 0) top = height - moved;
      else bottom = -moved;
    }
    this.stale = false;
    this.from = from;
    if (top >= bottom) return;
    c.save();
    c.beginPath();
    c.rect(0, top, width, bottom - top);
    c.clip();
    c.fillStyle = this.palette.bg;
    c.fillRect(0, top, width, bottom - top);
    c.textBaseline = 'middle';
    for (const s of this.sections) this.paintSection(s, from, top, bottom);
    c.restore();
  }

  // paintSection draws what lies between two heights of the canvas.
  paintSection(s, from, top, bottom) {
    const c = this.context, p = this.palette, size = zooms[this.zoom];
    const head = s.title ? titleHeight : 8, rowHeight = s.h + size.space;
    const y0 = s.top - from;
    if (y0 > bottom || y0 + head + s.rows * rowHeight < top) return;
    if (s.title && y0 + head > top) {
      c.font = '600 13px ' + font;
      c.fillStyle = p.text;
      c.fillText(s.title, 12, y0 + 19);
      const w = c.measureText(s.title).width;
      c.font = '12px ' + font;
      c.fillStyle = p.muted;
      c.fillText(s.about, 24 + w, y0 + 19);
    }
    const first = Math.max(0, Math.floor((top - y0 - head - 2) / rowHeight)), last = Math.min(s.rows - 1, Math.floor((bottom - y0 - head + 2) / rowHeight));
    c.font = '11px ' + font;
    for (let row = first; row <= last; row++) {
      for (let column = 0; column < s.columns; column++) {
        const item = s.items[row * s.columns + column];
        if (item) this.tile(item, 12 + column * (s.w + size.space), y0 + head + row * rowHeight, s);
      }
    }
    if (size.cell <= 20) return;
    c.font = '9px ' + font;
    for (let row = first; row <= last; row++) {
      for (let column = 0; column < s.columns; column++) {
        const item = s.items[row * s.columns + column];
        if (item) this.written(item.node, 12 + column * (s.w + size.space) + size.pad, y0 + head + row * rowHeight + size.pad + size.head);
      }
    }
  }

  tile(item, x, y, s) {
    const c = this.context, p = this.palette, size = zooms[this.zoom], node = item.node;
    const a = arrange(node.layout, this.zoom);
    const chosen = node.name === this.selected;
    const focused = document.activeElement === this.canvas && node.name === this.cursor;
    c.fillStyle = p.surface;
    if (size.head || chosen || focused) {
      box(c, x, y, s.w, s.h, size.head ? 6 : 3);
      c.fill();
      c.lineWidth = chosen || focused ? 2 : 1;
      c.strokeStyle = chosen || focused ? p.accent : p.line;
      c.stroke();
    }
    if (size.head) {
      const idle = node.counts.Idle ?? 0;
      const right = node.closed ? 'closed' : idle ? idle + ' idle' : '';
      c.fillStyle = node.closed ? p.bad : p.muted;
      const w = right ? c.measureText(right).width : 0;
      c.fillText(right, x + s.w - size.pad - w, y + size.pad + 5);
      c.fillStyle = p.text;
      c.fillText(cut(c, 11, node.name, Math.round(s.w - 2 * size.pad - w - 6)), x + size.pad, y + size.pad + 5);
    }
    const left = x + size.pad, top = y + size.pad + size.head;
    if (size.head) this.board(a, left, top, size);
    for (let i = 0; i < a.places.length; i++) {
      c.globalAlpha = item.mask && !item.mask[i] ? 0.16 : 1;
      this.device(node.devices[i], node.layout.devices[i], left + a.places[i].x, top + a.places[i].y, size.cell);
    }
    c.globalAlpha = 1;
  }

  // board draws what the devices stand on: NUMA nodes, switches and link domains.
  board(a, x, y, size) {
    const c = this.context, p = this.palette;
    c.fillStyle = p.numa;
    for (const n of a.numa) {
      box(c, x + n.from - 2.5, y + n.y - 2.5, n.to - n.from + 5, size.cell + 5, 4);
      c.fill();
    }
    c.fillStyle = p.link;
    for (const d of a.domains) c.fillRect(x + d.from, y + d.y - 5 - 2 * (d.at % 2), d.to - d.from, 1.5);
    c.fillStyle = p.switch;
    for (const s of a.switches) c.fillRect(x + s.from + 1, y + s.y + size.cell + 3.5, s.to - s.from - 2, 1.5);
  }

  device(device, slot, x, y, cell) {
    const c = this.context, p = this.palette;
    const { colour, shape, share } = look(this.mode, device, slot, p);
    const inset = cell > 10 ? 0.75 : 0.5;
    if (shape === 'filled') {
      c.fillStyle = colour;
      c.fillRect(x, y, cell, cell);
    } else {
      c.fillStyle = p.surface;
      c.fillRect(x, y, cell, cell);
      if (shape === 'level') {
        c.fillStyle = colour;
        const filled = Math.round(cell * Math.min(1, share));
        c.fillRect(x, y + cell - filled, cell, filled);
      }
      c.strokeStyle = shape === 'level' ? p.line : colour;
      c.lineWidth = cell > 10 ? 1.5 : 1;
      c.strokeRect(x + inset, y + inset, cell - 2 * inset, cell - 2 * inset);
      if (shape === 'crossed' || shape === 'hatched') strokes(c, shape, x, y, cell);
    }
    if (device.health && cell > 7) {
      c.fillStyle = device.health === 'Unknown' ? p.unknown : device.health === 'Degraded' ? p.warn : p.bad;
      c.beginPath();
      c.arc(x + cell - 2, y + 2, cell > 20 ? 5 : 3.2, 0, 7);
      c.fill();
    }
  }

  // written writes on the devices of a node what they are.
  written(node, x, y) {
    const c = this.context, p = this.palette, size = zooms[this.zoom], places = arrange(node.layout, this.zoom).places;
    for (let i = 0; i < places.length; i++) {
      const device = node.devices[i], slot = node.layout.devices[i];
      c.fillStyle = ink(look(this.mode, device, slot, p), p);
      const lines = [slot.short ??= slot.id.replace(/^.*?-(?:0000:)?/, '').replace(/:00\.0$/, '')];
      if (device.seats?.length) lines.push(device.seats[0].rank === undefined ? 'planned' : 'rank ' + device.seats[0].rank);
      else if (device.freeMiB) lines.push(mib(device.freeMiB).replace(/\.\d/, ''));
      lines.forEach((line, n) => c.fillText(cut(c, 9, line, size.cell - 4), x + places[i].x + 3, y + places[i].y + 10 + 14 * n));
    }
  }

  // hit finds what is below the pointer.
  hit(event) {
    const bounds = this.canvas.getBoundingClientRect();
    return this.at(event.clientX - bounds.left, event.clientY - bounds.top + this.scroller.scrollTop);
  }

  at(x, y) {
    const size = zooms[this.zoom];
    for (const s of this.sections) {
      const inside = y - s.top - (s.title ? titleHeight : 8);
      if (inside < 0) return null;
      const row = Math.floor(inside / (s.h + size.space)), column = Math.floor((x - 12) / (s.w + size.space));
      if (row >= s.rows) continue;
      const item = s.items[row * s.columns + column];
      if (!item || column < 0 || column >= s.columns) return null;
      const dx = x - 12 - column * (s.w + size.space) - size.pad, dy = inside - row * (s.h + size.space) - size.pad - size.head;
      const places = arrange(item.node.layout, this.zoom).places;
      const i = places.findIndex((at) => dx >= at.x - 1 && dx <= at.x + size.cell + 1 && dy >= at.y - 1 && dy <= at.y + size.cell + 1);
      return { item, i, id: i >= 0 ? item.node.layout.devices[i].id : '' };
    }
    return null;
  }

  hover(event) {
    const hit = this.hit(event);
    this.tip.hidden = !hit;
    if (!hit) return;
    const node = hit.item.node;
    const lines = [node.name + (node.zone ? ' · ' + node.zone : '') + (node.closed ? ' · ' + node.closed : '')];
    if (hit.i >= 0) {
      const device = node.devices[hit.i], holder = holderOf(device);
      lines.push(about(device, node.layout.devices[hit.i]));
      if (holder) lines.push('held by ' + holder);
    } else {
      lines.push(counted(node.devices.length, 'device') + ', ' + (node.counts.Idle ?? 0) + ' idle');
    }
    this.tip.replaceChildren(...lines.map((line) => h('div', {}, line)));
    const bounds = this.element.getBoundingClientRect();
    const x = event.clientX - bounds.left, y = event.clientY - bounds.top;
    this.tip.style.transform = `translate(${Math.min(x + 14, bounds.width - 330)}px, ${Math.min(y + 16, bounds.height - 70)}px)`;
  }

  // key moves from node to node.
  key(event) {
    const items = this.sections.flatMap((s) => s.items);
    const at = items.findIndex((item) => item.node.name === this.cursor);
    const columns = this.sections[0]?.columns ?? 1;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    if (event.key === 'Enter' && at >= 0) this.on.select(this.cursor, '');
    else if (event.key in steps) this.move(items, at < 0 ? this.visible() : at + steps[event.key]);
    else if (event.key === 'Home') this.move(items, 0);
    else if (event.key === 'End') this.move(items, items.length - 1);
    else return;
    event.preventDefault();
  }

  move(items, to) {
    const item = items[Math.max(0, Math.min(items.length - 1, to))];
    if (!item) return;
    this.cursor = item.node.name;
    this.reveal(item);
    this.on.moved(item.node);
    this.draw(true);
  }

  // reveal scrolls until an item is in view.
  reveal(item) {
    const size = zooms[this.zoom];
    for (const s of this.sections) {
      const n = s.items.indexOf(item);
      if (n < 0) continue;
      const top = s.top + (s.title ? titleHeight : 8) + Math.floor(n / s.columns) * (s.h + size.space);
      if (top < this.scroller.scrollTop) this.scroller.scrollTop = top - 8;
      else if (top + s.h > this.scroller.scrollTop + this.scroller.clientHeight) this.scroller.scrollTop = top + s.h - this.scroller.clientHeight + 8;
    }
  }

  // visible is where the view begins, as a place among all items.
  visible() {
    const size = zooms[this.zoom], from = this.scroller.scrollTop;
    let before = 0;
    for (const s of this.sections) {
      const row = Math.max(0, Math.ceil((from - s.top - (s.title ? titleHeight : 8)) / (s.h + size.space)));
      if (row < s.rows) return before + row * s.columns;
      before += s.items.length;
    }
    return 0;
  }
}

const font = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

function box(c, x, y, w, h, r) {
  c.beginPath();
  c.roundRect(x + 0.5, y + 0.5, w - 1, h - 1, r);
}

function strokes(c, shape, x, y, cell) {
  c.beginPath();
  c.moveTo(x + 1.5, y + cell - 1.5);
  c.lineTo(x + cell - 1.5, y + 1.5);
  if (shape === 'crossed') {
    c.moveTo(x + 1.5, y + 1.5);
    c.lineTo(x + cell - 1.5, y + cell - 1.5);
  } else {
    c.moveTo(x + 1, y + cell / 2);
    c.lineTo(x + cell / 2, y + 1);
    c.moveTo(x + cell / 2, y + cell - 1);
    c.lineTo(x + cell - 1, y + cell / 2);
  }
  c.lineWidth = 1;
  c.stroke();
}

// ink is the colour of letters that can be read on a device.
function ink({ shape, colour }, p) {
  if (shape !== 'filled') return p.text;
  return colour === (p.dark ? p.reserved : p['in-use']) ? '#ffffff' : '#14171b';
}

const widths = new Map();

// cut shortens a text in the middle, where names differ least. The size of its letters is the one that is set.
function cut(c, letters, text, room) {
  const kind = letters * 10000 + room;
  let known = widths.get(kind);
  if (!known) widths.set(kind, (known = new Map()));
  let short = known.get(text);
  if (short !== undefined) return short;
  short = text;
  for (let keep = text.length - 1; keep > 4 && c.measureText(short).width > room; keep--) {
    const front = Math.ceil(keep / 3);
    short = text.slice(0, front) + '…' + text.slice(text.length - (keep - front));
  }
  if (known.size > 20000) known.clear();
  known.set(text, short);
  return short;
}
