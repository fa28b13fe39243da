import { randomUUID } from 'node:crypto';
import { allAccounts, inTransaction } from '@customer-platform/service-kit';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openCrew } from '../../test/agents.ts';
import { reserve, settle, use } from '../../test/usage.ts';
import { insertPlanRequest, type PlanRequest } from '../plans/plan-requests.sql.ts';
import { settleCall, settleOpenCalls } from './ledger.sql.ts';
import { settleLostCalls } from './settle-lost-calls.ts';

const platform = await startPlatform({ services: ['cdp', 'crm', 'agents'] });
const database = platform.database('agents');
afterAll(() => platform.stop());

const day = '2026-11-20';

/** Creates an account with an agent. Returns them, the base of a call, and a reader of the ledger's sums. */
async function openLedger(settings: Record<string, unknown> = {}, more: Record<string, unknown> = {}) {
  const crew = await openCrew(platform);
  const agent = await crew.agent(more);
  await crew.account.client.agents.settings.update({ body: settings });
  const accountId = crew.account.id;
  return {
    crew,
    call: { accountId, day, agentId: agent.id },
    /** Returns [calls, prompt, completion, reserved] of the account. */
    async sums() {
      const [row] = await database`
        select coalesce(sum(calls), 0)::int as calls, coalesce(sum(prompt_tokens), 0)::int as prompt,
          coalesce(sum(completion_tokens), 0)::int as completion, coalesce(sum(reserved_tokens), 0)::int as reserved
        from usage_days where account_id = ${accountId}`;
      return [row!.calls, row!.prompt, row!.completion, row!.reserved];
    },
  };
}

const owners = ['account', 'agent', 'pipeline'] as const;

/** Opens a ledger in which one of the owners has a budget of `tokens` per day. */
async function openLimited(whose: (typeof owners)[number], tokens: number) {
  const ledger = await openLedger(
    whose === 'account' ? { daily_budget: tokens } : {},
    whose === 'agent' ? { daily_limit: tokens } : {},
  );
  const pipelineId = ledger.crew.pipeline.id;
  const body = { pipeline_budgets: { [pipelineId]: tokens } };
  if (whose === 'pipeline') await ledger.crew.account.client.agents.settings.update({ body });
  return { ...ledger, call: { ...ledger.call, pipelineId } };
}

const idOf = (reserved: Awaited<ReturnType<typeof reserve>>): string => {
  if ('refusal' in reserved) throw new Error(reserved.refusal);
  return reserved.call;
};

