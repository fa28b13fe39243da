import { z } from 'zod';

const kindsByFamily = {
  appointment: ['booked', 'rescheduled', 'updated', 'confirmed', 'completed', 'cancelled', 'no_show'],
  audience: ['ready', 'failed', 'entered', 'left'],
  contact: ['created', 'updated', 'merged'],
  deal: ['created', 'updated', 'stage_changed', 'won', 'lost', 'reopened'],
  knowledge: ['ready', 'failed'],
  message: ['sent', 'delivered', 'read', 'failed', 'received'],
  order: ['created', 'confirmed', 'declined', 'fulfilled', 'cancelled'],
  plan: ['awaiting_approval', 'approved', 'rejected', 'expired', 'completed', 'failed'],
  webhook: ['test', 'disabled'],
} as const;
type Families = typeof kindsByFamily;

/** The kinds of public events: what endpoints can ask for, whether or not the module behind it is there yet. */
export type PublicKind = { [Family in keyof Families]: `${Family}.${Families[Family][number]}` }[keyof Families];

export const publicKinds = Object.entries(kindsByFamily).flatMap(([family, names]) =>
  names.map((name) => `${family}.${name}`),
) as PublicKind[];

/** A kind of public event, as filters take it. */
export const publicKind = z.enum(publicKinds, {
  error: (issue) =>
    `must be a kind of event such as order.declined, of GET /v1/events/kinds, not ${shown(issue.input)}`,
});

const families = Object.keys(kindsByFamily).map((family) => `${family}.*`);

/** What an endpoint asks for: a kind, a family such as `order.*`, or `*`. */
export const eventFilter = z.enum(['*', ...families, ...publicKinds], {
  error: (issue) =>
    `must be a kind of event such as order.declined, a family such as order.*, or *, not ${shown(issue.input)}`,
});

function shown(input: unknown): string {
  return typeof input === 'string' ? `"${input.slice(0, 100)}"` : typeof input;
}
