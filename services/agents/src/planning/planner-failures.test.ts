import { messageReceived } from '@customer-platform/contracts/messaging';
import { searchPermits } from '@customer-platform/service-kit';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type AiReply,
  apiKey,
  billed,
  type Desk,
  makeLiveAgent,
  message,
  openDesk,
  planOf,
  replies,
  says,
  startFakeAi,
} from '../../test/planning.ts';

const ai = await startFakeAi();
const platform = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'] });
beforeEach(() => {
  ai.requests = [];
  ai.replies = [];
  ai.otherwise = says(planOf());
});
afterAll(async () => {
  await platform.stop();
  await ai.stop();
});

/** Returns the ledger's entries of the desk's agent. */
async function calls({ account, agentId }: Desk, where = platform) {
  return await where.database('agents')`
    select outcome, prompt_tokens, completion_tokens, reserved_tokens from ai_calls
    where account_id = ${account.id} and agent_id = ${agentId} order by began_at, id`;
}

describe('an unusable completion', () => {
  it('is corrected once by the AI, which is told the problem', async () => {
    const desk = await openDesk(platform, ai);
    ai.replies = [says('Sure, I will answer that!')];
    await desk.write('Hello?');
    expect(await desk.made()).toMatchObject({ status: 'awaiting_approval', tokens: 2 * billed.total_tokens });
    const [first, second] = ai.requests.map(({ body }) => body.messages) as [
      object[],
      { role: string; content: string }[],
    ];
    expect(second.slice(0, 2)).toEqual(first);
    expect(second[2]).toEqual({ role: 'assistant', content: 'Sure, I will answer that!' });
    expect(second[3]!.content).toContain('it must be one JSON object');
    expect(ai.requests[1]!.body.max_tokens).toBe(1_500);
    expect(await calls(desk)).toHaveLength(2);
  });

  it('fails the plan the second time', async () => {
    const desk = await openDesk(platform, ai);
    ai.otherwise = says(planOf(message('')));
    await desk.write('Hello?');
    const plan = await desk.made();
    expect(plan).toMatchObject({ status: 'failed', steps: [], tokens: 2 * billed.total_tokens });
    expect(plan).toMatchObject({ deal: { title: 'Tea for the office' }, model: 'gpt-test' });
    expect(plan.last_error).toMatch(/^The AI's plan could not be used: steps\[0]\.params\.body/);
    expect(ai.requests).toHaveLength(2);
    const { data } = await platform.event(desk.account.id, 'plan.failed');
    expect(data).toMatchObject({ plan: { id: plan.id }, previous: { status: 'running', last_error: null } });
  });

  it('counts as its whole reservation if it is no completion, unless it reports its usage', async () => {
    const desk = await openDesk(platform, ai);
    ai.replies = [replies(200, '<html>'), replies(200, { usage: billed })];
    await desk.write('Hello?');
    expect(await desk.made()).toMatchObject({ status: 'failed' });
    const [html, empty] = (await calls(desk)) as unknown as Record<string, number>[];
    expect(html).toMatchObject({ outcome: 'unknown', completion_tokens: html!.reserved_tokens });
    expect(empty).toMatchObject({ outcome: 'answered', prompt_tokens: 700, completion_tokens: 77 });
  });

  it('without usage counts as the upper bound of its texts', async () => {
    const desk = await openDesk(platform, ai);
    ai.otherwise = says(planOf(), null);
    await desk.write('Hello?');
    await desk.made();
    const [call] = (await calls(desk)) as unknown as Record<string, number>[];
    const [instructions, asked] = ai.requests[0]!.body.messages.map(({ content }: { content: string }) => {
      return Buffer.byteLength(content);
    });
    const sent = Math.ceil(instructions / 2) + asked + 2 * 16;
    expect(call).toMatchObject({ prompt_tokens: sent, completion_tokens: JSON.stringify(planOf()).length });
  });
});

it('in parts is read without the reasoning', async () => {
  const desk = await openDesk(platform, ai);
  const text = JSON.stringify(planOf());
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: '{"goal": "Think"}' }] };
  const parts = [text.slice(0, 20), text.slice(20)].map((part) => ({ type: 'text', text: part }));
  const choices = [{ message: { role: 'assistant', content: [thinking, ...parts] }, finish_reason: 'stop' }];
  ai.otherwise = replies(200, { choices, usage: billed });
  await desk.write('Hello?');
  expect(await desk.made()).toMatchObject({ status: 'awaiting_approval', goal: 'Answer the question' });
  expect(ai.requests).toHaveLength(1);
});

