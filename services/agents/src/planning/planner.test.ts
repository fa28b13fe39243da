import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { apiKey, billed, makeLiveAgent, message, openDesk, planOf, says, startFakeAi } from '../../test/planning.ts';

const ai = await startFakeAi();
const platform = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'] });
beforeEach(() => {
  ai.requests = [];
  ai.otherwise = says(planOf());
});
afterAll(async () => {
  await platform.stop();
  await ai.stop();
});

describe('a plan for a contact without a phone number', () => {
  it('answers on the channel of the message', async () => {
    const desk = await openDesk(platform, ai);
    const { client } = desk.account;
    const hidden = { from: null, user_id: 'DE.1349120865530274', name: 'Ada' };
    await desk.write('Hello', undefined, hidden);
    const { data } = await platform.event(desk.account.id, 'message.received');
    await client.crm.deals.create({ body: { title: 'Tea', contact: data.contact.id } });
    await desk.write('When do you open?', undefined, hidden);
    const { id, steps } = await desk.made();
    expect(steps).toMatchObject([{ params: { channel: 'whatsapp', body: 'We open at 9.' } }]);
    await client.agents.plans.approve({ params: { plan_id: id }, body: {} });
    const { contact, to } = await waitFor('the answer', async () => (await client.messages.list({})).data[0]);
    expect([contact, to]).toEqual([data.contact, 'DE.1349120865530274']);
  });
});

describe("a plan for a customer's message", () => {
  it('is made with one AI call and waits for approval', async () => {
    const desk = await openDesk(platform, ai);
    const text = 'He said "when do you open?"\nThanks — ☕ \\o/';
    expect((await desk.write(text)).status).toBe(200);
    const plan = await desk.made();
    expect(plan).toMatchObject({
      agent: { id: desk.agentId, name: 'Robin' },
      contact: { id: desk.contact.number, uuid: desk.contact.id, name: 'Casey Customer' },
      deal: { title: 'Tea for the office', stage: 'New' },
      pipeline: { id: desk.pipeline.id, name: desk.pipeline.name },
      trigger: 'inbound_message',
      trigger_excerpt: text,
      goal: 'Answer the question',
      rationale: 'They asked.',
      status: 'awaiting_approval',
      approval_mode: 'plan',
      approval_reasons: ['Look at the wording'],
      tokens: billed.total_tokens,
      model: 'gpt-test',
      last_error: null,
      steps: [
        {
          order: 1,
          action: 'send_message',
          status: 'pending',
          requires_approval: false,
          detail: 'whatsapp',
          editable: ['body'],
          params: { channel: 'whatsapp', body: 'We open at 9.', channel_locked: true },
        },
      ],
    });
    expect(Date.parse(plan.expires_at!) - Date.parse(plan.created)).toBeGreaterThanOrEqual(259_200_000);
    expect(ai.requests).toHaveLength(1);
    const [{ method, path, headers, body, document }] = ai.requests as [(typeof ai.requests)[0]];
    expect([method, path]).toEqual(['POST', '/v1/chat/completions']);
    expect(headers).toMatchObject({
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'user-agent': 'customer-platform-agents/1.0',
    });
    expect(body).toMatchObject({ model: 'gpt-test', max_tokens: 1_500, response_format: { type: 'json_object' } });
    expect(body.messages.map(({ role }: { role: string }) => role)).toEqual(['system', 'user']);
    expect(body.messages[1].content).toContain(text);
    expect(document).toMatchObject({
      agent: { role: 'Answers what customers ask.', workflow: [{ id: 'answer' }] },
      trigger: { kind: 'inbound_message', channel: 'whatsapp', text },
      contact: { name: 'Casey Customer', channels: ['whatsapp', 'sms'] },
      deal: { title: 'Tea for the office', stage: { name: 'New' } },
      conversation: [],
    });
    const event = await platform.event(desk.account.id, 'plan.awaiting_approval');
    expect(event.data).toMatchObject({ plan, previous: { status: 'running', steps: [], goal: '' } });
  });

  it('is not made if the contact has no open deal in a pipeline of a live agent', async () => {
    const desk = await openDesk(platform, ai);
    expect((await desk.write('Who are you?', '+4930555001')).status).toBe(200);
    await desk.write('When do you open?');
    await desk.made();
    const database = platform.database('agents');
    const rows = await waitFor('the other to be dropped', async () => {
      const all = await database`select trigger_text from plans where account_id = ${desk.account.id}`;
      return all.length === 1 ? all : undefined;
    });
    expect(rows[0]!.trigger_text).toBe('When do you open?');
    expect(ai.requests).toHaveLength(1);
  });

  it('is made by the live agent with the lowest id that works the pipeline of the newest open deal', async () => {
    const desk = await openDesk(platform, ai);
    const { client } = desk.account;
    const other = await client.crm.pipelines.create({ body: { name: 'Other', stages: [{ name: 'Begun' }] } });
    const paused = await makeLiveAgent(client, { pipelines: [other.id] });
    await client.agents.pause({ params: { agent_id: paused } });
    const second = await makeLiveAgent(client, { name: 'Second', pipelines: [desk.pipeline.id, other.id] });
    await makeLiveAgent(client, { pipelines: [other.id] });
    await client.crm.deals.create({ body: { title: 'Newer', pipeline: other.id, contact: desk.contact.id } });
    await desk.write('Hello?');
    expect(await desk.made()).toMatchObject({ agent: { id: second }, deal: { title: 'Newer', stage: 'Begun' } });
  });

  it('includes the previous messages', async () => {
    const desk = await openDesk(platform, ai);
    await desk.write('First question');
    const first = await desk.made();
    await desk.write('Second question');
    await desk.made(({ id, steps }) => id > first.id && steps.length > 0);
    const { trigger, conversation } = ai.requests.at(-1)!.document!;
    expect(trigger.text).toBe('Second question');
    expect(conversation).toMatchObject([{ from: 'contact', channel: 'whatsapp', text: 'First question' }]);
  });
});

