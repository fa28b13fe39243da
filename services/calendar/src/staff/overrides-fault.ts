import { jsonBytes } from '@customer-platform/service-kit';

const maxDates = 1_000;
/** Limit in bytes of JSON, enough for two ranges on 1,000 dates. Listing the team returns all overrides, and each booking searches them. */
const maxBytes = 65_536;

/** Returns an error message for invalid overrides; otherwise undefined. Overrides that already exceed the limit may become smaller. */
export function overridesFault(overrides: object, before: object = {}): string | undefined {
  if (Object.keys(overrides).length > maxDates) {
    return `overrides must have at most ${maxDates} dates; remove past ones with null`;
  }
  const bytes = jsonBytes(overrides);
  if (bytes <= maxBytes || bytes < jsonBytes(before)) return undefined;
  return `overrides must have at most ${maxBytes} bytes of JSON in all, not ${bytes}; remove past dates with null`;
}
