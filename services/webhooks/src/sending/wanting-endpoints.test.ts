import { expect, it } from '@jest/globals';
import { HeldEndpoint } from './held-endpoint.ts';
import type { DueDelivery } from './outcome.ts';
import { dry } from './queue-phase.ts';
import { wantingEndpoints } from './wanting-endpoints.ts';

const delivery: DueDelivery = {
  id: 'd',
  eventId: 'e',
  envelope: '{}',
  run: 1,
  step: 0,
  isManual: false,
  sequence: 1,
  trace: null,
};

/** Creates endpoints of an account with a cap of ten attempts, and the given numbers in flight and fetched. */
function endpointsOf(accountId: string, count: number, [inFlight, ready]: [number, number]): HeldEndpoint[] {
  return Array.from({ length: count }, (_, i) => {
    const held = new HeldEndpoint({ accountId, endpointId: `${accountId} ${i}` }, 10);
    held.ready = Array(ready).fill(delivery);
    held.inFlight = inFlight;
    return held;
  });
}

const fetched = (all: HeldEndpoint[]) => wantingEndpoints(all, (held) => held.canStart(), 10).length;

it('are all below their limits while few attempts can begin, however many deliveries wait', () => {
  expect(
    fetched([
      ...endpointsOf('few', 3, [9, 10]),
      ...endpointsOf('many', 40, [8, 500]),
      ...endpointsOf('new', 1, [0, 0]),
    ]),
  ).toBe(4);
});

it('are only those of accounts with nothing fetched while many attempts can begin', () => {
  const many = Array.from({ length: 20 }, (_, i) => endpointsOf(`many ${i}`, 10, [0, 10])).flat();
  expect(fetched([...many.slice(10), ...endpointsOf('new', 1, [0, 0])])).toBe(191);
  expect(fetched([...many, ...endpointsOf('new', 2, [0, 0])])).toBe(2);
  expect(fetched([...many, ...endpointsOf('hangs', 1, [10, 30]), ...endpointsOf('hangs', 1, [0, 0])])).toBe(1);
});

it('are only those of accounts with little fetched while much is fetched that cannot start', () => {
  const large = { ...delivery, envelope: 'x'.repeat(120_000) };
  const hanging = (count: number) => {
    const all = Array.from({ length: count }, (_, i) => endpointsOf(`hangs ${i}`, 20, [10, 1])).flat();
    for (const held of all) held.ready = [large];
    return all;
  };
  const one = endpointsOf('one of its own hangs', 2, [10, 1]);
  one[0]!.ready = [large];
  expect(fetched([...hanging(13), ...one])).toBe(262);
  expect(fetched([...hanging(14), ...one])).toBe(2);
});

it('new deliveries are read if they are more than one read fetches', () => {
  const [held] = endpointsOf('any', 1, [0, 0]) as [HeldEndpoint];
  for (const [count, isTaken] of [
    [41, false],
    [40, true],
  ] as const) {
    held.version = 1;
    held.queue = dry({ version: 1, laterAt: null });
    expect(held.acceptCreated(Array(count).fill(delivery), { version: 2, endpointVersion: 1 })).toBe(isTaken);
  }
});
