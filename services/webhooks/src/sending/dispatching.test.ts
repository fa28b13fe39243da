import type { PostResult, SecretKeys } from '@customer-platform/outbound';
import type { RunEnd } from '@customer-platform/service-kit';
import { describe, expect, it } from '@jest/globals';
import { acceptCreated } from './accept-created.ts';
import { BytesUnderWay } from './bytes-under-way.ts';
import { FairQueue } from './fair-queue.ts';
import { adaptedCap, HeldEndpoint } from './held-endpoint.ts';
import { type DueDelivery, type EndReason, failureText, outcomeOf, type TryOutcome } from './outcome.ts';
import { newsOf } from './outcome-writer.ts';
import { dry, unread } from './queue-phase.ts';

const dayMs = 86_400_000;
const at = new Date('2026-11-21T03:00:00Z');
const endedAt = new Date('2026-11-21T03:00:01Z');
const due: DueDelivery = {
  id: 'd',
  eventId: 'e',
  run: 0,
  step: 0,
  isManual: false,
  envelope: '{}',
  sequence: 1,
  trace: null,
};

type Change = { step?: number; failingSince?: Date | null; isFormer?: boolean; endReason?: EndReason };

function outcome(result: Partial<PostResult>, change: Change = {}): TryOutcome {
  const { step = 0, failingSince = null, isFormer = false, endReason } = change;
  const context = { accountId: 'a', endpointId: 'p', url: 'u', at, endedAt, schedule: [0, 1000, 5000], random: 0 };
  return outcomeOf(
    { ...due, step },
    { body: '', durationMs: 5, ...result },
    { ...context, failingSince, isFormer, endReason },
  );
}

const anyAccount = () => true;

describe('FairQueue', () => {
  it('gives turns to accounts in rotation, and within an account to its endpoints', () => {
    const queue = new FairQueue<{ accountId: string; name: string }>();
    const items = ['a1', 'a2', 'a3', 'b1', 'c1', 'c2'].map((name) => ({ accountId: name[0]!, name }));
    for (const item of items) queue.add(item);
    const turns: string[] = [];
    for (let i = 0; i < 9; i++) {
      const item = queue.next(() => true)!;
      turns.push(item.name);
      queue.add(item);
    }
    expect(turns).toEqual(['a1', 'b1', 'c1', 'a2', 'b1', 'c2', 'a3', 'b1', 'c1']);
  });

  it('gives no turn to removed items or to items taken and not added again', () => {
    const queue = new FairQueue<{ accountId: string }>();
    const [one, two, three] = [{ accountId: 'a' }, { accountId: 'a' }, { accountId: 'b' }];
    for (const item of [one, two, three, two]) queue.add(item);
    queue.remove(one);
    queue.remove(three);
    queue.remove(three);
    expect([queue.next(anyAccount), queue.next(anyAccount)]).toEqual([two, undefined]);
  });

  it('checks an account that may not take its turn only once until it is put back', () => {
    const queue = new FairQueue<{ accountId: string }>();
    const [one, two, three] = [{ accountId: 'a' }, { accountId: 'b' }, { accountId: 'c' }];
    for (const item of [one, two, three]) queue.add(item);
    const asked: string[] = [];
    const mayTake = (accountId: string) => {
      asked.push(accountId);
      return accountId !== 'a';
    };
    expect([queue.next(mayTake), queue.next(mayTake), queue.next(mayTake)]).toEqual([two, three, undefined]);
    queue.add({ accountId: 'a' });
    expect([queue.next(mayTake), asked]).toEqual([undefined, ['a', 'b', 'c']]);
    queue.putBack('b');
    expect(queue.next(anyAccount)).toBeUndefined();
    queue.putBack('a');
    expect(queue.next(anyAccount)).toBe(one);
    queue.add(two);
    expect([queue.next(mayTake), queue.next(anyAccount)]).toEqual([two, undefined]);
    queue.remove(one);
    queue.putBack();
    expect([queue.next(anyAccount), queue.next(anyAccount)]).toEqual([{ accountId: 'a' }, undefined]);
  });
});

