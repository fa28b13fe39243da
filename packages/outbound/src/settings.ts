import { z } from 'zod';
import { parseAddressRanges } from './address-ranges.ts';

/** Returns the schema of a setting that `parse` reads; its errors are reported at start. */
export function parsed<Value>(parse: (text: string) => Value) {
  return z.string().transform((text, context) => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
      return z.NEVER;
    }
  });
}

/** WEBHOOKS_ALLOWED_RANGES: one setting for everything that calls addresses of customers. */
export const allowedRangesSetting = parsed(parseAddressRanges)
  .default([])
  .meta({ description: 'Private ranges that targets may be in, such as 10.1.0.0/16; there http is allowed too.' });
