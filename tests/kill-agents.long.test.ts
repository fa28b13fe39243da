import type { Client } from '@customer-platform/client';
import { type ProcessPlatform, startProcessPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type OwnAi, startOwnAi } from './own-ai.ts';
import { type OwnProvider, startOwnProvider } from './own-provider.ts';
import { killAndSeeBack } from './processes.ts';
import { hireAgent, retryingClient } from './setup.ts';

const kills = 4;
const plans = 60;

let platform: ProcessPlatform;
let provider: OwnProvider;
let ai: OwnAi;
let client: Client;
beforeAll(async () => {
  platform = await startProcessPlatform();
  [provider, ai] = [await startOwnProvider(), await startOwnAi()];
  client = retryingClient(platform.gatewayUrl, (await platform.account()).key);
  await client.messages.channels.put({ params: { channel: 'sms' }, body: provider.settings });
  await client.agents.settings.update({ body: ai.settings });
}, 120_000);
afterAll(async () => {
  await platform?.stop();
  await provider?.stop();
  await ai?.stop();
}, 60_000);

it(`does each step of ${plans} plans once when it is killed ${kills} times while it plans and runs them`, async () => {
  const pipeline = (await client.crm.pipelines.list()).data[0]!;
  const contact = await client.cdp.contacts.create({ body: { name: 'Casey', phone: '+4930901820' } });
  const deal = await client.crm.deals.create({ body: { title: 'Tea', contact: contact.id } });
  const params = { agent_id: await hireAgent(client, { pipelines: [pipeline.id], approval_mode: 'none' }) };
  ai.steps = [
    { action: 'send_message', params: { channel: 'sms', body: 'We will see to it.' } },
    { action: 'add_note', params: { body: 'x' } },
    { action: 'send_message', params: { channel: 'sms', body: 'It is done.' } },
  ];

  const ids: number[] = [];
  const ask = async () => {
    while (ids.length < plans) {
      ids.push(0);
      const place = ids.length - 1;
      const body = { contact: contact.id, goal: `Number ${place}` };
      ids[place] = (await client.agents.plans.request({ params, body, idempotencyKey: `plan-${place}` })).id;
    }
  };
  const asking = Promise.all([ask(), ask(), ask()]);
  for (let kill = 0; kill < kills; kill++) await killAndSeeBack(platform, 'agents');
  await asking;

  const all = await waitFor(
    'all plans to end',
    async () => {
      const { data } = await client.agents.plans.list({ query: { limit: 100 } });
      return data.every(({ status }) => !['awaiting_approval', 'running'].includes(status)) && data;
    },
    90_000,
  );
  expect(all.map(({ id }) => id).sort((a, b) => a - b)).toEqual([...ids].sort((a, b) => a - b));
  expect(all.filter(({ status }) => status !== 'completed')).toEqual([]);
  expect(all.flatMap(({ steps }) => steps.map(({ status }) => status))).toEqual(Array(plans * 3).fill('done'));

  const messages = all.flatMap(({ steps }) => steps.flatMap(({ result }) => (result?.message as string) ?? []));
  expect(new Set(messages).size).toBe(plans * 2);
  const sent = await waitFor('all messages to be sent', () => provider.sent().length >= plans * 2 && provider.sent());
  expect(sent.map(({ message }) => message).sort()).toEqual(messages.sort());
  expect((await client.crm.deals.get({ params: { deal_id: deal.id } })).notes).toBe(
    Array(plans).fill('x').join('\n\n'),
  );
}, 240_000);