describe('outcomeOf', () => {
  it('2xx is delivered', () => {
    expect(outcome({ status: 204 })).toMatchObject({
      status: 'delivered',
      reason: null,
      nextTryAt: null,
      disable: null,
    });
  });

  it.each<[Partial<PostResult>, number]>([
    [{ status: 500 }, 1000],
    [{ error: 'timeout' }, 1000],
    [{ status: 200, error: 'too_large' }, 1000],
    [{ status: 503, retryAfterMs: 9000 }, 9000],
  ])('%j is attempted again %d ms after the attempt has ended', (result, waitMs) => {
    const failed = outcome(result);
    expect(failed).toMatchObject({ status: 'pending', reason: null });
    expect(failed.nextTryAt?.getTime()).toBe(endedAt.getTime() + waitMs);
  });

  it('an aborted attempt ends like its endpoint and says nothing about the endpoint', () => {
    const aborted = outcome({ error: 'http', isAborted: true }, { endReason: 'endpoint_deleted' });
    expect(aborted).toMatchObject({ status: 'failed', reason: 'endpoint_deleted', nextTryAt: null, disable: null });
    expect(newsOf([aborted])).toEqual([]);
  });

  it('the last failure is exhausted, whatever Retry-After says', () => {
    const last = outcome({ status: 503, retryAfterMs: 9000 }, { step: 2 });
    expect(last).toMatchObject({ status: 'failed', reason: 'exhausted', nextTryAt: null, disable: null });
  });

  it('410 disables the endpoint', () => {
    const gone = outcome({ status: 410 });
    expect(gone).toMatchObject({
      status: 'failed',
      reason: 'endpoint_disabled',
      disable: expect.stringContaining('410'),
    });
  });

  it('410 from a previous URL is an ordinary failure', () => {
    const gone = outcome({ status: 410 }, { isFormer: true, failingSince: new Date(0) });
    expect([gone.status, gone.disable, gone.nextTryAt]).toEqual(['pending', null, expect.any(Date)]);
  });

  it('a failure five days after the first without a success disables the endpoint, an earlier one does not', () => {
    const lasting = outcome({ status: 500 }, { failingSince: new Date(at.getTime() - 5 * dayMs) });
    expect([lasting.status, lasting.disable]).toEqual(['failed', expect.stringContaining('5 days')]);
    const young = outcome({ status: 500 }, { failingSince: new Date(at.getTime() - 5 * dayMs + 1) });
    expect([young.status, young.disable]).toEqual(['pending', null]);
    const success = outcome({ status: 200 }, { failingSince: new Date(0) });
    expect([success.status, success.disable]).toEqual(['delivered', null]);
  });
});

it('a failure names its URL, with the response status or the error', () => {
  expect(failureText(outcome({ status: 500 }))).toBe('HTTP 500 from u');
  expect(failureText(outcome({ error: 'timeout' }))).toBe('u: timeout');
});

const failed = outcome({ status: 500 });
const delivered = outcome({ status: 200 });

describe('newsOf', () => {
  const second = { ...failed, at: new Date(at.getTime() + 1000) };

  it('reports the first failure, or the first after a success', () => {
    expect(newsOf([failed, second])).toMatchObject([
      { endpointId: 'p', delivered: false, failedAt: at, disable: null },
    ]);
    expect(newsOf([failed, delivered])).toMatchObject([{ delivered: true, failedAt: null }]);
    expect(newsOf([failed, delivered, second])).toMatchObject([{ delivered: true, failedAt: second.at }]);
  });

  it('reports that an endpoint is to be disabled', () => {
    const news = newsOf([failed, outcome({ status: 410 }), delivered]);
    expect(news).toMatchObject([{ disable: expect.stringContaining('410') }]);
  });
});