it('a plan waits while searches of its account take all permits', async () => {
  const desk = await openDesk(platform, ai);
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const held = Array.from({ length: 101 }, () => searchPermits.use(desk.account.id, 'the test', () => over));
  await desk.write('Hello?');
  await waitFor('an attempt', async () => {
    const rows = await platform.database('agents')`
      select from plans where account_id = ${desk.account.id} and planning_tries = 0
        and planning_error like '%the search of knowledge is busy%'`;
    return rows.length > 0;
  });
  end();
  await Promise.allSettled(held);
  expect(await desk.made()).toMatchObject({ status: 'awaiting_approval' });
});

/** Returns an error reply with this message. */
const refuses = (status: number, text: string) =>
  replies(status, { error: { message: text, type: 'invalid', code: null } });

describe('a completion that was cut off', () => {
  const cutOff = says('{"goal": "Answ', billed, 'length');

  it('is requested again with four times the tokens, which are reserved', async () => {
    const desk = await openDesk(platform, ai);
    ai.replies = [cutOff];
    await desk.write('Hello?');
    expect(await desk.made()).toMatchObject({ status: 'awaiting_approval' });
    expect(ai.requests.map(({ body }) => body.max_tokens)).toEqual([1_500, 6_000]);
    expect(ai.requests[1]!.body.messages.at(-1).content).toContain('it was cut off after 1500 tokens');
    const [first, second] = (await calls(desk)) as unknown as { reserved_tokens: number }[];
    expect(second!.reserved_tokens - first!.reserved_tokens).toBeGreaterThan(4_500);
  });

  it('is requested again only once', async () => {
    const desk = await openDesk(platform, ai);
    ai.otherwise = cutOff;
    await desk.write('Hello?');
    const lastError = "The AI's plan could not be used: it was cut off after 6000 tokens";
    expect(await desk.made()).toMatchObject({ status: 'failed', last_error: lastError });
    expect(ai.requests).toHaveLength(2);
  });
});

describe('a model that refuses max_tokens', () => {
  const words =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";

  it('gets max_completion_tokens at once, and from then on', async () => {
    const desk = await openDesk(platform, ai, { settings: { model: 'gpt-newer' } });
    ai.otherwise = (request, response) => {
      const reply = 'max_tokens' in request.body ? refuses(400, words) : says(planOf());
      reply(request, response);
    };
    const bounds = () => ai.requests.map(({ body }) => [body.max_tokens, body.max_completion_tokens]);
    await desk.write('Hello?');
    const first = await desk.made();
    expect(first).toMatchObject({ status: 'awaiting_approval', tokens: billed.total_tokens });
    expect(bounds()).toEqual([
      [1_500, undefined],
      [undefined, 1_500],
    ]);
    await desk.write('And again?');
    await desk.made(({ id, steps }) => id > first.id && steps.length > 0);
    expect(bounds().slice(2)).toEqual([[undefined, 1_500]]);
    expect(await calls(desk)).toMatchObject([{ outcome: 'answered' }, { outcome: 'answered' }]);
  });

  it('is called at most twice if it refuses both parameters', async () => {
    const desk = await openDesk(platform, ai, { settings: { model: 'gpt-neither' } });
    ai.otherwise = refuses(400, words);
    await desk.write('Hello?');
    expect(await desk.made()).toMatchObject({
      status: 'failed',
      tokens: 0,
      last_error: expect.stringContaining('(400)'),
    });
    expect(ai.requests).toHaveLength(2);
    expect(await calls(desk)).toMatchObject([{ outcome: 'refused' }]);
  });
});

