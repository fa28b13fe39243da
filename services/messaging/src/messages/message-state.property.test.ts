import type { ReceiptStatus } from '@customer-platform/contracts/messaging';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { furthestAttempt } from './furthest-attempt.ts';
import {
  cancel,
  type MessageState,
  newAttempt,
  type Try,
  takeReceipt,
  takeResult,
  takeSuspension,
  takeTimer,
} from './message-state.ts';
import type { TryResult } from './try-result.ts';

const start = new Date('2026-06-01T08:00:00Z');
const at = (seconds: number) => new Date(start.getTime() + seconds * 1_000);

function message(channels: number): MessageState {
  const step = { channel: 'sms' as const, body: 'Hello', subject: '', fallback_after_seconds: 300 };
  const times = { sent_at: null, delivered_at: null, read_at: null, failed_at: null };
  const error = { error_code: null, error_message: null };
  const attempts = [newAttempt(1, 'sms', start)];
  return { status: 'queued', steps: Array(channels).fill(step), step: 0, attempts, ...times, ...error };
}

/** Begins a call of an attempt, like a claim, and returns it. */
function begin(state: MessageState, attempt = state.attempts.at(-1)!, now = start): Try {
  const started_at = attempt.tries === 0 ? now : (attempt.started_at ?? now);
  const begun = { status: 'sending', due_at: null, running_since: now, started_at, tries: attempt.tries + 1 };
  Object.assign(attempt, begun);
  if (state.status === 'queued') state.status = 'sending';
  return { number: attempt.number, running_since: now };
}

/** Makes a call of the latest attempt with this result. */
function makeCall(state: MessageState, result: TryResult, now: Date): void {
  takeResult(state, begin(state), result, now);
}

const isTaken = { outcome: 'accepted', providerId: 'p1' } as const;
const isBusy = { outcome: 'unavailable', message: 'busy' } as const;
const isRefused = { outcome: 'rejected', message: 'no such number' } as const;
const hasNoConsent = { outcome: 'skipped', reason: 'no_consent' } as const;

function accepted(channels: number): MessageState {
  const state = message(channels);
  makeCall(state, isTaken, at(1));
  return state;
}

/** Returns a message's final state without the timing and order of its receipts. */
function endOf(state: MessageState) {
  const attempts = state.attempts.map(({ receipts, ...attempt }) => ({
    ...attempt,
    receipts: receipts.map((receipt) => `${receipt.status} ${receipt.at.toISOString()}`).sort(),
  }));
  return { ...state, attempts };
}

const receiptTimes: Record<string, Date> = { sent: at(2), delivered: at(3), read: at(4) };
const threeOfEach: ReceiptStatus[] = ['sent', 'delivered', 'read'].flatMap((one) => [one, one, one]) as ReceiptStatus[];

describe('receipts', () => {
  it('in any order and repetition lead to the same state', () => {
    const orderOf = fc.shuffledSubarray(threeOfEach, { minLength: 9, maxLength: 9 });
    const inOrder = accepted(2);
    for (const status of ['sent', 'delivered', 'read'] as const)
      takeReceipt(inOrder, 1, { status, at: receiptTimes[status]! }, at(5));
    expect([inOrder.status, inOrder.attempts.length, inOrder.attempts[0]!.falls_back_at]).toEqual(['read', 1, null]);
    fc.assert(
      fc.property(orderOf, (order) => {
        const state = accepted(2);
        for (const status of order) takeReceipt(state, 1, { status, at: receiptTimes[status]! }, at(5));
        expect(endOf(state)).toEqual(endOf(inOrder));
      }),
    );
  });

  it('never lower a status', () => {
    const ranks = ['queued', 'sending', 'sent', 'delivered', 'read'];
    const some = fc.array(fc.constantFrom<ReceiptStatus>('sent', 'delivered', 'read', 'failed'), { maxLength: 12 });
    fc.assert(
      fc.property(some, (order) => {
        const state = accepted(1);
        let highest = ranks.indexOf(state.status);
        for (const status of order) {
          takeReceipt(state, 1, { status, at: at(2) }, at(5));
          if (state.status === 'failed')
            return expect(state.delivered_at === null || order.indexOf('failed') > 0).toBe(true);
          expect(ranks.indexOf(state.status)).toBeGreaterThanOrEqual(highest);
          highest = ranks.indexOf(state.status);
        }
      }),
    );
  });

  it('that arrive during a call on the next channel end it: the call is not repeated', () => {
    const state = accepted(2);
    takeTimer(state, 1, at(301));
    const running = begin(state);
    takeReceipt(state, 1, { status: 'delivered', at: at(302) }, at(302));
    takeResult(state, running, isBusy, at(303));
    expect(state.attempts[1]).toMatchObject({ status: 'skipped', reason: 'not_needed', due_at: null });
    expect([state.status, furthestAttempt(state.attempts).number]).toEqual(['delivered', 1]);
  });

  it.each(['sent', 'delivered'] as const)(
    'that name a running attempt (%s) belong to its call, whose result adds the id for later ones',
    (status) => {
      for (const result of [isTaken, { outcome: 'unknown', message: 'hm' }] as const) {
        const state = message(2);
        const running = begin(state);
        takeReceipt(state, 1, { status, at: at(2) }, at(3));
        takeResult(state, running, result, at(4));
        const provider_id = result.outcome === 'accepted' ? 'p1' : null;
        const falls_back_at = status === 'sent' ? at(303) : null;
        const ended = { finished_at: at(3), falls_back_at, running_since: null };
        expect(state.attempts[0]).toMatchObject({ status, provider_id, ...ended });
        takeTimer(state, 1, at(303));
        expect([state.status, state.attempts.length]).toEqual([status, status === 'sent' ? 2 : 1]);
      }
    },
  );

  it.each(['sent', 'delivered', 'read'] as const)(
    'that confirm a call that seemed to fail (%s) prevent its repetition',
    (status) => {
      const state = message(1);
      makeCall(state, isBusy, at(1));
      takeReceipt(state, 1, { status, at: at(1) }, at(2));
      expect(state.attempts[0]).toMatchObject({ status, due_at: null, falls_back_at: null, finished_at: at(2) });
    },
  );

  it('that report a failure before the result of the call keep the id for later ones', () => {
    const state = message(1);
    const running = begin(state);
    takeReceipt(state, 1, { status: 'failed', at: at(1) }, at(2));
    takeResult(state, running, { ...isTaken, address: 'ada@example.com' }, at(3));
    expect(state.attempts[0]).toMatchObject({ status: 'failed', provider_id: 'p1', address: 'ada@example.com' });
    expect(state.status).toBe('failed');
  });
});

