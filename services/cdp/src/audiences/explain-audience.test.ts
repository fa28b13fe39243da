import { startPlatform } from '@customer-platform/testkit';
import { afterAll, expect, it } from '@jest/globals';
import { audiencesOf, type RulesInput, tagged } from '../../test/audiences.ts';

const platform = await startPlatform({ services: ['cdp'] });
platform.clock.set('2026-11-20T12:00:00Z');
afterAll(() => platform.stop());

const conditions: RulesInput['conditions'] = [
  { type: 'event', op: 'did', name: 'visited', days: 7 },
  { type: 'event', op: 'did_not', name: 'visited', days: 30, at_least: 3 },
  { type: 'event', op: 'did', name: 'never.done', days: null },
  { type: 'consent', channel: 'email', purpose: 'marketing' },
  { type: 'consent', channel: 'sms', purpose: 'marketing', op: 'not_granted' },
  { type: 'field', name: 'email', op: 'is_set' },
  { type: 'field', name: 'age', op: 'gt', value: 40 },
  { type: 'tag', op: 'has', tag: 'vip' },
  {
    match: 'any',
    conditions: [
      { type: 'tag', op: 'has_not', tag: 'vip' },
      { type: 'field', name: 'age', op: 'is', value: 36 },
    ],
  },
];

it('explains for every type of condition whether it holds and which fact decides it', async () => {
  const account = await platform.account();
  const { create, contact, visit } = audiencesOf(platform, account);
  const id = await contact({ email: 'ada@example.com', tags: ['vip'], fields: { age: 36 } });
  const at = '2026-11-01T10:00:00Z';
  for (const day of ['2026-10-30T10:00:00Z', at]) await visit(id, new Date(day));
  const params = { contact_id: id };
  for (const state of ['granted', 'withdrawn'] as const) {
    const body = { channel: 'email' as const, purpose: 'marketing', state, at };
    await account.client.cdp.contacts.consents.record({ params, body });
  }
  const audience = await create({ match: 'any', conditions });
  const why = await account.client.cdp.audiences.explain({
    params: { audience_id: audience.id },
    query: { contact: id },
  });
  expect(why.member).toBe(true);
  expect(why.conditions.map(({ condition }) => condition)).toEqual(audience.rules.conditions);
  expect(why.conditions.map(({ holds, because }) => [holds, because])).toEqual([
    [false, 'visited was last seen 2026-11-01, 19 days ago; needed within 7 days'],
    [
      true,
      'visited was last seen 2026-11-01, 19 days ago, 2 times within 30 days; needed fewer than 3 times within 30 days',
    ],
    [false, 'never.done was never seen; needed once'],
    [false, 'marketing on email was withdrawn 2026-11-01; needed granted'],
    [true, 'marketing on sms was never granted or withdrawn; needed not granted'],
    [true, 'email is "ada@example.com"; needed to be set'],
    [false, 'age is 36; needed to be more than 40'],
    [true, 'the contact has the tag vip; needed with it'],
    [true, 'any of: (the contact has the tag vip; needed without it), (age is 36; needed to be 36)'],
  ]);
});

it('explains by the current rules and contact, and rejects a contact that does not exist', async () => {
  const account = await platform.account();
  const { create, contact } = audiencesOf(platform, account);
  const id = await contact({ tags: ['a'] });
  const { id: audience_id } = await create(tagged('a'));
  const explain = (contactId: string) =>
    account.client.cdp.audiences.explain({ params: { audience_id }, query: { contact: contactId } });
  expect((await explain(id)).member).toBe(true);
  await account.client.cdp.contacts.update({ params: { contact_id: id }, body: { tags: [] } });
  expect((await explain(id)).member).toBe(false);
  const refusal = expect.objectContaining({ status: 400, field: 'contact' });
  await expect(explain('0199c0de-0000-7000-8000-000000000000')).rejects.toEqual(refusal);
});