describe('a reservation', () => {
  it('holds its tokens until it is settled, and then its usage is counted once', async () => {
    const { call, sums } = await openLedger();
    const id = idOf(await reserve(database, { ...call, tokens: 900 }));
    expect(await sums()).toEqual([0, 0, 0, 900]);
    expect(await settle(database, { accountId: call.accountId, id }, [300, 50])).toBe(350);
    expect(await sums()).toEqual([1, 300, 50, 0]);
    expect(await settle(database, { accountId: call.accountId, id }, [1, 1], 'unknown')).toBe(350);
    expect(await sums()).toEqual([1, 300, 50, 0]);
    const stranger = await openLedger();
    await expect(settle(database, { accountId: stranger.call.accountId, id }, [1, 1])).rejects.toThrow(
      /^cannot settle call .* because it does not exist$/,
    );
  });

  it('of more than 100 models a day is counted separately for the first ones, and together for the others', async () => {
    const { call } = await openLedger();
    for (let index = 0; index < 103; index++) await use(database, { ...call, model: `model-${index}` }, [1, 1]);
    await use(database, { ...call, model: 'model-5' }, [1, 1]);
    const models = await database<{ model: string; calls: number }[]>`
      select model, calls::int as calls from usage_days where account_id = ${call.accountId} order by model`;
    expect(models).toHaveLength(101);
    const calls = Object.fromEntries(models.map(({ model, calls }) => [model, calls]));
    expect([calls['other models'], calls['model-5'], calls['model-99'], calls['model-100']]).toEqual([
      3,
      2,
      1,
      undefined,
    ]);
  });

  it('that was refused counts a call without tokens; one with an unknown end counts its whole reservation', async () => {
    const { call, sums } = await openLedger();
    const [one, other] = [idOf(await reserve(database, call)), idOf(await reserve(database, { ...call, tokens: 70 }))];
    expect(await settle(database, { accountId: call.accountId, id: one }, [9, 9], 'refused')).toBe(0);
    expect(await settle(database, { accountId: call.accountId, id: other }, [9, 9], 'unknown')).toBe(70);
    expect(await sums()).toEqual([2, 0, 70, 0]);
  });

  it.each([
    ['account', /^The account's daily budget of 250/],
    ['agent', /^The agent's daily limit of 250/],
    ['pipeline', /^The daily budget of pipeline \d+ of 250/],
  ] as const)("is refused over the %s's budget, and accepted up to it", async (whose, refusal) => {
    const { call, sums } = await openLimited(whose, 250);
    await settle(database, { accountId: call.accountId, id: idOf(await reserve(database, call)) }, [60, 40]);
    idOf(await reserve(database, call));
    const refused = await reserve(database, call);
    expect(refused).toEqual({ refusal: expect.stringMatching(refusal) });
    expect(refused).toEqual({
      refusal: expect.stringMatching(/AI tokens is used up \(200 used or reserved, 100 needed\)$/),
    });
    expect(await sums()).toEqual([1, 60, 40, 100]);
    idOf(await reserve(database, { ...call, tokens: 50 }));
    expect(await reserve(database, { ...call, tokens: 1 })).toHaveProperty('refusal');
    idOf(await reserve(database, { ...call, day: '2026-11-21', tokens: 250 }));
  });

  it('counts only for its own agent and pipeline', async () => {
    const { crew, call } = await openLedger({}, { daily_limit: 100 });
    const other = await crew.agent({ daily_limit: 100 });
    await crew.account.client.agents.settings.update({ body: { pipeline_budgets: { [crew.pipeline.id]: 150 } } });
    idOf(await reserve(database, { ...call, pipelineId: crew.pipeline.id }));
    idOf(await reserve(database, { ...call, agentId: other.id, tokens: 50 }));
    expect(await reserve(database, { ...call, agentId: other.id, tokens: 51 })).toHaveProperty('refusal');
    idOf(await reserve(database, { ...call, agentId: other.id, tokens: 50, pipelineId: crew.pipeline.id }));
  });

  it.each(owners)('succeeds 3 times of 20 at once where the %s has room for 3', async (whose) => {
    const { call, sums } = await openLimited(whose, 399);
    const models = Array.from({ length: 20 }, (_, at) => (at % 2 ? 'a' : 'b'));
    const results = await Promise.all(models.map((model) => reserve(database, { ...call, model })));
    expect(results.filter((result) => 'call' in result)).toHaveLength(3);
    expect(await sums()).toEqual([0, 0, 0, 300]);
  });

  it('leaves sums equal to the calls, however many are reserved and settled at once', async () => {
    const { call, sums } = await openLedger({ daily_budget: 1_000 });
    const outcomes = ['answered', 'refused', 'unknown'] as const;
    const work = Array.from({ length: 30 }, async (_, at) => {
      const reserved = await reserve(database, { ...call, model: `model-${at % 3}` });
      if ('refusal' in reserved) return;
      const [used, used1] = [await sums(), outcomes[at % 3]!];
      expect(used[1] + used[2] + used[3]).toBeLessThanOrEqual(1_000);
      await settle(database, { accountId: call.accountId, id: reserved.call }, [50, 25], used1);
    });
    await Promise.all(work);
    const [row] = await database`
      select count(*)::int as calls, sum(prompt_tokens)::int as prompt, sum(completion_tokens)::int as completion
      from ai_calls where account_id = ${call.accountId} and outcome is not null`;
    expect(await sums()).toEqual([row!.calls, row!.prompt, row!.completion, 0]);
    expect(row!.calls).toBeGreaterThan(9);
  });
});

describe('a call that is never settled', () => {
  it('counts as its whole reservation after 15 minutes', async () => {
    const { call, sums } = await openLedger();
    const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000);
    const recent = idOf(await reserve(database, { ...call, tokens: 7 }, ago(14)));
    idOf(await reserve(database, { ...call, tokens: 500 }, ago(16)));
    await waitFor('the old call to be settled', async () => {
      await inTransaction(database, (tx) => settleLostCalls.run({ tx, now: new Date() } as never, allAccounts));
      return (await sums())[3] === 7;
    });
    expect(await sums()).toEqual([1, 0, 500, 7]);
    expect(await settle(database, { accountId: call.accountId, id: recent }, [3, 1])).toBe(4);
  });

  it('is settled at once if its plan is started again', async () => {
    const { call, sums } = await openLedger();
    for (const tokens of [10, 20]) idOf(await reserve(database, { ...call, planId: 5, tokens }));
    await settle(
      database,
      { accountId: call.accountId, id: idOf(await reserve(database, { ...call, planId: 5, tokens: 5 })) },
      [1, 1],
    );
    idOf(await reserve(database, { ...call, planId: 6, tokens: 40 }));
    const settled = () => inTransaction(database, (tx) => settleOpenCalls(tx, call.accountId, 5, new Date()));
    expect([await settled(), await settled()]).toEqual([30, 0]);
    expect(await sums()).toEqual([3, 1, 31, 40]);
  });

  it('counts once in the tokens of its plan, even if its response arrives late', async () => {
    const { call } = await openLedger();
    const { accountId, agentId } = call;
    const request: PlanRequest = {
      accountId,
      agentId,
      contactId: randomUUID(),
      contactNumber: 1,
      trigger: 'manual',
      triggerText: '',
      triggerChannel: null,
      triggerId: null,
      goal: '',
      followUps: 0,
      trace: null,
    };
    const planId = (await inTransaction(database, (tx) =>
      insertPlanRequest(tx, request, new Date(Date.now() + 3_600_000)),
    ))!;
    const id = idOf(await reserve(database, { ...call, planId, tokens: 10 }));
    expect(await inTransaction(database, (tx) => settleOpenCalls(tx, accountId, planId, new Date()))).toBe(10);
    const result = { outcome: 'answered', promptTokens: 3, completionTokens: 1 } as const;
    const late = () => inTransaction(database, (tx) => settleCall(tx, { accountId, planId, id }, result, new Date()));
    expect(await late()).toBe(10);
    expect(await database`select tokens from plans where id = ${planId}`).toEqual([{ tokens: 10 }]);
  });
});
