const units: [label: string, seconds: number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
];

/** Returns a duration in its largest unit, plus the next unit if the value is below 10: `4 min 12 s`, `3 h`, `0 s`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const index = units.findIndex(([, size]) => whole >= size);
  if (index === -1) return '0 s';
  const [label, size] = units[index]!;
  const count = Math.floor(whole / size);
  const next = units[index + 1];
  const rest = next ? Math.floor((whole - count * size) / next[1]) : 0;
  return next && count < 10 && rest > 0 ? `${count} ${label} ${rest} ${next[0]}` : `${count} ${label}`;
}

/** Tolerated difference in seconds between the clocks of the platform and the browser. */
const clockSkew = 5;

/** Returns a time relative to `now`, both in milliseconds: `12 s ago`, `in 3 h`. */
export function relativeTime(at: number, now: number): string {
  const seconds = Math.round((now - at) / 1_000);
  if (seconds <= 0 && seconds >= -clockSkew) return 'just now';
  const [label, size] = units.find(([, unit]) => Math.abs(seconds) >= unit)!;
  const count = Math.floor(Math.abs(seconds) / size);
  return seconds > 0 ? `${count} ${label} ago` : `in ${count} ${label}`;
}

/** Returns a span's duration: `0.42 ms`, `18 ms`, `1.24 s`, `2 min 3 s`. */
export function milliseconds(ms: number): string {
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(2)} s`;
  return duration(ms / 1_000);
}

const thousands = new Intl.NumberFormat('en-US');

/** Returns a number with thousands separators. */
export function count(value: number): string {
  return thousands.format(value);
}

/** Returns a number with its noun: `1 event`, `2 events`, `3 entries`. */
export function countOf(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Returns a rate limit: `600/min, burst 100`. */
export function rateText({ per_minute, burst }: { per_minute: number; burst: number }): string {
  return `${count(per_minute)}/min, burst ${count(burst)}`;
}

/** Returns a size in bytes, with at most one decimal: `812 B`, `1.4 KiB`. */
export function bytes(value: number): string {
  const sizes = ['B', 'KiB', 'MiB', 'GiB'];
  let size = value;
  let index = 0;
  while (size >= 1_024 && index < sizes.length - 1) {
    size /= 1_024;
    index++;
  }
  return `${index === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${sizes[index]}`;
}

/** Returns the end of an id. Ids begin with their time, so only their ends differ visibly. */
export function shortId(id: string): string {
  return id.length > 12 ? `…${id.slice(-8)}` : id;
}

/** Returns the creation time in milliseconds of a UUID version 7, from its first 48 bits. */
export function idTime(id: string): number {
  return Number.parseInt(id.slice(0, 13).replace('-', ''), 16);
}

/** Returns a text with a period at the end. */
export function sentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`;
}
