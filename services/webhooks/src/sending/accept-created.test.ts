import { randomUUID, randomUUIDv7 } from 'node:crypto';
import type { ReceivedEvent } from '@customer-platform/service-kit';
import { expect, it } from '@jest/globals';
import { acceptCreated } from './accept-created.ts';
import type { HeldEndpoint } from './held-endpoint.ts';
import type { DueDelivery } from './outcome.ts';

it('a delivery has the text of the recorded event: the first of its account with that id', () => {
  const [account, other, id, endpointId] = [randomUUID(), randomUUID(), randomUUIDv7(), randomUUID()];
  const event = (of: string, text: string) => ({ account: of, id: id.toUpperCase(), text }) as ReceivedEvent;
  const made = {
    accountId: account,
    endpointId,
    id: randomUUIDv7(),
    eventId: id,
    sequence: 1,
    version: 1,
    endpointVersion: 1,
  };
  const taken: DueDelivery[] = [];
  const held = { acceptCreated: (due: DueDelivery[]) => taken.push(...due) > 0 } as unknown as HeldEndpoint;
  const events = [event(other, 'of another'), event(account, 'real'), event(account, 'forged'), event(other, 'forged')];
  expect(acceptCreated([made], events, { ofRealTime: () => held })).toEqual({ taken: [held], hasAll: true });
  expect(taken.map(({ envelope }) => envelope)).toEqual(['real']);
});
