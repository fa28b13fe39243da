import { type Platform, rawRequest, startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type HttpProvider, message, startHttpProvider, withStatus } from '../../test/messaging.ts';
import { type MailServer, startMailServer } from '../../test/provider-servers.ts';

let platform: Platform;
let mailServer: MailServer;
let provider: HttpProvider;
beforeAll(async () => {
  [mailServer, provider] = [await startMailServer('none'), await startHttpProvider()];
  platform = await startPlatform({ services: ['cdp', 'messaging'], env: { PUBLIC_URL: 'https://shop.example/' } });
}, 60_000);
afterAll(async () => {
  await platform?.stop();
  await mailServer?.stop();
  await provider?.stop();
});

let account: TestAccount;
beforeEach(async () => {
  account = await accountWith({});
  mailServer.mails.length = 0;
});

async function accountWith(settings: Record<string, unknown>): Promise<TestAccount> {
  const made = await platform.account(settings);
  const smtp = { host: 'localhost', port: mailServer.port, security: 'none', from: 'Shop <hello@shop.example>' };
  await made.client.messages.channels.put({ params: { channel: 'email' }, body: { provider: 'smtp', settings: smtp } });
  return made;
}

/** Creates a contact with consent to marketing by email and SMS; returns its id. */
async function subscriber(of = account): Promise<string> {
  const { id } = await of.client.cdp.contacts.create({
    body: { name: 'Ada', email: 'ada@example.com', phone: '+4930901820' },
  });
  for (const channel of ['email', 'sms'] as const)
    await of.client.cdp.contacts.consents.record({
      params: { contact_id: id },
      body: { channel, purpose: 'marketing', state: 'granted', source: 'form' },
    });
  return id;
}

/** Sends an email; returns it once it is sent or refused. */
async function send(more: object, of = account) {
  const channels = [{ channel: 'email' as const, subject: 'New', body: 'Ten percent off' }];
  const { id } = await of.client.messages.send({ body: { purpose: 'marketing', channels, ...more } });
  return await message(of, id, ({ status }) => status === 'sent' || status === 'refused');
}

/** Sends marketing, and returns the path of the link in it. */
async function linkTo(contact: string, of = account): Promise<string> {
  await send({ contact }, of);
  const unfolded = mailServer.mails.at(-1)!.text.replace(/\r\n[ \t]+/g, ' ');
  expect(unfolded).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
  const [, path] = /^List-Unsubscribe: <https:\/\/shop\.example(\/u\/[\w-]+)>\r$/m.exec(unfolded)!;
  return path!;
}

async function consentsOf(contact_id: string, of = account) {
  const { data } = await of.client.cdp.contacts.consents.list({ params: { contact_id } });
  return data.map(({ channel, purpose, state, source }) => `${channel} ${purpose} ${state} ${source}`);
}

const call = (method: string, path: string) => rawRequest(platform.gatewayUrl, method, path, { key: null });
/** Calls a link as mail programs do (RFC 8058). */
const oneClick = (path: string) =>
  rawRequest(platform.gatewayUrl, 'POST', path, {
    key: null,
    rawBody: 'List-Unsubscribe=One-Click',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });

const granted = ['sms marketing granted form', 'email marketing granted form'];