describe('the maximum usage of a call', () => {
  it.each([
    ['hieroglyphs', '𓀀𓂀𓃻'],
    ['rare ideographs', '𠀋𪚥𫝑'],
    ['symbols', '⨌⟁҉꙰'],
    ['control characters', '\u0001\u0002'],
  ])('is reserved before it is made, even if its prompt is full of %s', async (_, signs) => {
    const desk = await openDesk(platform, ai);
    const text = signs.repeat(Math.floor(4_000 / signs.length));
    ai.otherwise = ({ body }, response) => {
      const [instructions, asked] = body.messages.map(({ content }: { content: string }) => Buffer.byteLength(content));
      const prompt_tokens = Math.ceil(instructions / 4) + asked + 2 * 4;
      says(planOf(), { prompt_tokens, completion_tokens: body.max_tokens })({} as never, response);
    };
    await desk.write(text);
    const plan = await desk.made();
    const [call] = await platform.database('agents')`
      select reserved_tokens from ai_calls where account_id = ${desk.account.id}`;
    expect(plan).toMatchObject({ status: 'awaiting_approval', trigger_excerpt: expect.stringContaining(signs) });
    expect(plan.tokens).toBeLessThanOrEqual(call!.reserved_tokens);
  });
});

it('a requested plan has the given goal and needs no deal', async () => {
  ai.otherwise = says(planOf(message('Hello', {}), message('Hello again', { channel: 'sms' })));
  const desk = await openDesk(platform, ai);
  await desk.account.client.crm.deals.lose({ params: { deal_id: desk.deal.id }, body: {} });
  const asked = await desk.ask('Win them back');
  expect(asked).toMatchObject({ trigger: 'manual', status: 'running', goal: 'Win them back', steps: [], tokens: 0 });
  const plan = await desk.made();
  expect(plan).toMatchObject({ id: asked.id, deal: null, pipeline: null, status: 'awaiting_approval' });
  expect(plan.steps.map(({ params, editable }) => ({ params, editable }))).toEqual([
    { params: { channel: 'whatsapp', body: 'Hello', channel_locked: false }, editable: ['body', 'channel'] },
    { params: { channel: 'sms', body: 'Hello again', channel_locked: false }, editable: ['body', 'channel'] },
  ]);
  expect(ai.requests[0]!.document).toMatchObject({ goal: 'Win them back', deal: null });
});

