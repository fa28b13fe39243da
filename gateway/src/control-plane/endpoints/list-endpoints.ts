import { adminOperations } from '@customer-platform/contracts/accounts';
import type { ServiceName } from '@customer-platform/contracts/core';
import { type AnyEndpoint, listAllEndpoints } from '@customer-platform/contracts/webhooks';
import { applyPatch, type Bus, fewBytes, readPage, uuidCursor } from '@customer-platform/service-kit';
import type { z } from 'zod';
import { implement } from '../admin-operation.ts';
import { askOrGone, gone as goneRefusal } from '../services.ts';
import { toOperatedEndpoint } from './endpoint-shape.ts';

/** Time for webhooks to reply before it counts as gone: it counts pending deliveries. Shorter than the timeout of the CLI's live view. */
const timeoutMs = 4_000;

type Input = z.input<typeof listAllEndpoints.input>;

/** Lists the endpoints of all accounts, longest failing first. The list is empty if webhooks is gone. */
export const listEndpoints = implement(adminOperations.listEndpoints, {
  async handle({ query, resources: { bus } }) {
    const { failing, url, account, endpoint } = query;
    const filter = applyPatch<Partial<Input>>({}, { failing, url, account, endpoint });
    let gone: ServiceName[] = [];
    const page = await readPage(query, {
      async position(cursor) {
        const endpoints = await ask(bus, { endpoint: uuidCursor(cursor), limit: 1 });
        if (!endpoints) throw goneRefusal('webhooks');
        return endpoints[0]?.id;
      },
      async rows(after, limit) {
        const endpoints = await ask(bus, { ...filter, ...(after && { after }), limit });
        // An empty later page would look like the end of the list.
        if (after && !endpoints) throw goneRefusal('webhooks');
        if (!endpoints) gone = ['webhooks'];
        return endpoints ?? [];
      },
      bytes: fewBytes,
      item: toOperatedEndpoint,
      cursor: 'id',
    });
    return { ...page, gone };
  },
});

/** Returns endpoints as webhooks lists them, or undefined if it does not reply. */
async function ask(bus: Bus, input: Input): Promise<AnyEndpoint[] | undefined> {
  const reply = await askOrGone(bus, listAllEndpoints, input, timeoutMs);
  return reply === undefined ? undefined : (reply?.endpoints ?? []);
}