describe('a provider that refuses', () => {
  it.each<[string, AiReply, string]>([
    ['the key', refuses(401, `Bad key ${apiKey}`), 'The AI provider refused the API key (401)'],
    ['the call', refuses(404, 'No model gpt-test'), 'The AI provider refused the call (404): No model gpt-test'],
    [
      'and repeats ends of the key',
      refuses(400, `Key ${apiKey.slice(0, 4)}***${apiKey.slice(-4)} no. ${'x'.repeat(500)}`),
      `The AI provider refused the call (400): Key … no. ${'x'.repeat(290)}`,
    ],
    ['and repeats the key', refuses(400, `Key ${apiKey}: no`), 'The AI provider refused the call (400)'],
    [
      'and repeats the key letter by letter',
      refuses(400, `Key: ${[...apiKey].join(' ')}`),
      'The AI provider refused the call (400)',
    ],
    [
      'and repeats parts of the key in capitals',
      refuses(
        400,
        `Key: ${apiKey
          .toUpperCase()
          .match(/.{1,3}/g)!
          .join(', ')}`,
      ),
      'The AI provider refused the call (400)',
    ],
    [
      'and repeats a part of the key in JSON of its own',
      replies(400, `[${apiKey.slice(5, 8)}, ${apiKey.slice(8, 11)}]`),
      'The AI provider refused the call (400)',
    ],
    [
      'with a redirect',
      replies(302, '', { location: 'http://127.0.0.1:1/' }),
      'The AI provider responded with a redirect (302), which is not followed',
    ],
  ])('%s fails the plan without another call, and nothing is counted', async (_, reply, lastError) => {
    const desk = await openDesk(platform, ai);
    ai.otherwise = reply;
    await desk.write('Hello?');
    expect(await desk.made()).toMatchObject({ status: 'failed', last_error: lastError, tokens: 0 });
    expect(ai.requests).toHaveLength(1);
    expect(await calls(desk)).toMatchObject([{ outcome: 'refused', prompt_tokens: 0, completion_tokens: 0 }]);
  });

  it('temporarily is called again, at most three times in total', async () => {
    const desk = await openDesk(platform, ai);
    ai.replies = [refuses(429, 'Slow down'), replies(503, 'upstream')];
    await desk.ask('Say hello');
    await waitFor('the first call', () => ai.requests.length === 1);
    expect(await desk.plans()).toMatchObject([{ status: 'running', steps: [], last_error: null }]);
    platform.clock.advance(2_000);
    await waitFor('the second call', () => ai.requests.length === 2);
    platform.clock.advance(10_000);
    expect(await desk.made()).toMatchObject({ status: 'awaiting_approval', tokens: billed.total_tokens });

    ai.otherwise = refuses(503, 'Overloaded');
    const { id } = await desk.ask('Say it again');
    for (const [count, pauseMs] of [
      [4, 2_000],
      [5, 10_000],
      [6, 60_000],
    ] as const) {
      await waitFor(`call ${count}`, () => ai.requests.length === count);
      await waitFor('the call to be settled', async () => (await calls(desk)).every(({ outcome }) => outcome !== null));
      platform.clock.advance(pauseMs);
    }
    const failed = await desk.made((plan) => plan.id === id && plan.status === 'failed');
    expect(failed).toMatchObject({ last_error: 'The AI provider responded with 503: Overloaded', tokens: 0 });
    expect(ai.requests).toHaveLength(6);
  });

  it('connections is called again, and fails the plan in the end', async () => {
    const closed = await startFakeAi();
    await closed.stop();
    const desk = await openDesk(platform, ai, { settings: { base_url: `${closed.url}/v1` } });
    await desk.ask('Say hello');
    for (const [count, pauseMs] of [
      [1, 2_000],
      [2, 10_000],
    ] as const) {
      await waitFor(`end ${count}`, async () => (await calls(desk)).filter(({ outcome }) => outcome).length === count);
      platform.clock.advance(pauseMs);
    }
    const lastError = 'The AI provider cannot be reached: it refuses connections';
    expect(await desk.made()).toMatchObject({ status: 'failed', last_error: lastError, tokens: 0 });
  });
});

/** Makes one call that gets `reply`. Expects the plan to fail and the whole reservation to count. */
async function expectCountedWhole(where: Platform, reply: AiReply, lastError: string) {
  const desk = await openDesk(where, ai);
  ai.otherwise = reply;
  await desk.write('Hello?');
  const plan = await desk.made();
  expect(plan).toMatchObject({ status: 'failed', last_error: lastError });
  const [call, ...others] = (await calls(desk, where)) as unknown as [{ outcome: string; reserved_tokens: number }];
  expect(others).toEqual([]);
  expect(call.outcome).toBe('unknown');
  expect(plan.tokens).toBe(call.reserved_tokens);
  expect(ai.requests).toHaveLength(1);
}

