import { events } from '@customer-platform/contracts';
import { ApiError, type Envelope, type EventDefinition } from '@customer-platform/contracts/core';
import { exampleOfEvent } from '@customer-platform/contracts/examples';
import * as contract from '@customer-platform/contracts/webhooks';
import { fieldParser, outboxRow } from '@customer-platform/service-kit';
import type { z } from 'zod';
import { implement } from '../implement.ts';
import { takeEvents } from './events.sql.ts';

const notInLive = 'Example events are for the sandbox: use a test key, cp_test_…';

/** Records the example only here, because other services would treat it as real if it were on the bus. */
export const triggerEvent = implement(contract.triggerEvent, {
  async handle({ account, body, tx, now, fail }) {
    if (account.mode === 'live') return fail('not_found', notInLive);
    const definition = events.find(({ kind, audience }) => kind === body.type && audience === 'public')!;
    const { envelope, trace } = outboxRow(definition, account, dataOf(definition, body.data), now);
    const event = JSON.parse(envelope) as Envelope<Record<string, unknown>>;
    await takeEvents(tx, [{ ...event, sequence: 0, text: envelope, trace: trace ?? undefined }], now, now);
    return event;
  },
  committed({ dispatcher, feed }, account) {
    dispatcher.wake();
    feed.recorded(new Set([account.id]));
  },
});

type Data = Record<string, unknown>;

/**
 * Returns the example of a kind with the given values. A given object is merged into the example's
 * object; any other value replaces the example's. Throws `invalid_request`.
 */
function dataOf({ kind, data }: EventDefinition, given: Data | undefined): unknown {
  const example = exampleOfEvent(kind) as Data;
  if (!given) return example;
  const known = Object.keys((data as z.ZodObject).shape);
  const other = Object.keys(given).find((name) => !known.includes(name));
  if (other !== undefined) {
    const message = `data.${other} is not a field of ${kind}, which has ${known.join(', ')}`;
    throw new ApiError('invalid_request', message, { field: 'data' });
  }
  const values = Object.entries(given).map(([name, value]) => {
    const before = example[name];
    return [name, isObject(before) && isObject(value) ? { ...before, ...value } : value];
  });
  return fieldParser(data, 'data')({ ...example, ...Object.fromEntries(values) });
}

function isObject(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