describe('HeldEndpoint', () => {
  const [longAgo, lately] = [new Date(at.getTime() - 6 * dayMs), new Date(at.getTime() - dayMs)];
  const row = (failingSince: Date | null) => ({ url: 'u', isActive: true, isPaused: false, secrets: [], failingSince });
  const heldThat = (before: Date | null) => {
    const held = new HeldEndpoint({ accountId: 'a', endpointId: 'p' }, 10);
    held.beginRead();
    held.learn(row(before), {} as SecretKeys);
    return held;
  };

  it.each([
    ['a success that the read may have missed', { before: longAgo, result: delivered, read: longAgo, after: null }],
    [
      'a failure that the read may have missed',
      { before: null, result: { ...failed, at: lately }, read: null, after: null },
    ],
    [
      'a failure, and a success written by another process',
      { before: longAgo, result: failed, read: null, after: null },
    ],
    ['a failure, and a later start of failing', { before: longAgo, result: failed, read: lately, after: lately }],
    ['a former address', { before: longAgo, result: { ...delivered, url: 'v' }, read: longAgo, after: longAgo }],
  ])('keeps the start of failing after a read during %s', (_, { before, result, read, after }) => {
    const held = heldThat(before);
    held.beginRead();
    held.applyResult(result);
    held.learn(row(read), {} as SecretKeys);
    expect(held.failingSince).toEqual(after);
    held.beginRead();
    held.learn(row(lately), {} as SecretKeys);
    expect(held.failingSince).toEqual(lately);
  });

  it('applies a success that is not yet written when a read begins', () => {
    const held = heldThat(longAgo);
    const bytes = new BytesUnderWay();
    held.ready.push(due);
    held.ended(held.takeNext(bytes)!, bytes);
    held.applyResult(delivered);
    held.beginRead();
    held.learn(row(longAgo), {} as SecretKeys);
    expect(held.failingSince).toBeNull();
  });

  it('raises its cap with successes and resets it after a timeout', () => {
    const after = (cap: number, end: RunEnd) => adaptedCap(cap, end, 10);
    expect([after(1, 'responded'), after(4, 'responded'), after(8, 'responded')]).toEqual([2, 8, 10]);
    expect([after(10, 'timeout'), after(1, 'timeout')]).toEqual([1, 1]);
    expect([after(5, 'other'), after(1, 'other')]).toEqual([5, 1]);
  });

  it('starts up to its cap', () => {
    const held = new HeldEndpoint({ accountId: 'a', endpointId: 'p' }, 2);
    held.ready.push(due);
    expect(held.canStart()).toBe(true);
    held.inFlight = 2;
    expect(held.canStart()).toBe(false);
    held.inFlight = 0;
    held.certainUntilMs = performance.now();
    expect(held.canStart()).toBe(false);
    held.certainUntilMs = performance.now() + 60_000;
    expect(held.canStart()).toBe(true);
    held.isLeaving = true;
    expect(held.canStart()).toBe(false);
  });

  it('accepts new deliveries if nothing else can be due, and reads them otherwise', () => {
    const since = (change: (held: HeldEndpoint) => void, queue = { version: 6, endpointVersion: 1 }) => {
      const held = new HeldEndpoint({ accountId: 'a', endpointId: 'p' }, 2);
      held.version = 1;
      held.queue = dry({ version: 5, laterAt: endedAt });
      change(held);
      return [held.acceptCreated([due], queue), held.ready.length, held.queue];
    };
    const asIs = () => undefined;
    const dryAt = (version: number) => expect.objectContaining({ kind: 'dry', version, laterAt: endedAt });
    expect(since(asIs)).toEqual([true, 1, dryAt(6)]);
    expect(since(asIs, { version: 7, endpointVersion: 1 })).toEqual([false, 0, dryAt(5)]); // something was added in between
    expect(since(asIs, { version: 5, endpointVersion: 1 })).toEqual([false, 0, dryAt(5)]); // it was read already
    expect(since(asIs, { version: 6, endpointVersion: 2 })).toEqual([false, 0, dryAt(5)]);
    expect(since((held) => held.giveUp(0))).toEqual([false, 0, unread]);
    expect(since((held) => held.dropFetched())).toEqual([false, 0, unread]);
    expect(since((held) => held.ready.push(due, due, due))).toEqual([false, 3, dryAt(5)]); // the endpoint hangs: memory stays bounded
    const large = { ...due, envelope: 'x'.repeat(262_145) };
    const held = new HeldEndpoint({ accountId: 'a', endpointId: 'p' }, 2);
    held.queue = dry({ version: 5, laterAt: endedAt });
    expect(held.acceptCreated([large], { version: 6, endpointVersion: -1 })).toBe(false);
    expect(held.acceptCreated([due], { version: 6, endpointVersion: -1 })).toBe(true);
  });
});

describe('acceptCreated', () => {
  const event = (id: string, text: string) => ({ id, text, account: 'a', type: 'x', data: {}, trace: undefined });
  const made = (endpointId: string, id: string, eventId: string) => {
    return { accountId: 'a', endpointId, id, eventId, sequence: 7, version: 1, endpointVersion: 1 };
  };
  const drained = (endpointId: string) => {
    const held = new HeldEndpoint({ accountId: 'a', endpointId }, 2);
    held.version = 1;
    held.queue = dry({ version: 0, laterAt: null });
    return held;
  };

  it('gives each held queue its deliveries with their events, and returns whether all were accepted', () => {
    const [one, other] = [drained('one'), drained('other')];
    const queues = { ofRealTime: (endpointId: string) => [one, other].find((held) => held.endpointId === endpointId) };
    const events = [event('E1', 'first'), event('e2', 'second')] as never;
    const all = [made('one', 'd1', 'e1'), made('other', 'd2', 'e1'), made('one', 'd3', 'e2')];
    expect(acceptCreated(all, events, queues)).toEqual({ taken: [one, other], hasAll: true });
    const ready = (held: HeldEndpoint) => held.ready.map(({ id, envelope, sequence }) => [id, envelope, sequence]);
    expect(ready(one)).toEqual([
      ['d1', 'first', 7],
      ['d3', 'second', 7],
    ]);
    expect(ready(other)).toEqual([['d2', 'first', 7]]);
    expect(acceptCreated([made('nobody', 'd4', 'e1')], events, queues)).toEqual({ taken: [], hasAll: false });
  });
});
