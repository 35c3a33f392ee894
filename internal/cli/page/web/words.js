// Amounts for people, as the plugin prints them in a terminal.

// Made once: a browser takes longer to make one than to draw the fleet.
const plain = new Intl.NumberFormat('en-US', { useGrouping: false, maximumFractionDigits: 20 });
const days = new Intl.DateTimeFormat('sv-SE'), times = new Intl.DateTimeFormat('sv-SE', { timeStyle: 'medium' });

export function mib(n) {
  if (n >= 2 ** 20) return (n / 2 ** 20).toFixed(1) + ' TiB';
  if (n >= 2 ** 10) return (n / 2 ** 10).toFixed(1) + ' GiB';
  return n + ' MiB';
}

export const bytes = (n) => mib(Math.ceil(n / 2 ** 20));

export const usd = (micro) => (micro / 1e6).toFixed(2);

export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ',');

export const billions = (n) => (n / 1e9).toFixed(1) + 'B';

export function counted(n, noun) {
  if (n === 1) return '1 ' + noun;
  return grouped(n) + ' ' + (noun.endsWith('y') ? noun.slice(0, -1) + 'ies' : noun + 's');
}

// digits an estimate deserves by its range.
export const digits = (low, high) => (low > 0 && high >= 1.2 * 1.2 * 0.9999 * low ? 2 : 3);

export function figure(value, significant) {
  if (value === 0) return '0';
  const rounded = Number(value.toExponential(significant - 1));
  return rounded >= 1e21 ? String(rounded) : plain.format(rounded);
}

export function rate(mbps) {
  for (const [prefix, size] of [['T', 1e6], ['G', 1e3], ['M', 1]]) if (mbps >= size * 0.9995) return three(mbps / size) + ' ' + prefix + 'B/s';
  return three(mbps * 1e3) + ' kB/s';
}

function three(value) {
  if (value >= 1000) return value.toFixed(0);
  return String(Number(value.toPrecision(3)));
}

// age is a time in milliseconds, in the largest unit of which there are two.
export function age(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  for (const [unit, size] of [['h', 3600], ['min', 60]]) if (seconds >= 2 * size) return Math.floor(seconds / size) + ' ' + unit;
  return seconds + ' s';
}

// moment is a time of day, with its date where that is not today's.
export function moment(time) {
  const at = new Date(time), day = days.format(at);
  return (day === days.format(new Date()) ? '' : day + ' ') + times.format(at);
}

export const conditionWords = { InUse: 'in use', Reserved: 'reserved', Idle: 'idle', OutOfUse: 'out of use', Unknown: 'not known to be free' };
export const conditions = Object.keys(conditionWords);
