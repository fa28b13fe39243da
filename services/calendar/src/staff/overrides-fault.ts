import { jsonBytes } from '@customer-platform/service-kit';

const maxDates = 1_000;
/** Bytes of the overrides of a teammate as JSON, enough for two ranges on each of a thousand dates: each list of the team and each booking reads those of all. */
const maxBytes = 65_536;

/** Returns what is wrong with a teammate's overrides; undefined if nothing is. Those that are too large already may become smaller. */
export function overridesFault(overrides: object, before: object = {}): string | undefined {
  if (Object.keys(overrides).length > maxDates) {
    return `overrides must have at most ${maxDates} dates; remove past ones with null`;
  }
  const bytes = jsonBytes(overrides);
  if (bytes <= maxBytes || bytes < jsonBytes(before)) return undefined;
  return `overrides must have at most ${maxBytes} bytes of JSON in all, not ${bytes}; remove past dates with null`;
}
