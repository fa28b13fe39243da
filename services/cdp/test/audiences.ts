import type { AudienceRules, ContactInput } from '@customer-platform/contracts/cdp';
import { type Platform, type TestAccount, waitFor } from '@customer-platform/testkit';
import type { z } from 'zod';

export type RulesInput = z.input<typeof AudienceRules>;

export const visited = (days: number | null, at_least = 1): RulesInput => ({
  match: 'all',
  conditions: [{ type: 'event', op: 'did', name: 'visited', days, at_least }],
});
export const tagged = (tag: string): RulesInput => ({ match: 'all', conditions: [{ type: 'tag', op: 'has', tag }] });

/** Returns helpers for tests of the audiences of one account. */
export function audiencesOf(platform: Platform, account: TestAccount) {
  const { client } = account;
  const get = (id: string) => client.cdp.audiences.get({ params: { audience_id: id } });
  const ready = (id: string) =>
    waitFor('the audience to be ready', async () => {
      const audience = await get(id);
      return audience.status === 'ready' && audience;
    });
  const members = async (id: string) =>
    (await client.cdp.audiences.members.list({ params: { audience_id: id }, query: { limit: 100 } })).data;
  return {
    get,
    ready,
    members,
    create: async (rules: RulesInput, name = 'Audience') =>
      ready((await client.cdp.audiences.create({ body: { name, rules } })).id),
    contact: async (body: z.input<typeof ContactInput> = {}) =>
      (await client.cdp.contacts.create({ body: { name: 'Somebody', ...body } })).id,
    visit: (contact: string, at: Date = platform.clock.now()) =>
      client.cdp.events.record({ body: { events: [{ contact, name: 'visited', at: at.toISOString() }] } }),
    /** Waits until exactly these contacts are in the audience. */
    holds: (id: string, contacts: string[]) =>
      waitFor(`${contacts.length} members`, async () => {
        const { members: count } = await get(id);
        const ids = (await members(id)).map((member) => member.id);
        return count === ids.length && JSON.stringify(ids.sort()) === JSON.stringify([...contacts].sort());
      }),
    eventsOf: (kind: string, audienceId: string) =>
      platform
        .events(account.id)
        .filter(({ type, data }) => type === kind && data.audience.id === audienceId)
        .map(({ data }) => data),
  };
}