describe('a call with an unknown end', () => {
  it.each<[string, AiReply, string]>([
    [
      'gets too much',
      replies(200, JSON.stringify({ text: 'x'.repeat(70_000) })),
      "The AI provider's response is longer than 64 KiB",
    ],
    ['breaks off', (_, response) => void response.destroy(), 'The AI provider closed the connection before responding'],
  ])('since it %s counts as its whole reservation, and is not repeated', async (_, reply, lastError) => {
    await expectCountedWhole(platform, reply, lastError);
  });

  it('because of a timeout counts as its whole reservation and is not repeated', async () => {
    // Only this test has a short timeout. In other tests a slow response must not count as missing.
    const env = { AGENTS_AI_TIMEOUT_MS: '3000' };
    const impatient = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'], env });
    try {
      await expectCountedWhole(impatient, () => undefined, 'The AI provider did not respond within 3 s');
    } finally {
      await impatient.stop();
    }
  }, 60_000);

  it('leaves the conversation unchanged', async () => {
    const desk = await openDesk(platform, ai);
    ai.otherwise = replies(401, '');
    await desk.write('Hello?');
    expect(await desk.made()).toMatchObject({ status: 'failed' });
    expect((await desk.account.client.messages.list({ query: {} })).data).toEqual([]);
    const received = platform.events(desk.account.id).filter(({ type }) => type === messageReceived.kind);
    expect(received).toHaveLength(1);
  });
});

describe('a plan without its requirements', () => {
  it.each([
    ['base_url', { base_url: '' }],
    ['model', { model: '' }],
  ])('makes no call where the %s is not set', async (missing, settings) => {
    const desk = await openDesk(platform, ai, { settings });
    await desk.write('Hello?');
    const { status, last_error } = await desk.made();
    expect([status, last_error]).toEqual([
      'failed',
      `No AI provider is set up: set its ${missing} with PATCH /v1/agents/settings`,
    ]);
    expect(ai.requests).toHaveLength(0);
  });

  it('calls a provider that needs no key without one', async () => {
    const desk = await openDesk(platform, ai, { settings: { api_key: '' } });
    await desk.write('Hello?');
    expect(await desk.made()).toMatchObject({ status: 'awaiting_approval' });
    expect(ai.requests[0]!.headers.authorization).toBeUndefined();
  });

  it('makes no call over budget', async () => {
    const desk = await openDesk(platform, ai, { agent: { daily_limit: 100 } });
    await desk.write('Hello?');
    const { status, last_error, tokens } = await desk.made();
    expect([status, last_error, tokens]).toEqual([
      'failed',
      expect.stringContaining('daily limit of 100 AI tokens'),
      0,
    ]);
    expect(ai.requests).toHaveLength(0);
  });

  it('a plan waits for an unavailable module, and fails after 15 minutes', async () => {
    const without = await startPlatform({ services: ['cdp', 'crm', 'agents'] });
    try {
      const { client } = await without.account();
      const contact = await client.cdp.contacts.create({ body: { name: 'Casey', phone: '+493010000009' } });
      const params = { agent_id: await makeLiveAgent(client) };
      const { id } = await client.agents.plans.request({ params, body: { contact: contact.id, goal: 'Say hello' } });
      const database = without.database('agents');
      const tried = async () => {
        const [row] = await database`
          select 1 from plans where id = ${id} and planning_due_at > created_at and planning_tries = 0`;
        return row;
      };
      await waitFor('the plan to wait', tried);
      expect(await client.agents.plans.get({ params: { plan_id: id } })).toMatchObject({
        status: 'running',
        last_error: null,
      });
      without.clock.advance(15 * 60_000);
      const plan = await waitFor('the plan to fail', async () => {
        const last = await client.agents.plans.get({ params: { plan_id: id } });
        return last.status === 'failed' ? last : undefined;
      });
      expect(plan.last_error).toMatch(/^The plan could not be made: messaging does not respond/);
    } finally {
      await without.stop();
    }
  });
});
