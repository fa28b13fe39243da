import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { invalid } from '../../test/agents.ts';
import { openDesk, startFakeAi } from '../../test/planning.ts';

const ai = await startFakeAi();
const platform = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'] });
const desk = await openDesk(platform, ai);
afterAll(async () => {
  await platform.stop();
  await ai.stop();
});

const request = (body: unknown, agentId = desk.agentId) =>
  desk.account.request('POST', `/v1/agents/${agentId}/plans`, { body });
const contact = () => desk.contact.id;

describe('a plan', () => {
  it('exists from the request on and is made within seconds', async () => {
    const asked = await request({ contact: contact(), goal: 'Say hello' });
    expect(asked).toMatchObject({
      status: 202,
      body: {
        agent: { id: desk.agentId },
        contact: { id: desk.contact.number, uuid: contact(), name: 'Casey Customer' },
        trigger: 'manual',
        trigger_excerpt: 'Say hello',
        goal: 'Say hello',
        status: 'running',
        steps: [],
      },
    });
    expect(await desk.made(({ id, steps }) => id === asked.body.id && steps.length > 0)).toBeDefined();
  });

  it('needs no goal', async () => {
    const asked = await request({ contact: contact() });
    expect(asked).toMatchObject({ status: 202, body: { goal: '' } });
    const plan = await desk.made(({ id, steps }) => id === asked.body.id && steps.length > 0);
    expect(plan).toMatchObject({ trigger_excerpt: '', goal: 'Answer the question' });
  });
});

describe('a request', () => {
  it.each([
    ['contact', {}],
    ['contact', { contact: 'Casey' }],
    ['contact', { contact: '019ab000-0000-7000-8000-000000000001' }],
    ['goal', { goal: 'x'.repeat(501) }],
    ['goal', { goal: '' }],
  ])('is refused naming %s: %j', async (field, body) => {
    const given = field === 'goal' ? { contact: contact(), ...body } : body;
    expect(await request(given)).toMatchObject(invalid(field));
  });

  it('accepts a goal of 500 characters', async () => {
    expect((await request({ contact: contact(), goal: '🙂'.repeat(500) })).status).toBe(202);
  });

  it('is refused for a deleted contact, even one already in the copy', async () => {
    const { client } = desk.account;
    const gone = await client.cdp.contacts.create({ body: { name: 'Gone' } });
    expect((await request({ contact: gone.id })).status).toBe(202);
    await client.cdp.contacts.delete({ params: { contact_id: gone.id } });
    expect(await request({ contact: gone.id })).toMatchObject(invalid('contact'));
  });

  it('is refused for an agent that is not live', async () => {
    const { client } = desk.account;
    const draft = await client.agents.create({ body: { name: 'Draft', role: 'None yet' } });
    const refusal = { status: 409, body: { error: { code: 'invalid_state' } } };
    expect(await request({ contact: contact() }, draft.id)).toMatchObject(refusal);
    expect(await request({ contact: 'Casey' }, draft.id)).toMatchObject(invalid('contact'));
    const other = await openDesk(platform, ai);
    const params = { agent_id: other.agentId };
    const asked = { body: { contact: other.contact.id } };
    const ask = () => other.account.request('POST', `/v1/agents/${other.agentId}/plans`, asked);
    await other.account.client.agents.pause({ params });
    expect(await ask()).toMatchObject(refusal);
    await other.account.client.agents.goLive({ params });
    expect((await ask()).status).toBe(202);
    await other.account.client.agents.delete({ params });
    expect(await ask()).toMatchObject(refusal);
    const stopped = await waitFor('the plan to be stopped', async () => {
      return (await other.plans()).find(({ status }) => status === 'cancelled');
    });
    expect(stopped.decision_note).toBe('The agent was deleted');
  });
});
