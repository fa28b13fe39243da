import { events } from '@customer-platform/contracts';
import type { Envelope } from '@customer-platform/contracts/core';
import { exampleOfEvent } from '@customer-platform/contracts/examples';
import * as contract from '@customer-platform/contracts/webhooks';
import { outboxRow } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { takeEvents } from './events.sql.ts';

const notInLive = 'Example events are for the sandbox: use a test key, cp_test_…';

/** Records an example here alone: on the bus other modules would take it for what has happened. */
export const triggerEvent = implement(contract.triggerEvent, {
  async handle({ account, body, tx, now, fail }) {
    if (account.mode === 'live') return fail('not_found', notInLive);
    const definition = events.find(({ kind }) => kind === body.type)!;
    const { envelope, trace } = outboxRow(definition, account, exampleOfEvent(body.type), now);
    const event = JSON.parse(envelope) as Envelope<Record<string, unknown>>;
    await takeEvents(tx, [{ ...event, sequence: 0, text: envelope, trace: trace ?? undefined }], now, now);
    return event;
  },
  committed({ dispatcher, feed }, account) {
    dispatcher.wake();
    feed.recorded(new Set([account.id]));
  },
});
