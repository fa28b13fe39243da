import { createClient } from '@customer-platform/client';
import { type ProcessPlatform, rawRequest, waitFor } from '@customer-platform/testkit';
import { atMost, type Bench, exactly, type Figure, told } from './figures.ts';
import { startPlatform } from './platform.ts';

const moments = 1_000;
const dayMs = 86_400_000;
const yearMs = 365 * dayMs;
const patienceMs = 550_000;
/** The sandbox's provider delivers to an address that ends in these at once. */
const to = '+4930901801';

/** Measures how long a sandbox's year takes with so many messages in it, each due at a moment of its own. */
export const clockBench: Bench = {
  name: 'clock',
  summary: `A sandbox's clock is advanced by a year with ${moments.toLocaleString('en-GB')} due moments, on an idle installation.`,
  async measure() {
    const platform = await startPlatform();
    try {
      return await playYear(platform);
    } finally {
      await platform.stop();
    }
  },
};

async function playYear(platform: ProcessPlatform): Promise<Figure[]> {
  const client = await sandboxOf(platform);
  const startsAt = Date.parse((await client.getSandboxClock()).now);
  const everyMs = yearMs / (moments + 1);
  for (let count = 1; count <= moments; count++) {
    const send_at = new Date(startsAt + count * everyMs).toISOString();
    await client.sendMessage({
      body: { to, channels: [{ channel: 'sms', body: `Message ${count}` }], send_at, reference: 'year' },
    });
  }
  const beganMs = performance.now();
  await client.advanceSandboxClock({ body: { advance_to: new Date(startsAt + yearMs).toISOString() } });
  await waitFor('the year', async () => (await client.getSandboxClock()).status === 'ready', patienceMs);
  const seconds = (performance.now() - beganMs) / 1_000;
  let [sent, late] = [0, 0];
  for (let starting_after: string | undefined; ; ) {
    const page = await client.listMessages({
      query: { reference: 'year', limit: 100, ...(starting_after && { starting_after }) },
    });
    for (const { send_at, sent_at, status } of page.data) {
      if (status !== 'delivered') continue;
      sent++;
      if (Date.parse(sent_at!) - Date.parse(send_at!) > 60_000) late++;
    }
    starting_after = page.data.at(-1)?.id;
    if (!page.has_more) break;
  }
  return [
    atMost(`A year with ${moments.toLocaleString('en-GB')} due moments`, seconds, 300, 's'),
    told('of it for each moment', (seconds / moments) * 1_000, 'ms'),
    exactly('messages of it that arrived', String(sent), String(moments)),
    atMost('of them later than a minute after their time', late, 0),
  ];
}

async function sandboxOf({ adminUrl, adminToken, gatewayUrl, account }: ProcessPlatform) {
  const { id } = await account();
  const body = { name: 'bench', mode: 'test', scopes: ['*'] };
  const made = await rawRequest(adminUrl, 'POST', `/admin/accounts/${id}/keys`, { body, key: adminToken });
  return createClient({ baseUrl: gatewayUrl, apiKey: made.body.key as string });
}