describe('the link in a marketing email', () => {
  it('shows a page without side effects; a POST, also repeated, unsubscribes from email only', async () => {
    const contact = await subscriber();
    const link = await linkTo(contact);
    const page = await call('GET', link);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.text).toContain('<form method="post"><button>Unsubscribe</button></form>');
    expect(page.text).toContain('from Test?');
    expect(await consentsOf(contact)).toEqual(granted);
    for (const post of [oneClick, (path: string) => call('POST', path), oneClick]) {
      const done = await post(link);
      expect([done.status, done.text.includes('You are unsubscribed'), done.text.includes('<form')]).toEqual([
        200,
        true,
        false,
      ]);
    }
    expect(await consentsOf(contact)).toEqual(['email marketing withdrawn unsubscribe', ...granted]);
    expect((await send({ contact })).status).toBe('refused');
    expect((await call('GET', link)).status).toBe(200);
  });

  it('accepts HEAD and OPTIONS without side effects; other methods return 405', async () => {
    const contact = await subscriber();
    const link = await linkTo(contact);
    const head = await call('HEAD', link);
    expect([head.status, head.text, head.headers.has('hook-account')]).toEqual([200, '', false]);
    const options = await call('OPTIONS', link);
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, POST, OPTIONS']);
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const response = await call(method, link);
      expect([response.status, response.body.error.code]).toEqual([405, 'invalid_request']);
    }
    expect(await consentsOf(contact)).toEqual(granted);
  });

  it('that is forged, truncated or unknown returns a page with 400 and changes nothing', async () => {
    const contact = await subscriber();
    const link = await linkTo(contact);
    const other = await accountWith({});
    const theirs = await linkTo(await subscriber(other), other);
    // The other account's head and account id with this account's contact.
    const mixed = Buffer.from(theirs.slice(3), 'base64url');
    Buffer.from(link.slice(3), 'base64url').copy(mixed, 18, 18, 34);
    const last = link.endsWith('A') ? 'B' : 'A';
    for (const path of [
      `/u/${mixed.toString('base64url')}`,
      `${link.slice(0, -1)}${last}`,
      link.slice(0, -10),
      '/u/x',
      '/u/%F0%9F%98%80',
    ]) {
      for (const method of ['GET', 'POST']) {
        const { status, headers, text } = await call(method, path);
        expect([path, status, headers.get('content-type')]).toEqual([path, 400, 'text/html; charset=utf-8']);
        expect(text).toContain('This link is not valid');
        expect(text).not.toContain('<form');
      }
      expect((await call('HEAD', path)).status).toBe(400);
    }
    expect(await consentsOf(contact)).toEqual(granted);
    for (const path of ['/u/', '/u', `${link}/more`, `/u/${'x'.repeat(1_000)}`])
      expect([path, (await call('GET', path)).body.error.code]).toEqual([
        path,
        expect.stringMatching(/^(not_found|key_required)$/),
      ]);
  });

  it('of a deleted contact shows the same page, and does not affect others', async () => {
    const [gone, stays] = [await subscriber(), await subscriber()];
    const link = await linkTo(gone);
    await account.client.cdp.contacts.delete({ params: { contact_id: gone } });
    const done = await oneClick(link);
    expect([done.status, done.text.includes('You are unsubscribed')]).toEqual([200, true]);
    expect(await consentsOf(stays)).toEqual(granted);
  });
});

describe('the page', () => {
  it('loads and runs nothing, cannot be framed, and shows the account’s name as text', async () => {
    const shop = await accountWith({ name: '<script>alert("1")</script> & $& Söhne' });
    const { headers, text } = await call('GET', await linkTo(await subscriber(shop), shop));
    expect(text).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; $&amp; Söhne?');
    expect(text).not.toMatch(/<script|<link|<img|src=|href=/);
    const policy = headers.get('content-security-policy')!;
    for (const rule of ["default-src 'none'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"])
      expect(policy.split('; ')).toContain(rule);
    expect(policy).not.toContain('unsafe');
    const common = ['referrer-policy', 'cache-control', 'x-content-type-options'].map((name) => headers.get(name));
    expect(common).toEqual(['no-referrer', 'no-store', 'nosniff']);
    expect(text).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
  });

  it.each([
    ['en', 'Unsubscribe'],
    ['de-AT', 'Abmelden'],
    ['fr', 'Me désabonner'],
    ['es', 'Darme de baja'],
    ['it', 'Annulla l’iscrizione'],
    ['nl', 'Afmelden'],
    ['pt', 'Unsubscribe'],
  ])('is in the language of the account: %s', async (language, button) => {
    const shop = await accountWith({ language });
    const link = await linkTo(await subscriber(shop), shop);
    const [asked, done] = [await call('GET', link), await call('POST', link)];
    expect(asked.text).toContain(`<button>${button}</button>`);
    const shown = language === 'pt' ? 'en' : language.slice(0, 2);
    for (const { text } of [asked, done]) {
      expect(text).toContain(`<html lang="${shown}">`);
      expect(text).toContain('Test');
    }
  });
});

it('only marketing by email has a link: service emails and marketing on other channels have none', async () => {
  const contact = await subscriber();
  await send({ contact, purpose: 'service' });
  expect(mailServer.mails.at(-1)!.text).not.toContain('List-Unsubscribe');
  const body = { provider: 'http', settings: { url: provider.url, secret: provider.secret } };
  for (const channel of ['sms', 'email'] as const)
    await account.client.messages.channels.put({ params: { channel }, body });
  for (const channel of ['sms', 'email'] as const) {
    const channels = [{ channel, subject: channel === 'email' ? 'New' : '', body: 'Ten percent off' }];
    const { id } = await account.client.messages.send({ body: { contact, purpose: 'marketing', channels } });
    await message(account, id, withStatus('sent'));
  }
  const [sms, email] = provider.received.map((request) => JSON.parse(request.body));
  expect(sms).not.toHaveProperty('unsubscribe_url');
  expect(email.unsubscribe_url).toMatch(/^https:\/\/shop\.example\/u\/[\w-]{88}$/);
  await oneClick(new URL(email.unsubscribe_url).pathname);
  expect((await consentsOf(contact))[0]).toBe('email marketing withdrawn unsubscribe');
});
