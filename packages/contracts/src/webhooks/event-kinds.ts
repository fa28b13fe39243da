import { z } from 'zod';
import * as accountEvents from '../accounts/events.ts';
import * as agentEvents from '../agents/events.ts';
import * as calendarEvents from '../calendar/events.ts';
import * as catalogueEvents from '../catalogue/events.ts';
import * as cdpEvents from '../cdp/events.ts';
import type { EventDefinition } from '../core/event.ts';
import { isEvent } from '../core/operation.ts';
import * as crmEvents from '../crm/events.ts';
import * as messagingEvents from '../messaging/events.ts';
import * as webhookEvents from './events.ts';

/** Every event by export name, public and internal. */
export const eventsByName = {
  ...accountEvents,
  ...agentEvents,
  ...cdpEvents,
  ...calendarEvents,
  ...catalogueEvents,
  ...crmEvents,
  ...messagingEvents,
  ...webhookEvents,
};
type PublicKind = Extract<(typeof eventsByName)[keyof typeof eventsByName], { audience: 'public' }>['kind'];

const publicKinds = Object.values<unknown>(eventsByName)
  .filter((one) => isEvent(one) && one.audience === 'public')
  .map((event) => (event as EventDefinition<PublicKind>).kind)
  .toSorted();
const families = [...new Set(publicKinds.map((kind) => `${kind.split('.', 1)[0]}.*`))];

/** A kind of public event, for filters. */
export const publicKind = z.enum(publicKinds, {
  error: (issue) =>
    `must be an event kind from GET /v1/events/kinds, such as order.declined, not ${shown(issue.input)}`,
});

/** Subscription of an endpoint: a kind, a family such as `order.*`, or `*`. */
export const eventFilter = z.enum(['*', ...families, ...publicKinds], {
  error: (issue) =>
    `must be an event kind such as order.declined, a family such as order.*, or *, not ${shown(issue.input)}`,
});

/** One or more kinds and families, separated by commas. */
export const eventFilters = z
  .string()
  .max(10_000)
  .transform((list) => list.split(','))
  .pipe(z.array(eventFilter).max(200));

function shown(input: unknown): string {
  return typeof input === 'string' ? `"${input.slice(0, 100)}"` : typeof input;
}
