import { z } from 'zod';
import type { ServiceName } from './modules.ts';

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

const familyOwners: Readonly<Record<string, ServiceName>> = {
  appointment: 'calendar',
  audience: 'cdp',
  contact: 'cdp',
  deal: 'crm',
  knowledge: 'agents',
  message: 'messaging',
  order: 'catalogue',
  plan: 'agents',
  webhook: 'webhooks',
} satisfies Record<keyof Families, ServiceName>;

/** Returns the service that alone publishes a kind; undefined for a family that these contracts do not know. */
export function ownerOf(kind: string): ServiceName | undefined {
  const family = kind.split('.', 1)[0]!;
  return Object.hasOwn(familyOwners, family) ? familyOwners[family] : undefined;
}

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
