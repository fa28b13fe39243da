import { randomUUID } from 'node:crypto';
import { findTroubledAccounts, measureMessages, resendFailedMessages } from '@customer-platform/contracts/messaging';
import { type Bus, noAccount } from '@customer-platform/service-kit';
import { busOf, type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

let platform: Platform;
let bus: Bus;
let account: TestAccount;
beforeAll(async () => {
  platform = await startPlatform({ services: ['messaging'] });
  bus = await busOf(platform, 'gateway');
}, 60_000);
afterAll(async () => {
  await bus?.close();
  await platform?.stop();
});
beforeEach(async () => {
  account = await platform.account();
});

const ago = (ms: number) => new Date(platform.clock.now().getTime() - ms);
const [minute, hour] = [60_000, 3_600_000];

interface Failed {
  of?: string;
  status?: string;
  code?: string;
  at?: Date;
  /** Index of the step that failed last: one by SMS, one by email. */
  step?: number;
  count?: number;
  isSimulated?: boolean;
  isResent?: boolean;
}

/** Inserts failed messages in the state after their last attempt. */
async function insert({ of = account.id, status = 'failed', code = 'rejected', at = ago(minute), ...more }: Failed) {
  const { step = 0, count = 1, isSimulated = false, isResent = false } = more;
  const steps = JSON.stringify(['sms', 'email'].map((channel) => ({ channel, body: 'Hello' })));
  await platform.database('messaging')`
    insert into messages (account_id, status, given_to, purpose, steps, step, is_simulated, created_at, failed_at, error_code, error_message, resent_at)
    select ${of}, ${status}, '+4930901810', 'transactional', ${steps}::text::jsonb, ${step}, ${isSimulated}, ${at}, ${at}::timestamptz - n * interval '1 ms', ${code},
      ${code} || ' ' || n, ${isResent ? at : null}
    from generate_series(0, ${count - 1}::integer) as n`;
}

const measured = async (of = account.id) => await bus.ask(measureMessages, noAccount, { account: of });
const troubled = async (failed = 20) => await bus.ask(findTroubledAccounts, noAccount, { failed });

describe('the failed messages of an account', () => {
  it('are counted by channel and code, largest first, with the last error of each', async () => {
    await insert({ count: 3, at: ago(2 * minute) });
    await insert({ code: 'undelivered', step: 1, count: 5 });
    await insert({ code: 'no_consent', status: 'refused', at: ago(23 * hour) });
    await insert({ step: 1 });
    const at = { last_at: expect.any(String) };
    expect((await measured()).failed).toEqual([
      { channel: 'email', code: 'undelivered', count: 5, ...at, last_error: 'undelivered 0' },
      { channel: 'sms', code: 'rejected', count: 3, ...at, last_error: 'rejected 0' },
      { channel: 'email', code: 'rejected', count: 1, ...at, last_error: 'rejected 0' },
      { channel: 'sms', code: 'no_consent', count: 1, ...at, last_error: 'no_consent 0' },
    ]);
  });

  it('are those of the last day that were not resent, without other accounts', async () => {
    await insert({ at: ago(24 * hour + minute) });
    await insert({ isResent: true });
    await insert({ status: 'cancelled' });
    await insert({ of: account.sandboxId });
    expect(await measured()).toEqual({ failed: [], channels: [] });
  });
});

describe('accounts with failed messages', () => {
  it('are those above a number in the last hour, live accounts first, then by number', async () => {
    const [some, most, few] = [randomUUID(), randomUUID(), randomUUID()];
    await insert({ of: some, count: 21 });
    await insert({ of: most, count: 30 });
    await insert({ of: few, count: 20 });
    await insert({ of: few, at: ago(61 * minute), count: 10 });
    await insert({ of: few, isResent: true, count: 10 });
    await insert({ of: account.sandboxId, isSimulated: true, count: 40 });
    expect((await troubled()).accounts).toEqual([
      { account: most, failed: 30 },
      { account: some, failed: 21 },
      { account: account.sandboxId, failed: 40 },
    ]);
    expect((await troubled(29)).accounts.map((one) => one.account)).toEqual([most, account.sandboxId]);
  });
});

describe('a resend by operators', () => {
  const resend = async (since: Date) => await bus.ask(resendFailedMessages, account.id, { since: since.toISOString() });

  it('matches messages that failed since then, under the same rules as for the customer', async () => {
    await insert({ count: 2 });
    expect(await resend(ago(hour))).toEqual({ matched: 2, refusal: null });
    const codes = async () => (await measured()).failed.map(({ code, count }) => `${code} ${count}`).join();
    await waitFor('both to fail again without a channel', async () => (await codes()) === 'not_set_up 2');
    const refusal = { code: 'invalid_request', field: 'since' };
    expect(await resend(ago(-hour))).toMatchObject({ matched: 0, refusal });
    expect(await resend(ago(8 * 24 * hour))).toMatchObject({ matched: 0, refusal });
  });
});
