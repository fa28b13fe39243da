import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  attemptReason,
  attemptStatus,
  messageStatus,
  placeholders,
  receiptStatus,
  templateNames,
} from '@customer-platform/contracts/messaging';
import { type Platform, rawRequest, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Sent } from './own-provider.ts';

/** Checks the terms and the program of docs/messages.md. guides.long.test.ts runs its calls. */
const page = readFileSync(new URL('../docs/messages.md', import.meta.url), 'utf8');

interface Shown {
  createProvider(secret: string, send: (message: Sent) => Promise<string>): Server;
  report(hookUrl: string, secret: string, content: object): Promise<number>;
}

let platform: Platform;
let account: TestAccount;
let shown: Shown;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging'] });
  account = await platform.account();
  const code = /```js\n([\s\S]*?)```/.exec(page)![1]!;
  shown = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as Shown;
}, 60_000);
afterAll(async () => {
  await platform?.stop();
});

it('the page names every status, reason, template and placeholder', () => {
  const names = [messageStatus, attemptStatus, attemptReason, receiptStatus].flatMap(({ options }) => options);
  const words = new Set(page.split(/[^a-z_]+/));
  // Every name must be a word of the page.
  expect(names.filter((name) => !words.has(name))).toEqual([]);
  expect(templateNames.filter((name) => !page.includes(`\`${name}\``) && !page.includes(`"${name}"`))).toEqual([]);
  expect(placeholders.filter((name) => !page.includes(`\`{{${name}}}\``))).toEqual([]);
});

it("the page's provider sends and rejects messages, and reports receipts and inbound messages", async () => {
  const { client } = account;
  const asked: Sent[] = [];
  let failure: (Error & { isPermanent?: boolean }) | undefined;
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const provider = shown.createProvider(secret, async (message) => {
    asked.push(message);
    if (failure) throw failure;
    return `mine-${asked.length}`;
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    const body = { provider: 'http', settings: { url, secret } };
    const { hook_url } = await client.messages.channels.put({ params: { channel: 'sms' }, body });
    const hook = platform.gatewayUrl + new URL(hook_url).pathname;
    const send = async () => {
      const channels = [{ channel: 'sms' as const, body: 'Grüße ☎' }];
      return (await client.messages.send({ body: { to: '+4930901821', channels } })).id;
    };
    const withStatus = async (message_id: string, status: string) =>
      await waitFor(`a message that is ${status}`, async () => {
        const message = await client.messages.get({ params: { message_id } });
        return message.status === status && message;
      });

    const id = await send();
    expect((await withStatus(id, 'sent')).attempts).toMatchObject([{ provider_id: 'mine-1' }]);
    expect(asked).toMatchObject([{ message: id, channel: 'sms', to: '+4930901821', body: 'Grüße ☎' }]);
    const at = new Date().toISOString();
    for (const status of ['delivered', 'read'])
      expect(await shown.report(hook, secret, { type: 'receipt', id: 'mine-1', status, at })).toBe(200);
    await withStatus(id, 'read');
    expect(await shown.report(hook, secret.replace('whsec_Bw', 'whsec_Cw'), { type: 'receipt' })).toBe(401);

    const written = { type: 'inbound', id: 'in-1', from: '+4930901899', name: 'Nora', body: 'Is it open?', at };
    expect(await shown.report(hook, secret, written)).toBe(200);
    const { data } = await platform.event(account.id, 'message.received');
    expect(data).toMatchObject({ message: { from: '+4930901899', body: 'Is it open?' }, contact: { name: 'Nora' } });

    failure = Object.assign(new Error('No such number'), { isPermanent: true });
    const failed = await withStatus(await send(), 'failed');
    expect(failed.error).toEqual({ code: 'rejected', message: expect.stringContaining('No such number') });
    failure = undefined;

    const forged = await rawRequest(url, 'POST', '/', { body: { attempt: 'x' } });
    expect([forged.status, asked.length]).toEqual([401, 2]);
  } finally {
    provider.closeAllConnections();
    await new Promise((resolve) => provider.close(resolve));
  }
});
