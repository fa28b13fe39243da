import type { Plan } from '@customer-platform/contracts/agents';
import { ApiError } from '@customer-platform/contracts/core';
import { jsonBytes } from '@customer-platform/service-kit';

/** Maximum bytes of a plan as JSON: an event has its steps twice, as they are and as they were, and stays below 900 KiB. */
export const maxPlanBytes = 409_600;
/** The same of an event's data, beside its envelope. */
const maxDataBytes = 900_000;

/** Throws invalid_request with this field if a change lets a plan grow beyond its maximum. */
export function checkPlanSize(former: Plan, plan: Plan, field: string): void {
  const bytes = jsonBytes(plan);
  if (bytes <= maxPlanBytes || bytes <= jsonBytes(former)) return;
  const message = `${field} must be shorter: with it the plan has ${bytes} bytes as JSON, and ${maxPlanBytes} are the most`;
  throw new ApiError('invalid_request', message, { field });
}

/** Returns the former values of a plan as an event has room for: without its steps where it is larger than plans may be now. */
export function previousWithin(plan: Plan, previous: Record<string, unknown>): Record<string, unknown> {
  if (!('steps' in previous) || jsonBytes({ plan, previous }) <= maxDataBytes) return previous;
  const { steps: _steps, ...others } = previous;
  return others;
}