const event = fc.record({
  kind: fc.constantFrom('begin', 'timer', 'receipt', 'cancel', 'suspension', 'result', 'result', 'result'),
  result: fc.constantFrom<TryResult>(
    isTaken,
    isRefused,
    isBusy,
    hasNoConsent,
    { outcome: 'unknown', message: 'hm' },
    { outcome: 'postponed', waitMs: 5_000 },
    { outcome: 'suspended' },
  ),
  number: fc.integer({ min: 1, max: 3 }),
  status: fc.constantFrom<ReceiptStatus>('sent', 'delivered', 'read', 'failed'),
});

type Told = typeof event extends fc.Arbitrary<infer Value> ? Value : never;

describe('a message with any history', () => {
  it('is always sent, awaited or ended, and never stuck', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 25 }), fc.integer({ min: 1, max: 3 }), (story, channels) => {
        const state = message(channels);
        for (const [index, one] of story.entries()) tell(state, one, at(index * 301));
        const works = state.attempts.some(
          ({ due_at, running_since, falls_back_at }) => due_at ?? running_since ?? falls_back_at,
        );
        for (const { status, receipts } of state.attempts)
          if (receipts.some((one) => one.applied && (one.status === 'delivered' || one.status === 'read')))
            expect(['delivered', 'read']).toContain(status);
        const last = state.attempts.at(-1)!;
        if (state.status === 'sent' && last.status === 'sent' && state.attempts.length < channels)
          expect(last.falls_back_at).not.toBeNull();
        const ended = ['sent', 'delivered', 'read', 'failed', 'refused', 'cancelled'].includes(state.status);
        expect([works || ended, state.status, state.attempts]).toEqual([true, state.status, state.attempts]);
        if (['failed', 'refused', 'cancelled', 'delivered', 'read'].includes(state.status))
          expect(state.attempts.filter(({ due_at }) => due_at !== null)).toEqual([]);
        expect(state.attempts.length).toBeLessThanOrEqual(channels);
        expect(state.attempts.filter(({ tries }) => tries > 3)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});

function tell(state: MessageState, { kind, number, status, result }: Told, now: Date): void {
  const attempt = state.attempts.find((one) => one.number === number);
  if (!attempt) return;
  const { running_since } = attempt;
  if (kind === 'begin' && attempt.due_at !== null && attempt.due_at <= now) begin(state, attempt, now);
  else if (kind === 'timer') takeTimer(state, number, now);
  else if (kind === 'receipt' && attempt.started_at) takeReceipt(state, number, { status, at: now }, now);
  else if (kind === 'cancel') cancel(state);
  else if (kind === 'suspension') takeSuspension(state, now);
  else if (kind === 'result') takeResult(state, { number, running_since }, result, now);
}

describe('a message of a suspended account', () => {
  const suspended = { code: 'account_suspended', status: 'failed' };
  const endingOf = ({ status, error_code }: MessageState) => ({ code: error_code, status });

  it('is unchanged during a call, while it waits for a receipt or its time, or once it arrived', () => {
    const running = message(2);
    begin(running);
    const scheduled = { ...message(1), attempts: [newAttempt(1, 'sms', null)], status: 'scheduled' as const };
    const delivered = accepted(2);
    takeReceipt(delivered, 1, { status: 'delivered', at: at(2) }, at(2));
    for (const state of [running, scheduled, delivered, accepted(2), accepted(1)]) {
      const before = structuredClone(state);
      takeSuspension(state, at(2));
      expect(state).toEqual(before);
    }
  });

  it('stays failed whatever comes afterwards', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 15 }), fc.array(event, { maxLength: 15 }), (before, after) => {
        const state = message(3);
        for (const [index, one] of before.entries()) tell(state, one, at(index * 301));
        takeSuspension(state, at(20_000));
        if (state.error_code !== 'account_suspended') return;
        const attempts = state.attempts.length;
        for (const [index, one] of after.entries()) tell(state, one, at(30_000 + index * 301));
        const waiting = state.attempts.filter(({ due_at, falls_back_at }) => due_at ?? falls_back_at);
        expect([endingOf(state), state.attempts.length, waiting]).toEqual([suspended, attempts, []]);
      }),
    );
  });
});

