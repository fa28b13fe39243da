/** Measured figure, compared with its target if it has one. */
export interface Figure {
  what: string;
  measured: string;
  target: string;
  /** True if the target is met; undefined if there is none, or nothing could be measured. */
  holds: boolean | undefined;
}

/** Benchmark: measures and returns its figures in display order. Everything it starts is stopped when it ends: see harness.ts. */
export interface Bench {
  name: string;
  summary: string;
  /** Duration in minutes if it is long: such a benchmark runs only when it is named. */
  takesMinutes?: number;
  /** `beside` names the subjects to compare with, in alternating rounds, if the benchmark supports that. */
  measure(beside?: readonly string[]): Promise<Figure[]>;
}

/** Returns a figure that must be at most `most`; both in `unit`. */
export function atMost(what: string, value: number, most: number, unit = ''): Figure {
  return { what, measured: shown(value, unit), target: `≤ ${shown(most, unit)}`, holds: value <= most };
}

/** Returns a figure that must be at least `least`; both in `unit`. */
export function atLeast(what: string, value: number, least: number, unit = ''): Figure {
  return { what, measured: shown(value, unit), target: `≥ ${shown(least, unit)}`, holds: value >= least };
}

/** Returns a figure that must equal `target`. */
export function exactly(what: string, measured: string, target: string): Figure {
  return { what, measured, target, holds: measured === target };
}

/** Returns a figure without a target. */
export function told(what: string, value: number | string, unit = ''): Figure {
  return { what, measured: typeof value === 'number' ? shown(value, unit) : value, target: '', holds: undefined };
}

/** Returns the median; for an even number, the mean of the two middle values. Throws if there are none. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('the median of no values is undefined');
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Returns the percentile `share` (0 to 1) by nearest rank. Throws if there are no values. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new Error('the percentile of no values is undefined');
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!;
}

/** Returns the figures as rows of a Markdown table, without its head. */
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
