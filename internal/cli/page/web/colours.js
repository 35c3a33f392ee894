// Colours of devices by what is looked at. No meaning rests on colour alone: what is idle is hollow, what is out of use is crossed, what is not known is
// hatched, and what is not healthy has a dot.
import { holderOf } from './model.js';
import { conditions, conditionWords, mib } from './words.js';

export const modes = { state: 'State', holder: 'Holder', health: 'Health', free: 'Free memory', planned: 'Planned memory', utilization: 'Utilization' };

const names = ['bg', 'surface', 'line', 'text', 'muted', 'accent', 'in-use', 'reserved', 'idle', 'out', 'unknown', 'good', 'warn', 'bad', 'numa', 'link', 'switch', 'free', 'planned', 'busy'];

// palette reads the colours of the theme that is in force.
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const p = Object.fromEntries(names.map((name) => [name, style.getPropertyValue('--' + name).trim()]));
  p.dark = style.getPropertyValue('--dark').trim() === '1';
  return p;
}

const byCondition = { InUse: 'in-use', Reserved: 'reserved', Idle: 'idle', OutOfUse: 'out', Unknown: 'unknown' };
const byHealth = { Healthy: 'good', Degraded: 'warn', Unhealthy: 'bad', Unknown: 'unknown' };

const hues = new Map();

// hueOf is the colour of a holder, the same as long as its name is.
export function hueOf(name, p) {
  let hue = hues.get(name);
  if (hue === undefined) {
    let hash = 2166136261;
    for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
    hues.set(name, (hue = ((hash >>> 0) * 137.508) % 360));
  }
  return `hsl(${hue.toFixed(0)} ${p.dark ? '36% 58%' : '40% 60%'})`;
}

// look says how a device is drawn: its colour, and how much of it is filled.
export function look(mode, device, slot, p) {
  const shape = { Idle: 'hollow', OutOfUse: 'crossed', Unknown: 'hatched' }[device.condition] ?? 'filled';
  switch (mode) {
    case 'holder': {
      const holder = holderOf(device);
      return holder ? { colour: hueOf(holder, p), shape: 'filled', share: 1 } : { colour: p[byCondition[device.condition]], shape, share: 1 };
    }
    case 'health':
      return { colour: p[byHealth[device.health ?? 'Healthy']], shape: (device.health ?? 'Healthy') === 'Unknown' ? 'hatched' : 'filled', share: 1 };
    case 'free':
      return level(device.freeMiB, slot.totalMiB, p.free, device.condition !== 'Unknown', p);
    case 'planned':
      return level(device.plannedMiB, slot.totalMiB, p.planned, device.condition !== 'Unknown', p);
    case 'utilization':
      return level(device.utilizationPercent, 100, p.busy, device.utilizationPercent !== undefined, p);
    default:
      return { colour: p[byCondition[device.condition]], shape, share: 1 };
  }
}

const level = (part, whole, colour, known, p) => known ? { colour, shape: 'level', share: whole ? (part ?? 0) / whole : 0 } : { colour: p.unknown, shape: 'hatched', share: 1 };

// legend is what the colours mean: a text and a sample each.
export function legend(mode, p) {
  const held = { InUse: 'filled', Reserved: 'filled', Idle: 'hollow', OutOfUse: 'crossed', Unknown: 'hatched' };
  switch (mode) {
    case 'holder': return [['a colour each', 'filled', p.accent], ...conditions.slice(2).map((c) => [conditionWords[c], held[c], p[byCondition[c]]])];
    case 'health': return Object.entries(byHealth).map(([name, key]) => [name.toLowerCase(), name === 'Unknown' ? 'hatched' : 'filled', p[key]]);
    case 'free': return [['filled as far as memory is free for a new plan', 'level', p.free], ['not known', 'hatched', p.unknown]];
    case 'planned': return [['filled as far as plans take the memory', 'level', p.planned], ['not known', 'hatched', p.unknown]];
    case 'utilization': return [['filled as far as the device computed when its agent looked', 'level', p.busy], ['not known', 'hatched', p.unknown]];
    default: return conditions.map((c) => [conditionWords[c], held[c], p[byCondition[c]]]);
  }
}

// about says of a device in words what its picture shows.
export function about(device, slot) {
  const text = [conditionWords[device.condition]];
  if (device.health) text.push(device.health.toLowerCase() + (device.reason ? ' (' + device.reason + ')' : ''));
  if (device.cordoned) text.push('cordoned');
  if (device.why) text.push(device.why);
  if (device.freeMiB) text.push(mib(device.freeMiB) + ' free');
  if (device.utilizationPercent !== undefined) text.push(device.utilizationPercent + ' % busy');
  return slot.id + ': ' + text.join(', ');
}