describe('the finished plan', () => {
  it('has each step as the AI planned it, due after its delay', async () => {
    const desk = await openDesk(platform, ai);
    const stage = desk.pipeline.stages[1]!;
    ai.otherwise = says(
      planOf(
        message('Hello'),
        { action: 'add_note', params: { body: 'They asked' } },
        { action: 'follow_up', delay_minutes: 1_440, params: { goal: 'Ask whether it helped' } },
        { action: 'move_stage', title: 'On', reason: 'It goes on', delay_minutes: 5, params: { stage: stage.id } },
      ),
    );
    await desk.write('Hello?');
    const { steps } = await desk.made();
    expect(
      steps.map(({ action, body, detail, editable, params }) => ({ action, body, detail, editable, params })),
    ).toEqual([
      expect.objectContaining({ action: 'send_message', body: 'Hello', detail: 'whatsapp' }),
      { action: 'add_note', body: 'They asked', detail: null, editable: ['body'], params: { body: 'They asked' } },
      {
        action: 'follow_up',
        body: null,
        detail: 'Ask whether it helped',
        editable: ['goal'],
        params: { goal: 'Ask whether it helped' },
      },
      { action: 'move_stage', body: null, detail: stage.name, editable: ['stage'], params: { stage: stage.id } },
    ]);
    const [first, , followUp, moved] = steps.map(({ run_at }) => Date.parse(run_at)) as [
      number,
      number,
      number,
      number,
    ];
    expect([followUp - first, moved - first]).toEqual([86_400_000, 300_000]);
  });

  it('waits for approval step by step if the agent requires that', async () => {
    const desk = await openDesk(platform, ai, { agent: { approval_mode: 'step', approval_timeout_seconds: 60 } });
    ai.otherwise = says({ ...planOf(), approval_reasons: [] });
    await desk.write('Hello?');
    const plan = await desk.made();
    expect(plan).toMatchObject({
      status: 'awaiting_approval',
      approval_mode: 'step',
      approval_reasons: ["Each step of the agent's plans needs approval"],
      steps: [{ status: 'awaiting_approval', requires_approval: true }],
    });
    expect(Date.parse(plan.expires_at!) - Date.parse(plan.created)).toBeLessThan(90_000);
  });

  it('runs at once if the agent needs no approval', async () => {
    const desk = await openDesk(platform, ai, { agent: { approval_mode: 'none' } });
    ai.otherwise = says(planOf({ action: 'add_note', params: { body: 'They asked' } }));
    await desk.write('Hello?');
    const plan = await desk.made(({ status }) => status === 'completed' || status === 'failed');
    expect(plan).toMatchObject({ status: 'completed', expires_at: null, steps: [{ status: 'done' }] });
    // An event that asks for approval would have arrived before this one.
    await platform.event(desk.account.id, 'plan.completed');
    expect(platform.events(desk.account.id).some(({ type }) => type === 'plan.awaiting_approval')).toBe(false);
  });

  it('is completed if it has no steps', async () => {
    const desk = await openDesk(platform, ai);
    ai.otherwise = says({ ...planOf(), steps: [] });
    await desk.write('Thanks!');
    expect(await desk.made()).toMatchObject({ status: 'completed', steps: [], expires_at: null, last_error: null });
    const { data } = await platform.event(desk.account.id, 'plan.completed');
    expect(data).toMatchObject({ plan: { status: 'completed' }, previous: { status: 'running' } });
  });

  it('is discarded if the agent was deleted meanwhile, but its cost is counted', async () => {
    const desk = await openDesk(platform, ai);
    const { client } = desk.account;
    ai.otherwise = async (request, response) => {
      await client.agents.delete({ params: { agent_id: desk.agentId } });
      says(planOf())(request, response);
    };
    await desk.write('Hello?');
    const plan = await desk.made(({ tokens }) => tokens > 0);
    expect(plan).toMatchObject({ status: 'cancelled', steps: [], tokens: billed.total_tokens });
  });
});

