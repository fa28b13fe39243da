import type { Envelope } from '@customer-platform/contracts/core';
import * as contract from '@customer-platform/contracts/webhooks';
import { readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { findEvent, selectEvents } from './events.sql.ts';

export const listEvents = implement(contract.listEvents, {
  async handle({ account, query, tx, now, resources }) {
    const { type } = query;
    const oldest = oldestShown(now, resources.retention);
    return await readPage(query, {
      position: uuidPosition((id) => findEvent(tx, account.id, id, oldest)),
      rows: (after, limit) => selectEvents(tx, account.id, { type, after, oldest }, limit),
      bytes: (row) => row.bytes,
      item: (row) => JSON.parse(row.envelope) as Envelope<Record<string, unknown>>,
      cursor: 'id',
    });
  },
});
