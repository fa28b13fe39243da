import { inTransaction, startService } from '@customer-platform/service-kit';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { agents } from '../main.ts';
import { reserveCall } from '../usage/ledger.ts';
import { insertPlanRequest, type PlanRequest } from './plan-requests.sql.ts';
import { billed, type Desk, type FakeAi, openDesk, planOf, says, startFakeAi } from './planning-under-test.ts';

let platform: Platform;
let ai: FakeAi;
beforeAll(async () => {
  ai = await startFakeAi();
  platform = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'] });
}, 60_000);
beforeEach(() => {
  ai.requests = [];
  ai.otherwise = says(planOf());
});
afterAll(async () => {
  await platform?.stop();
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
    20_000,
  );
}

describe('20 messages at once', () => {
  it('use no more than the budget, whatever their calls could have used', async () => {
    const desk = await openDesk(platform, ai);
    await desk.ask('Say hello');
    await desk.made();
    const database = platform.database('agents');
    const [held] = await database<{ tokens: number }[]>`
      select reserved_tokens as tokens from ai_calls where account_id = ${desk.account.id}`;
    const budget = billed.total_tokens + Math.floor(held!.tokens * 3.5);
    await desk.account.client.updateAgentSettings({ body: { daily_budget: budget } });
    ai.requests = [];
    const pending: (() => void)[] = [];
    ai.otherwise = (request, response) => void pending.push(() => says(planOf())(request, response));
    const over: number[] = [];
    const watch = setInterval(async () => {
      const [sum] = await database<{ held: number }[]>`
        select sum(prompt_tokens + completion_tokens + reserved_tokens)::bigint as held from usage_days
        where account_id = ${desk.account.id}`;
      if (sum!.held > budget) over.push(sum!.held);
    }, 20);
    await writeMany(desk, 20);
    await waitFor('calls that take the whole budget', () => ai.requests.length === 3);
    await waitFor('the others to be refused', async () => {
      return (await desk.plans()).filter(({ status }) => status === 'failed').length === 17;
    });
    for (const answer of pending) answer();
    const made = await allMade(desk, 21);
    clearInterval(watch);
    expect(ai.requests).toHaveLength(3);
    expect(over).toEqual([]);
    const refused = made.filter(({ status }) => status === 'failed');
    expect(refused.every(({ last_error }) => last_error?.startsWith("The account's daily budget"))).toBe(true);
    const usage = await desk.account.client.getAgentUsage({ query: {} });
    expect(usage.account).toMatchObject({ daily_budget: budget, tokens_today: 4 * billed.total_tokens });
  }, 40_000);

  it('lead to one call each, with two processes that make plans', async () => {
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
  }, 40_000);

  it('are at most 4 of one account at once, and hold up no other account', async () => {
    const [busy, quiet] = [await openDesk(platform, ai), await openDesk(platform, ai)];
    const pending: (() => void)[] = [];
    ai.otherwise = (request, response) => {
      const answer = () => says(planOf())(request, response);
      if (request.document!.trigger.text.startsWith('Question')) pending.push(answer);
      else answer();
    };
    await writeMany(busy, 20);
    await waitFor('as many calls as there can be', () => ai.requests.length === 4);
    await quiet.write('And I?');
    expect(await quiet.made()).toMatchObject({ status: 'awaiting_approval' });
    expect(ai.requests).toHaveLength(5);
    ai.otherwise = says(planOf());
    for (const answer of pending) answer();
    await allMade(busy, 20);
  }, 40_000);
});

describe('a plan whose maker died', () => {
  /** A plan that a process has claimed `tries` times, with a call that it never ended. */
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

  it('is made anew when the lease is over, and its open call counts as all that it could use', async () => {
    const desk = await openDesk(platform, ai);
    const id = await begunBefore(desk, 1);
    platform.clock.advance(60_000);
    const plan = await desk.made();
    expect(plan).toMatchObject({ id, status: 'awaiting_approval', tokens: 1_000 + billed.total_tokens });
  });

  it('is begun three times at most', async () => {
    const desk = await openDesk(platform, ai);
    const id = await begunBefore(desk, 3);
    platform.clock.advance(60_000);
    const plan = await desk.made();
    expect(plan).toMatchObject({ id, status: 'failed', tokens: 1_000, last_error: expect.stringContaining('3 times') });
    expect(ai.requests).toHaveLength(0);
  });
});

describe('a plan that takes long', () => {
  it('is held by a short lease that is renewed, so that nobody else makes it unless its maker died', async () => {
    const second = await startService(agents, platform.env('agents'), { clock: platform.clock.now });
    try {
      const desk = await openDesk(platform, ai);
      let answer: () => void = () => undefined;
      ai.otherwise = (request, response) => {
        answer = () => says(planOf())(request, response);
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
      answer();
      const plan = await desk.made();
      expect(plan).toMatchObject({ id, status: 'awaiting_approval', tokens: billed.total_tokens });
      expect(ai.requests).toHaveLength(1);
    } finally {
      await second.stop();
    }
  }, 30_000);
});

describe('AIs that never answer', () => {
  it('hold up no other account, and have one plan at a time once a call ran into its timeout', async () => {
    const env = { AGENTS_MAX_PLANNING: '12', AGENTS_AI_TIMEOUT_MS: '3000' };
    const small = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'], env });
    const open: { model: string; answer: () => void }[] = [];
    try {
      const models = ['hang-1', 'hang-2', 'hang-3', 'hang-4'];
      const hanging = await Promise.all(models.map((model) => openDesk(small, ai, { settings: { model } })));
      const quiet = await openDesk(small, ai);
      const timedOut = new Set<string>();
      const later: Promise<unknown>[] = [];
      const openOf = (model: string) => open.filter((one) => one.model === model).length;
      ai.otherwise = (request, response) => {
        const answer = () => says(planOf())(request, response);
        const { model } = request.body;
        if (!models.includes(model)) return answer();
        const call = { model, answer };
        open.push(call);
        // That a call was given up may arrive after the next one has; calls that are really open together stay so for 3 s.
        if (timedOut.has(model)) later.push(waitFor('one call at a time', () => openOf(model) <= 1, 1_500));
        response.on('close', () => {
          open.splice(open.indexOf(call), 1);
          timedOut.add(model);
        });
      };
      for (const desk of hanging) await writeMany(desk, 10);
      await waitFor('all slots that are not kept to be taken', () => open.length === 9);
      for (let count = 1; count <= 2; count++) {
        await quiet.write(`And I, for the ${count}. time?`);
        await waitFor('the plan of the other', async () => {
          const made = await quiet.plans();
          return made.length === count && made.every(({ status }) => status === 'awaiting_approval');
        });
      }
      expect([...timedOut]).toEqual([]);

      await waitFor('calls after those that ran out of time', () => later.length >= 8, 20_000);
      await Promise.all(later);
      ai.otherwise = says(planOf());
      for (const { answer } of [...open]) answer();
      for (const desk of hanging) {
        const ended = await allMade(desk, 10);
        expect(ended.filter(({ status }) => status === 'awaiting_approval').length).toBeGreaterThan(1);
      }
    } finally {
      ai.otherwise = says(planOf());
      for (const { answer } of [...open]) answer();
      await small.stop();
    }
  }, 90_000);
});
