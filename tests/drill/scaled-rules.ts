/** One minute in the rules is half a second in a drill. */
export const factor = 120;

/** Metrics that are ages in seconds. */
const isAge = /queue_lag|failing_longest/;

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Returns rules with every duration divided: `for`, windows in brackets, and thresholds of metrics that are ages in seconds.
 * Shares and counts stay as they are.
 */
export function scaleRules(rules: string, by = factor): string {
  const scaled = (amount: string, unit: string) => `${Math.round((Number(amount) * unitMs[unit]!) / by)}ms`;
  return rules
    .replaceAll(
      /(\bfor: )(\d+)([smhd])\b/g,
      (_, before: string, amount: string, unit: string) => before + scaled(amount, unit),
    )
    .replaceAll(/\[(\d+)([smhd])\]/g, (_, amount: string, unit: string) => `[${scaled(amount, unit)}]`)
    .split('\n')
    .map((line) =>
      isAge.test(line) ? line.replace(/> (\d+)$/, (_, seconds: string) => `> ${Number(seconds) / by}`) : line,
    )
    .join('\n');
}