it("a sandbox account's plans are made without calling an AI", async () => {
  const { testClient: client } = await platform.account();
  const contact = await client.cdp.contacts.create({ body: { name: 'Casey', phone: '+493010000001' } });
  const params = { agent_id: await makeLiveAgent(client) };
  const { id } = await client.agents.plans.request({ params, body: { contact: contact.id, goal: 'Say hello' } });
  const plan = await waitFor('the plan', async () => {
    const last = await client.agents.plans.get({ params: { plan_id: id } });
    return last.status === 'running' ? undefined : last;
  });
  expect(plan).toMatchObject({ status: 'awaiting_approval', model: 'simulated', goal: 'Simulated plan: Say hello' });
  expect(plan.steps).toMatchObject([{ action: 'send_message', params: { channel: 'whatsapp' } }]);
  const { models } = await client.agents.usage.get({ query: {} });
  expect(models).toMatchObject([{ provider: 'simulated', model: 'simulated', calls: 1, tokens: plan.tokens }]);
  expect(ai.requests).toHaveLength(0);
});

describe('knowledge', () => {
  const ready = async (account: Awaited<ReturnType<typeof openDesk>>['account'], source: object) => {
    const { id } = await account.client.agents.knowledge.sources.create({ body: source as never });
    return await waitFor('the source to be read', async () => {
      const read = await account.client.agents.knowledge.sources.get({ params: { source_id: id } });
      return read.status === 'ready' ? read : undefined;
    });
  };

  it.each([
    ['Do you deliver on Saturday?', 'until noon'],
    ['すみません、土曜日は配送していますか？🙏', '正午まで'],
  ])('is sent to the AI as passages with the titles of their sources: %s', async (asked, told) => {
    const desk = await openDesk(platform, ai);
    const body = '# Saturday\n\nOn Saturday we deliver until noon.\n\n# 配達\n\n土曜日の配送は正午までです。';
    const source = await ready(desk.account, { kind: 'article', title: 'Delivery', body });
    await desk.write(asked);
    await desk.made();
    const { passages } = ai.requests[0]!.document!;
    expect(passages[0]).toMatchObject({
      source: { id: source.id, title: 'Delivery', kind: 'article' },
      text: expect.stringContaining(told),
      exact: false,
    });
  });

  it('with answer_exactly is sent verbatim, whether the AI quotes it or writes its own text', async () => {
    const desk = await openDesk(platform, ai);
    const body = 'Mo–Fr 9–17 Uhr.\nSa geschlossen.';
    const faq = await ready(desk.account, { kind: 'faq', title: 'When do you open?', body, answer_exactly: true });
    const exactly = { body, editable: [], params: { channel: 'whatsapp', body, channel_locked: true } };
    ai.otherwise = says(planOf({ action: 'send_message', params: { channel: 'whatsapp', answer: faq.id } }));
    await desk.write('When do you open?');
    const first = await desk.made();
    expect(first.steps).toMatchObject([exactly]);
    ai.otherwise = says(planOf(message('We open some time.')));
    await desk.write('when do you open');
    const second = await desk.made(({ id, steps }) => id > first.id && steps.length > 0);
    expect(second.steps).toMatchObject([exactly]);
    expect(ai.requests.map(({ document }) => document!.passages[0])).toMatchObject([{ exact: true }, { exact: true }]);
  });
});
