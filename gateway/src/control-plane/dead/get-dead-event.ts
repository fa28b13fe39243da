import { isUtf8 } from 'node:buffer';
import { adminOperations } from '@customer-platform/contracts/accounts';
import type { DeadRecord } from '@customer-platform/contracts/core';
import { implement } from '../admin-operation.ts';
import type { Place, Services } from '../services.ts';
import { findDeadEvent, noSuchDeadEvent, toDeadEvent } from './find-dead-event.ts';

/** Retrieves a dead event with its bytes. */
export const getDeadEvent = implement(adminOperations.getDeadEvent, {
  find: ({ params, resources: { services } }) => findDeadEvent(services, params.dead_id),
  async handle({ found: { place, dead }, resources: { cells, services } }) {
    const { headers, ...record } = dead;
    const bytes = await readBytes(services, place, record);
    const text = isUtf8(bytes) ? bytes.toString('utf8') : null;
    return {
      ...cells.shown({ ...toDeadEvent(place.service, record), cell: place.cell }),
      bytes: bytes.toString('base64'),
      text,
      headers,
    };
  },
});

/** Reads the bytes of a dead event, one part after the other: a reply is a message of the bus, which the event may be too large for. */
async function readBytes(services: Services, place: Place, { id, sizeBytes }: DeadRecord): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let offset = 0; offset < sizeBytes; ) {
    const part = Buffer.from((await services.ask(place, 'readDeadBytes', { id, offset })).bytes, 'base64');
    if (part.length === 0) throw noSuchDeadEvent();
    parts.push(part);
    offset += part.length;
  }
  return Buffer.concat(parts);
}
