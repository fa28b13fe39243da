import type { Plan } from '@customer-platform/contracts/agents';
import { ApiError } from '@customer-platform/contracts/core';
import { jsonBytes } from '@customer-platform/service-kit';

/** Maximum bytes of a plan as JSON. An event contains the steps twice, current and previous, and must stay below 900 KiB. */
export const maxPlanBytes = 409_600;
/** Maximum bytes of an event's data, without its envelope. */
const maxDataBytes = 900_000;

/** Throws invalid_request, field `field`, if a change makes a plan grow beyond its maximum. */
export function checkPlanSize(former: Plan, plan: Plan, field: string): void {
  const bytes = jsonBytes(plan);
  if (bytes <= maxPlanBytes || bytes <= jsonBytes(former)) return;
  const message = `${field} must be shorter: the plan would have ${bytes} bytes as JSON, and at most ${maxPlanBytes} are allowed`;
  throw new ApiError('invalid_request', message, { field });
}

/** Returns a plan's previous values, without its steps if the event would exceed its maximum. Older plans may be that large. */
export function previousWithin(plan: Plan, previous: Record<string, unknown>): Record<string, unknown> {
  if (!('steps' in previous) || jsonBytes({ plan, previous }) <= maxDataBytes) return previous;
  const { steps: _steps, ...others } = previous;
  return others;
}
