import type { AudienceRules } from '@customer-platform/contracts/cdp';
import { ApiError } from '@customer-platform/contracts/core';

/** Bytes of JSON: an audience's events have its rules, and stay below 900 KiB. */
const maxRulesBytes = 262_144;

/** Throws invalid_request with field rules if they exceed 256 KiB of JSON. */
export function checkRulesSize(rules: AudienceRules): void {
  const bytes = Buffer.byteLength(JSON.stringify(rules));
  if (bytes <= maxRulesBytes) return;
  throw new ApiError('invalid_request', `rules must be at most ${maxRulesBytes} bytes as JSON; they are ${bytes}`, {
    field: 'rules',
  });
}
