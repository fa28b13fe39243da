import { dayMs } from '@customer-platform/service-kit';

const httpDateForms = [
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^(Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday), \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
];
const asctimeForm = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * Returns the milliseconds that a Retry-After header asks for, at most a day. Accepts whole seconds, or an HTTP-date in
 * any of its three forms, relative to `nowMs`. Returns undefined if it is missing, invalid, zero or past.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  let waitMs = Number.NaN;
  if (/^\d+$/.test(text)) waitMs = Number(text) * 1000;
  else if (httpDateForms.some((form) => form.test(text))) waitMs = Date.parse(text) - nowMs;
  else if (asctimeForm.test(text)) waitMs = Date.parse(`${text} GMT`) - nowMs;
  return waitMs > 0 ? Math.min(waitMs, dayMs) : undefined;
}
