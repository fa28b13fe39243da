import { events } from '@customer-platform/contracts';
import { envelopeOf } from '@customer-platform/contracts/core';
import * as contract from '@customer-platform/contracts/webhooks';
import { z } from 'zod';
import { implement } from '../implement.ts';

const publicEvents = events.filter((event) => event.audience === 'public');

/** Computed once: contracts do not change while a process runs. */
const kinds = publicEvents
  .map(({ kind, data }) => ({ kind, schema: z.toJSONSchema(envelopeOf(kind, data), { unrepresentable: 'any' }) }))
  .sort((a, b) => (a.kind < b.kind ? -1 : 1)) as { kind: string; schema: Record<string, unknown> }[];

export const listEventKinds = implement(contract.listEventKinds, {
  handle: async () => ({ data: kinds }),
});
