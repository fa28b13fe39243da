import { randomUUID } from 'node:crypto';
import { inTransaction } from '@customer-platform/service-kit';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, expect, it } from '@jest/globals';
import { type Desk, openDesk, startFakeAi } from '../../test/planning.ts';
import { type InboundRequest, insertInboundRequests } from '../plans/plan-requests.sql.ts';
import { onMessageReceived } from './on-message-received.ts';

const ai = await startFakeAi();
const platform = await startPlatform({ services: ['cdp', 'crm', 'messaging', 'agents'] });
afterAll(async () => {
  await platform.stop();
  await ai.stop();
});

const eventsOf = ({ account }: Desk) => platform.events(account.id).filter(({ type }) => type === 'message.received');

/** Waits until agents has processed all events of an account. Returns its plans, made or not. */
async function requested(desk: Desk) {
  const { account } = desk;
  const database = platform.database('agents');
  await platform.event(account.id, 'message.received');
  await waitFor('the events to be taken', async () => {
    const taken = await database`
      select 1 from inbox where account_id = ${account.id} and consumer = 'message.received'`;
    return taken.length > 0 && taken.length === eventsOf(desk).length;
  });
  return await database`select trigger_text, trigger_channel from plans where account_id = ${account.id} order by id`;
}

it.each<[string, (desk: Desk) => Promise<unknown>]>([
  ['its agent is paused', ({ account, agentId }) => account.client.agents.pause({ params: { agent_id: agentId } })],
  ['its agent was deleted', ({ account, agentId }) => account.client.agents.delete({ params: { agent_id: agentId } })],
  [
    'its agent works no pipeline',
    ({ account, agentId }) => account.client.agents.update({ params: { agent_id: agentId }, body: { pipelines: [] } }),
  ],
  [
    'AI agents is switched off',
    ({ account }) => platform.admin('PATCH', `/admin/accounts/${account.id}`, { modules: { agents: { on: false } } }),
  ],
])('nothing is planned if %s', async (_, change) => {
  const desk = await openDesk(platform, ai);
  await change(desk);
  await desk.write('One');
  expect(await requested(desk)).toEqual([]);
});

it('nothing is planned for opt-outs and opt-ins, but “ja” is an answer if consent was not withdrawn', async () => {
  const desk = await openDesk(platform, ai);
  await desk.account.client.cdp.contacts.consents.record({
    params: { contact_id: desk.contact.id },
    body: { channel: 'whatsapp', purpose: 'marketing', state: 'granted', at: '2026-01-01T00:00:00Z' },
  });
  for (const [index, word] of ['ja', 'STOP', 'ja'].entries()) {
    await desk.write(word);
    await waitFor('its event', () => eventsOf(desk).length > index);
  }
  expect(eventsOf(desk).map(({ data: { opt_out, opt_in } }) => ({ opt_out, opt_in }))).toEqual([
    {},
    { opt_out: true },
    { opt_in: true },
  ]);
  expect(await requested(desk)).toMatchObject([{ trigger_text: 'ja' }]);
});

const media = { mime_type: 'image/jpeg', provider_id: 'file-7' };

it.each<[string, string, object]>([
  ['a reaction', '👍', { type: 'reaction', reaction_to: 'm-1' }],
  ['content that WhatsApp does not pass on', '', { type: 'unsupported' }],
  ['a picture without a word', '', { type: 'image', media }],
  ['a place without a name', ' \n', { type: 'location' }],
])('nothing is planned for %s, and no token is spent', async (_, text, more) => {
  const desk = await openDesk(platform, ai);
  await desk.write(text, undefined, more);
  expect(await requested(desk)).toEqual([]);
});

it('a plan is made for the caption of a picture', async () => {
  const desk = await openDesk(platform, ai);
  await desk.write('How much is this one?', undefined, { type: 'image', media });
  expect(await requested(desk)).toMatchObject([{ trigger_text: 'How much is this one?', trigger_channel: 'whatsapp' }]);
});

it('a plan is made for a text without a type, as announced by the previous release of Messages', async () => {
  const desk = await openDesk(platform, ai);
  const database = platform.database('agents');
  const { id, name, phone } = desk.contact;
  const message = { id: randomUUID(), channel: 'whatsapp', from: phone, body: 'Hello?', at: '2026-11-20T09:00:00Z' };
  const event = { account: desk.account.id, data: { message, contact: { id, name, phone } } };
  const findAccounts = () => new Map([[desk.account.id, { modules: ['agents'] }]]);
  await inTransaction(database, async (tx) => {
    await onMessageReceived.take({ tx, now: platform.clock.now(), findAccounts } as never, [event] as never);
  });
  const rows = await database`select trigger_text from plans where account_id = ${desk.account.id}`;
  expect(rows).toEqual([{ trigger_text: 'Hello?' }]);
});

it('a message leads to one plan, even if it is redelivered', async () => {
  const desk = await openDesk(platform, ai);
  const database = platform.database('agents');
  const told: InboundRequest = {
    account_id: desk.account.id,
    contact_id: desk.contact.id,
    text: 'One',
    channel: 'sms',
    message_id: randomUUID(),
    trace: null,
  };
  const tell = () =>
    inTransaction(database, (tx) => insertInboundRequests(tx, [told, { ...told }], platform.clock.now()));
  await Promise.all(Array.from({ length: 20 }, tell));
  const rows = await database`select trigger_id from plans where account_id = ${desk.account.id}`;
  expect(rows).toEqual([{ trigger_id: told.message_id }]);
});
