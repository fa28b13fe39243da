/** One measured figure, held against its target where it has one. */
export interface Figure {
  what: string;
  measured: string;
  target: string;
  /** Undefined where there is no target, or nothing could be measured. */
  holds: boolean | undefined;
}

/** A bench: measures within 90 s (lists: 180 s, messages: 600 s) and returns its figures in the order in which they are shown. */
export interface Bench {
  name: string;
  summary: string;
  measure(): Promise<Figure[]>;
}

/** A figure that must be at most `most`; both in `unit`. */
export function atMost(what: string, value: number, most: number, unit = ''): Figure {
  return { what, measured: shown(value, unit), target: `≤ ${shown(most, unit)}`, holds: value <= most };
}

/** A figure that must be at least `least`; both in `unit`. */
export function atLeast(what: string, value: number, least: number, unit = ''): Figure {
  return { what, measured: shown(value, unit), target: `≥ ${shown(least, unit)}`, holds: value >= least };
}

/** A figure that must be what it says. */
export function exactly(what: string, measured: string, target: string): Figure {
  return { what, measured, target, holds: measured === target };
}

/** A figure for information: others are made of it. */
export function told(what: string, value: number | string, unit = ''): Figure {
  return { what, measured: typeof value === 'number' ? shown(value, unit) : value, target: '', holds: undefined };
}

/** The middle value; the mean of the two middle ones of an even number. Throws where there are none. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('there is no median of no values');
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The value that `share` (0 to 1) of the values do not exceed, by nearest rank. Throws where there are none. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new Error('there is no percentile of no values');
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!;
}

/** The figures as lines of a Markdown table without its head. */
export function tableLines(figures: readonly Figure[]): string[] {
  return figures.map(({ what, measured, target, holds }) => {
    const verdict = holds === undefined ? '' : holds ? 'yes' : '**no**';
    return `| ${what} | ${measured} | ${target} | ${verdict} |`;
  });
}

function shown(value: number, unit: string): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString('en-GB', { maximumFractionDigits: digits });
  return unit === '' ? text : `${text} ${unit}`;
}
