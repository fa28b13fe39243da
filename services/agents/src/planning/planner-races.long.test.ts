import { inTransaction, startService } from '@customer-platform/service-kit';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { billed, type Desk, openDesk, planOf, says, startFakeAi } from '../../test/planning.ts';
import { insertPlanRequest, type PlanRequest } from '../plans/plan-requests.sql.ts';
import { agents } from '../start.ts';
import { reserveCall } from '../usage/ledger.ts';

const ai = await startFakeAi();
const platform = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'] });
// Noon in Berlin, so that no test with daily counts crosses midnight.
platform.clock.set(`${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}T11:00:00Z`);
beforeEach(() => {
  ai.requests = [];
  ai.otherwise = says(planOf());
});
afterAll(async () => {
  await platform.stop();
  await ai.stop();
});

const writeMany = (desk: Desk, count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => desk.write(`Question ${index}`)));

async function allMade({ plans }: Desk, count: number) {
  return await waitFor(
    'all plans to be made',
    async () => {
      const made = await plans();
      return made.length === count && made.every(({ status }) => status !== 'running') ? made : undefined;
    },
    60_000,
  );
}

describe('20 messages at once', () => {
  it('never exceed the budget, even with parallel calls', async () => {
    const desk = await openDesk(platform, ai);
    await desk.ask('Say hello');
    await desk.made();
    const database = platform.database('agents');
    const [held] = await database<{ tokens: number }[]>`
      select reserved_tokens as tokens from ai_calls where account_id = ${desk.account.id}`;
    const budget = billed.total_tokens + Math.floor(held!.tokens * 3.5);
    await desk.account.client.agents.settings.update({ body: { daily_budget: budget } });
    ai.requests = [];
    const pending: (() => void)[] = [];
    ai.otherwise = (request, response) => void pending.push(() => says(planOf())(request, response));
    const over: number[] = [];
    const look = async () => {
      const [sum] = await database<{ held: number }[]>`
        select sum(prompt_tokens + completion_tokens + reserved_tokens)::bigint as held from usage_days
        where account_id = ${desk.account.id}`;
      if (sum!.held > budget) over.push(sum!.held);
    };
    await writeMany(desk, 20);
    const isEachAskedOrRefused = async () => {
      await look();
      const failed = (await desk.plans()).filter(({ status }) => status === 'failed').length;
      return ai.requests.length > 0 && failed + ai.requests.length === 20;
    };
    await waitFor('each to reach the AI or be refused', isEachAskedOrRefused, 60_000);
    // A prompt includes the previous messages, so later calls reserve more than the first.
    const calls = ai.requests.length;
    expect([2, 3]).toContain(calls);
    for (const respond of pending) respond();
    const made = await allMade(desk, 21);
    await look();
    expect(ai.requests).toHaveLength(calls);
    expect(over).toEqual([]);
    const refused = made.filter(({ status }) => status === 'failed');
    expect(refused.every(({ last_error }) => last_error?.startsWith("The account's daily budget"))).toBe(true);
    const usage = await desk.account.client.agents.usage.get({ query: {} });
    expect(usage.account).toMatchObject({ daily_budget: budget, tokens_today: (calls + 1) * billed.total_tokens });
  }, 90_000);

  it('lead to one call each with two planning processes', async () => {
    const second = await startService(agents, platform.env('agents'), { clock: platform.clock.now });
    try {
      const desk = await openDesk(platform, ai);
      await writeMany(desk, 20);
      const made = await allMade(desk, 20);
      expect(made.every(({ status, steps }) => status === 'awaiting_approval' && steps.length === 1)).toBe(true);
      const texts = ai.requests.map(({ document }) => document!.trigger.text);
      expect([texts.length, new Set(texts).size]).toEqual([20, 20]);
    } finally {
      await second.stop();
    }
  }, 90_000);

  it('use at most 4 slots per account, and do not delay other accounts', async () => {
    const [busy, quiet] = [await openDesk(platform, ai), await openDesk(platform, ai)];
    const pending: (() => void)[] = [];
    ai.otherwise = (request, response) => {
      const respond = () => says(planOf())(request, response);
      if (request.document!.trigger.text.startsWith('Question')) pending.push(respond);
      else respond();
    };
    await writeMany(busy, 20);
    await waitFor('the maximum number of calls', () => ai.requests.length === 4);
    await quiet.write('And I?');
    expect(await quiet.made()).toMatchObject({ status: 'awaiting_approval' });
    expect(ai.requests).toHaveLength(5);
    ai.otherwise = says(planOf());
    for (const respond of pending) respond();
    await allMade(busy, 20);
  }, 90_000);
});

describe('a plan whose process died', () => {
  /** Inserts a plan that was claimed `tries` times, with an open call. */
  async function begunBefore(desk: Desk, tries: number) {
    const { account, agentId, contact } = desk;
    const request: PlanRequest = {
      accountId: account.id,
      agentId,
      contactId: contact.id,
      contactNumber: contact.number,
      trigger: 'manual',
      triggerText: 'Say hello',
      triggerChannel: null,
      triggerId: null,
      followUps: 0,
      goal: 'Say hello',
      trace: null,
    };
    const now = platform.clock.now();
    return await inTransaction(platform.database('agents'), async (tx) => {
      const planId = (await insertPlanRequest(tx, request, now))!;
      const call = { kind: 'planning' as const, provider: 'openai_compatible', model: 'gpt-test', tokens: 1_000 };
      const day = now.toISOString().slice(0, 10);
      await reserveCall(tx, { accountId: account.id, day, agentId, pipelineId: null, planId, ...call }, now);
      await tx`
        update plans set planning_due_at = ${new Date(now.getTime() + 60_000)}, planning_tries = ${tries}
        where account_id = ${account.id} and id = ${planId}`;
      return planId;
    });
  }

  it('is made again when the lease expires, and its open call counts as its whole reservation', async () => {
    const desk = await openDesk(platform, ai);
    const id = await begunBefore(desk, 1);
    platform.clock.advance(60_000);
    const plan = await desk.made();
    expect(plan).toMatchObject({ id, status: 'awaiting_approval', tokens: 1_000 + billed.total_tokens });
  });

  it('is started at most three times', async () => {
    const desk = await openDesk(platform, ai);
    const id = await begunBefore(desk, 3);
    platform.clock.advance(60_000);
    const plan = await desk.made();
    expect(plan).toMatchObject({ id, status: 'failed', tokens: 1_000, last_error: expect.stringContaining('3 times') });
    expect(ai.requests).toHaveLength(0);
  });
});

