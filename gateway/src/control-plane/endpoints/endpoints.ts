import { adminOperations } from '@customer-platform/contracts/accounts';
import { ApiError } from '@customer-platform/contracts/core';
import {
  type AnyEndpoint,
  enableAnyEndpoint,
  findAnyEndpoint,
  listAllEndpoints,
  replayAnyEndpoint,
} from '@customer-platform/contracts/webhooks';
import { type Bus, noAccount } from '@customer-platform/service-kit';
import { recordAround } from '../../audit/record-change.ts';
import { implement } from '../admin-operation.ts';
import { toTimestamp } from '../queues/queue-shape.ts';
import { changeMs, replyMs, throwRefusal } from '../services.ts';
import { toOperatedEndpoint } from './endpoint-shape.ts';

/** Returns an endpoint with its last deliveries. */
export const getEndpoint = implement(adminOperations.getEndpoint, {
  find: async ({ params, resources: { bus } }) =>
    (await bus.ask(findAnyEndpoint, noAccount, { endpoint: params.endpoint_id }, replyMs)) ?? undefined,
  async handle({ found: { endpoint, deliveries } }) {
    const { description, events } = endpoint;
    return {
      ...toOperatedEndpoint(endpoint),
      description,
      events,
      deliveries: deliveries.map((delivery) => ({ ...delivery, at: toTimestamp(delivery.at) })),
    };
  },
});

/** Enables a disabled endpoint, as its customer can. */
export const enableEndpoint = implement(adminOperations.enableEndpoint, {
  find: async ({ params, prefetch, resources: { bus } }) => prefetch(() => findEndpoint(bus, params.endpoint_id)),
  async handle({ found: { id, account }, body: { reason }, prefetch, resources: { bus } }) {
    const changed = { action: 'endpoints.enable', target: `endpoints/${id}`, account, reason } as const;
    prefetch((call) =>
      recordAround(call, changed, async () => {
        const enabled = await bus.ask(enableAnyEndpoint, account, { endpoint: id }, changeMs);
        if (!enabled) throw noSuchEndpoint(id);
        const { matched, disabled_reason } = enabled;
        const before = { active: false, disabled_reason };
        return { isChanged: matched > 0, result: undefined, before, after: { active: true } };
      }),
    );
    return undefined;
  },
});

/** Replays the events that an endpoint missed since a time, as its customer can. */
export const replayEndpoint = implement(adminOperations.replayEndpoint, {
  find: async ({ params, prefetch, resources: { bus } }) => prefetch(() => findEndpoint(bus, params.endpoint_id)),
  async handle({ found: { id, account }, body, prefetch, resources: { bus } }) {
    const since = body.since.toISOString();
    const changed = { action: 'endpoints.replay', target: `endpoints/${id}`, account, reason: body.reason } as const;
    const matched = prefetch((call) =>
      recordAround(call, changed, async () => {
        const replay = await bus.ask(replayAnyEndpoint, account, { endpoint: id, since }, changeMs);
        if (!replay) throw noSuchEndpoint(id);
        throwRefusal(replay.refusal);
        return { isChanged: replay.matched > 0, result: replay.matched, after: { since, matched: replay.matched } };
      }),
    );
    return { matched };
  },
});

async function findEndpoint(bus: Bus, endpoint: string): Promise<AnyEndpoint | undefined> {
  const found = await bus.ask(listAllEndpoints, noAccount, { endpoint, limit: 1 }, replyMs);
  return found?.endpoints[0];
}

/** The error for an endpoint that was deleted meanwhile. */
const noSuchEndpoint = (id: string) => new ApiError('not_found', `There is no endpoint ${id}`);
