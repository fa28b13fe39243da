import { describe, expect, it } from '@jest/globals';
import { BytesUnderWay } from './bytes-under-way.ts';
import { HeldEndpoint } from './held-endpoint.ts';
import type { DueDelivery } from './outcome.ts';

const mebibyte = 1_048_576;
const large = 'x'.repeat(900 * 1_024);

/** Creates an endpoint with a cap of ten attempts and `count` fetched deliveries. */
function endpointOf(accountId: string, envelope: string, count: number): HeldEndpoint {
  const held = new HeldEndpoint({ accountId, endpointId: crypto.randomUUID() }, 10);
  const rest = { run: 1, step: 0, isManual: false, sequence: 1, trace: null };
  held.ready = Array.from({ length: count }, (): DueDelivery => {
    return { id: crypto.randomUUID(), eventId: crypto.randomUUID(), envelope, ...rest };
  });
  return held;
}

/** Begins attempts of the endpoints in turn until none may begin; returns those in flight. */
function beginAll(endpoints: HeldEndpoint[], bytes: BytesUnderWay): [HeldEndpoint, DueDelivery][] {
  const begun: [HeldEndpoint, DueDelivery][] = [];
  for (let before = -1; before < begun.length; ) {
    before = begun.length;
    for (const held of endpoints) {
      const delivery = held.takeNext(bytes);
      if (delivery) begun.push([held, delivery]);
    }
  }
  return begun;
}

const sizeOf = (begun: [HeldEndpoint, DueDelivery][]) =>
  begun.reduce((sum, [, { envelope }]) => sum + envelope.length, 0);

describe('the bytes in flight', () => {
  it('are at most 8 MiB per account, however many endpoints it has', () => {
    const endpoints = Array.from({ length: 20 }, () => endpointOf('one', large, 20));
    const begun = beginAll(endpoints, new BytesUnderWay());
    expect([begun.length > 0, sizeOf(begun) <= 8 * mebibyte]).toEqual([true, true]);
  });

  it('do not limit events of usual size', () => {
    const endpoints = Array.from({ length: 20 }, () => endpointOf('one', 'x'.repeat(2_048), 20));
    expect(beginAll(endpoints, new BytesUnderWay())).toHaveLength(200);
  });

  it('let each account begin one delivery, however much others have in flight', () => {
    const bytes = new BytesUnderWay();
    const names = Array.from({ length: 40 }, (_, i) => `account ${i}`);
    beginAll(
      names.map((name) => endpointOf(name, large, 20)),
      bytes,
    );
    expect(beginAll([endpointOf('new', large, 20)], bytes)).toHaveLength(1);
  });

  it('let small deliveries always begin', () => {
    const bytes = new BytesUnderWay();
    const names = Array.from({ length: 40 }, (_, i) => `account ${i}`);
    beginAll(
      names.map((name) => endpointOf(name, large, 20)),
      bytes,
    );
    const [small, larger] = [4_096, 4_097].map((length) => endpointOf(`new ${length}`, 'x'.repeat(length), 20));
    expect(beginAll([small!], bytes)).toHaveLength(10);
    expect(beginAll([larger!], bytes)).toHaveLength(1);
    expect(beginAll([endpointOf('new 4096', large, 20)], bytes)).toHaveLength(1);
  });

  it('are freed when attempts end', () => {
    const bytes = new BytesUnderWay();
    const endpoints = Array.from({ length: 20 }, () => endpointOf('one', large, 20));
    let done = 0;
    for (let begun = beginAll(endpoints, bytes); begun.length > 0; begun = beginAll(endpoints, bytes)) {
      for (const [held, delivery] of begun) {
        held.ended(delivery, bytes);
        done++;
      }
    }
    expect(done).toBe(400);
  });
});

describe('fetched deliveries', () => {
  it('of an endpoint do not increase while a large event waits', () => {
    expect([0, 1].map((count) => endpointOf('one', large, count).wanted(10))).toEqual([40, 0]);
    expect(endpointOf('one', 'x'.repeat(2_048), 10).wanted(10)).toBe(40);
  });
});