it('a slow plan keeps a short lease by renewing it, so no other process makes it unless its process dies', async () => {
  const second = await startService(agents, platform.env('agents'), { clock: platform.clock.now });
  try {
    const desk = await openDesk(platform, ai);
    let respond: () => void = () => undefined;
    ai.otherwise = (request, response) => {
      respond = () => says(planOf())(request, response);
    };
    const { id } = await desk.ask('Say hello');
    await waitFor('the call', () => ai.requests.length === 1);
    const leftMs = async () => {
      const [row] = await platform.database('agents')<{ planning_due_at: Date }[]>`
        select planning_due_at from plans where account_id = ${desk.account.id} and id = ${id}`;
      return row!.planning_due_at.getTime() - platform.clock.now().getTime();
    };
    expect(await leftMs()).toBeLessThanOrEqual(30_000);
    for (let times = 0; times < 6; times++) {
      platform.clock.advance(12_000);
      await waitFor('the lease to be renewed', async () => (await leftMs()) > 25_000);
      expect(await leftMs()).toBeLessThanOrEqual(30_000);
    }
    respond();
    const plan = await desk.made();
    expect(plan).toMatchObject({ id, status: 'awaiting_approval', tokens: billed.total_tokens });
    expect(ai.requests).toHaveLength(1);
  } finally {
    await second.stop();
  }
}, 60_000);

describe('AIs that never respond', () => {
  it('do not delay other accounts', async () => {
    // No call times out here. Hanging calls wait until the test responds.
    const env = { AGENTS_MAX_PLANNING: '12', AGENTS_AI_TIMEOUT_MS: '300000' };
    const small = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'], env });
    const open: (() => void)[] = [];
    try {
      const models = ['hang-1', 'hang-2', 'hang-3', 'hang-4'];
      const hanging = await Promise.all(models.map((model) => openDesk(small, ai, { settings: { model } })));
      const quiet = await openDesk(small, ai);
      ai.otherwise = (request, response) => {
        const respond = () => says(planOf())(request, response);
        if (models.includes(request.body.model)) open.push(respond);
        else respond();
      };
      // All plans start at once, because an account with a slow plan would get fewer slots.
      await small.admin('POST', '/admin/queues/agents/planning/pause', { reason: 'the messages come first' });
      for (const desk of hanging) {
        await writeMany(desk, 10);
        const asked = () => small.database('agents')`select from plans where account_id = ${desk.account.id}`;
        await waitFor('its plans', async () => (await asked()).length === 10, 30_000);
      }
      expect(open).toEqual([]);
      await small.admin('POST', '/admin/queues/agents/planning/resume', { reason: 'they are there' });
      // It may be more, because an account's late first plan takes a reserved slot.
      await waitFor('all unreserved slots to be taken', () => open.length >= 9, 30_000);
      for (let count = 1; count <= 2; count++) {
        await quiet.write(`And I, for the ${count}. time?`);
        await allMade(quiet, count);
      }
      const held = (await Promise.all(hanging.map(({ plans }) => plans()))).flat();
      expect(held.map(({ status }) => status)).toEqual(Array(held.length).fill('running'));
      ai.otherwise = says(planOf());
      for (const respond of open.splice(0)) respond();
      for (const desk of hanging) {
        const made = await allMade(desk, 10);
        expect(made.every(({ status }) => status === 'awaiting_approval')).toBe(true);
      }
    } finally {
      ai.otherwise = says(planOf());
      for (const respond of open.splice(0)) respond();
      await small.stop();
    }
  }, 120_000);

  it('are called one at a time after a call timed out', async () => {
    const env = { AGENTS_AI_TIMEOUT_MS: '500' };
    const impatient = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'], env });
    try {
      ai.otherwise = () => undefined;
      const desk = await openDesk(impatient, ai);
      await writeMany(desk, 12);
      const ended = await allMade(desk, 12);
      expect(ended.map(({ status }) => status)).toEqual(Array(12).fill('failed'));
      // The ledger shows the order of calls. Each is reserved after it gets its slot and settled before it releases the slot.
      const calls = await impatient.database('agents')<{ began_at: Date; ended_at: Date }[]>`
        select began_at, ended_at from ai_calls where account_id = ${desk.account.id} order by began_at, ended_at`;
      expect(calls).toHaveLength(12);
      // Only the first four can be claimed before a call times out.
      const overlapping = calls.filter((call, index) => {
        return index >= 4 && calls.slice(0, index).some(({ ended_at }) => ended_at > call.began_at);
      });
      expect(overlapping).toEqual([]);
    } finally {
      ai.otherwise = says(planOf());
      await impatient.stop();
    }
  }, 120_000);
});