describe('a provider call', () => {
  it.each([isBusy, { outcome: 'postponed', waitMs: 5_000 } as const])(
    'in progress ignores a repeated result of the previous one: $outcome',
    (before) => {
      const state = message(1);
      const first = begin(state);
      takeResult(state, first, before, at(1));
      const second = begin(state, state.attempts[0], at(6));
      takeResult(state, first, before, at(7));
      expect(state.attempts[0]).toMatchObject({ running_since: at(6), due_at: null });
      takeResult(state, second, isTaken, at(8));
      expect(state.attempts[0]).toMatchObject({ status: 'sent', provider_id: 'p1' });
    },
  );

  it('with result unavailable is made three times within 30 s, then the next channel follows at once', () => {
    const state = message(2);
    let now = 0;
    for (let number = 1; number <= 3; number++) {
      makeCall(state, { ...isBusy, retryAfterMs: 60_000 }, at(now));
      if (number < 3) now = (state.attempts[0]!.due_at!.getTime() - start.getTime()) / 1_000;
    }
    expect(now).toBeLessThan(30);
    expect(state.attempts[0]).toMatchObject({ status: 'failed', reason: 'unavailable', tries: 3, due_at: null });
    expect(state.attempts[1]).toMatchObject({ status: 'queued', due_at: at(now) });
  });

  it('that fails slowly is repeated within 30 s of the first, or not at all', () => {
    const state = message(1);
    const starts: number[] = [];
    for (let now = 0; state.attempts[0]!.due_at !== null; ) {
      now = (state.attempts[0]!.due_at.getTime() - start.getTime()) / 1_000;
      starts.push(now);
      makeCall(state, isBusy, at(now + 13));
    }
    expect(starts).toEqual([0, 15, 29.5]);
    expect(state.status).toBe('failed');
  });

  it('with an unknown outcome is not repeated: the timer starts, and the message fails without another channel', () => {
    const state = message(1);
    makeCall(state, { outcome: 'unknown', message: 'no answer' }, at(15));
    expect(state.attempts[0]).toMatchObject({ status: 'unknown', due_at: null, falls_back_at: at(315) });
    takeTimer(state, 1, at(314));
    expect(state.status).toBe('sending');
    takeTimer(state, 1, at(315));
    expect([state.status, state.error_code]).toEqual(['failed', 'no_answer']);
  });

  it('that is accepted has no successor without possible receipts; a failed or unknown one has it at once', () => {
    const results = [isTaken, isRefused, { outcome: 'unknown', message: 'no answer' }] as const;
    const numbers = results.map((result) => {
      const state = message(2);
      state.steps = state.steps.map((step) => ({ ...step, fallback_after_seconds: null }));
      makeCall(state, result, at(1));
      takeTimer(state, 1, at(1));
      return state.attempts.length;
    });
    expect(numbers).toEqual([1, 2, 2]);
  });

  it('without consent on any channel refuses the message; with any other reason it fails', () => {
    const refused = message(2);
    for (const _channel of [1, 2]) makeCall(refused, hasNoConsent, at(1));
    expect([refused.status, refused.error_code]).toEqual(['refused', 'no_consent']);
    const failed = message(2);
    makeCall(failed, hasNoConsent, at(1));
    makeCall(failed, isRefused, at(2));
    expect([failed.status, failed.error_code, failed.error_message]).toEqual(['failed', 'rejected', 'no such number']);
  });

  it('that fails after an accepting channel leaves the message sent; it fails when that channel does', () => {
    const state = accepted(2);
    takeTimer(state, 1, at(301));
    makeCall(state, isRefused, at(302));
    expect(state.status).toBe('sent');
    takeReceipt(state, 1, { status: 'failed', at: at(400) }, at(400));
    expect([state.status, state.failed_at]).toEqual(['failed', at(400)]);
    expect([state.error_code, state.error_message]).toEqual(['undelivered', 'The provider could not deliver it']);
  });
});
