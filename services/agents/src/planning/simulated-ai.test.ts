import { describe, expect, it } from '@jest/globals';
import { documentOf } from '../../test/planning.ts';
import { type PlanningDocument, planningPrompt, repairPrompt } from './prompt.ts';
import { readCompletion } from './read-completion.ts';
import { sandboxCompletion, shortened, simulatedCompletion } from './simulated-ai.ts';
import { startSimulatedServer } from './simulated-server.ts';

const source = { id: '019ab000-0000-7000-8000-000000000001', title: 'Opening hours', kind: 'article' as const };
const passage = { source, headings: [], text: 'We open at 9.', exact: false };

/** Returns the simulated plan for a document, as it is stored. */
function planFor(more: Partial<PlanningDocument> = {}) {
  const document = documentOf(more);
  const completion = sandboxCompletion(planningPrompt(document, document.trigger.text));
  const plan = readCompletion(completion.choices[0]!.message.content, { document, followUps: 0 });
  if ('problem' in plan) throw new Error(plan.problem);
  return plan;
}

describe('a simulated plan', () => {
  it("quotes the best passage on the customer's channel, names its source, and notes the question", () => {
    const plan = planFor({ passages: [passage, { ...passage, text: 'Something else.' }] });
    expect(plan.goal).toMatch(/^Simulated plan: /);
    expect(plan.rationale).toMatch(/^Simulated plan: /);
    expect(plan.steps).toMatchObject([
      { action: 'send_message', params: { channel: 'whatsapp', body: 'We open at 9. (from "Opening hours")' } },
      { action: 'add_note', params: { body: 'Asked: When do you open?' } },
    ]);
  });

  it('says that a colleague will answer if no passage fits', () => {
    const [step] = planFor().steps;
    expect(step!.params).toMatchObject({ body: 'Thank you for your message. A colleague will answer you soon.' });
  });

  it('quotes an FAQ with answer_exactly', () => {
    const [step] = planFor({ passages: [{ ...passage, text: 'At 9.', exact: true }] }).steps;
    expect(step).toMatchObject({ params: { body: 'At 9.' }, editable: [] });
  });

  it('uses a channel that reaches the contact', () => {
    const contact = { ...documentOf().contact, channels: ['email' as const] };
    const [step] = planFor({ contact, trigger: { kind: 'manual', channel: null, text: 'Say hello' } }).steps;
    expect(step!.params).toMatchObject({ channel: 'email', channel_locked: false });
  });

  it.each<[string, Partial<PlanningDocument>, string[]]>([
    ['no note without a deal', { deal: null }, ['send_message']],
    ['no note that is switched off', { agent: { ...documentOf().agent, actions: ['send_message'] } }, ['send_message']],
    ['no message that is switched off', { agent: { ...documentOf().agent, actions: ['add_note'] } }, ['add_note']],
    ['no step if no action is available', { agent: { ...documentOf().agent, actions: [] } }, []],
  ])('has %s', (_, document, actions) => {
    expect(planFor(document).steps.map(({ action }) => action)).toEqual(actions);
  });

  it.each<[string, (text: string) => Partial<PlanningDocument>]>([
    ['the customer wrote', (text) => ({ trigger: { kind: 'inbound_message', channel: 'whatsapp', text } })],
    ['is the goal', (text) => ({ trigger: { kind: 'manual', channel: null, text: '' }, goal: text })],
  ])('is what %s, if that is a JSON object with steps', (_, documentWith) => {
    const step = {
      action: 'add_note',
      title: 'Ring',
      reason: 'They asked',
      delay_minutes: 30,
      params: { body: 'Ring them' },
    };
    const given = documentWith(JSON.stringify({ goal: 'Ring back', steps: [step] }));
    const plan = planFor(given);
    expect(plan).toMatchObject({
      goal: 'Ring back',
      steps: [{ action: 'add_note', delayMinutes: 30, params: { body: 'Ring them' } }],
    });
    const deep = `{"steps":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;
    for (const text of ['[{"steps":[]}]', '{"goal":"x"}', '"steps"', '{"steps":', deep])
      expect(planFor(documentWith(text)).goal).toMatch(/^Simulated plan: /);
    expect(planFor(documentWith('{"steps":[]}'))).toMatchObject({ goal: 'Simulated plan: as it was given', steps: [] });
    // The demo's provider serves a live account, so it never uses a customer's message as a plan.
    const document = documentOf(given);
    const { content } = simulatedCompletion(planningPrompt(document, document.trigger.text)).choices[0]!.message;
    expect(JSON.parse(content).goal).toMatch(/^Simulated plan: /);
  });

  it("is the customer's whole message even if the document has only its beginning", () => {
    const long = JSON.stringify({ goal: 'x'.repeat(400), rationale: '\n', steps: [] });
    const document = documentOf({
      trigger: { kind: 'inbound_message', channel: 'whatsapp', text: long.slice(0, 100) },
    });
    const completion = sandboxCompletion(planningPrompt(document, long));
    expect(completion.choices[0]!.message.content).toBe(long);
    expect(completion.usage.completion_tokens).toBeLessThan(1_500);
    const larger = JSON.stringify({ goal: 'x'.repeat(20_000), steps: [] });
    expect(sandboxCompletion(planningPrompt(document, larger)).usage.completion_tokens).toBe(1_500);
  });

  it('is the same for the same request, in the format of a completion', () => {
    const { messages } = planningPrompt(documentOf(), 'When do you open?');
    const completion = simulatedCompletion({ messages });
    expect(simulatedCompletion({ messages })).toEqual(completion);
    const { content } = completion.choices[0]!.message;
    const prompt = messages.reduce((sum, message) => sum + message.content.length, 0);
    const [prompt_tokens, completion_tokens] = [Math.ceil(prompt / 4), Math.ceil(content.length / 4)];
    const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
    expect(completion).toMatchObject({ object: 'chat.completion', model: 'simulated', usage });
  });

  it('is also made for a repair prompt', () => {
    const asked = planningPrompt(documentOf({ passages: [passage] }), null);
    const corrected = simulatedCompletion(repairPrompt(asked, { text: 'Hm', isCutOff: false }, 'it is no JSON'));
    expect(corrected.choices).toEqual(simulatedCompletion(asked).choices);
  });
});

describe('shortening a text', () => {
  it.each([
    ['One. Two. Three.', 100, 'One. Two. Three.'],
    ['One. Two. Three.', 12, 'One. Two.'],
    ['One two three four', 12, 'One two …'],
    [`${'🙂'.repeat(10)}`, 5, '🙂🙂 …'],
  ])('ends with a sentence, or a word: %s', (text, length, short) => {
    expect(shortened(text, length)).toBe(short);
  });
});

const post = (url: string, body: unknown) =>
  fetch(url, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) });

it('the simulated server responds like an OpenAI-compatible provider, and accepts messages', async () => {
  const server = await startSimulatedServer(0, '127.0.0.1');
  try {
    const { messages } = planningPrompt(documentOf({ passages: [passage] }), null);
    const completed = await post(`${server.url}/v1/chat/completions`, { model: 'any', messages, max_tokens: 10 });
    expect(await completed.json()).toEqual(JSON.parse(JSON.stringify(simulatedCompletion({ messages }))));
    expect(await (await post(`${server.url}/messages`, {})).json()).toEqual({ id: expect.any(String) });
    for (const path of ['/healthz', '/readyz']) expect((await fetch(`${server.url}${path}`)).status).toBe(200);
    const refusals = [
      await fetch(`${server.url}/v1/models`),
      await fetch(`${server.url}/v1/chat/completions`),
      await post(`${server.url}/v1/chat/completions`, 'no JSON'),
      await post(`${server.url}/v1/chat/completions`, { messages: [] }),
      await post(`${server.url}/v1/chat/completions`, 'x'.repeat(1_048_577)),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([404, 404, 400, 400, 413]);
    for (const refusal of refusals)
      expect(await refusal.json()).toMatchObject({ error: { message: expect.any(String) } });
  } finally {
    await server.stop();
  }
});
