import { request as httpRequest, type IncomingMessage } from 'node:http';
import { type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

/** Bodies that arrive after their heads: the rights of the key are checked when the body is complete. */
let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
});
afterAll(() => platform?.stop());

/** Sends the head of a request. Returns a function that sends the body and returns the response. */
function beginRequest({ key }: TestAccount, method: string, path: string) {
  const request = httpRequest(`${platform.gatewayUrl}${path}`, {
    method,
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', expect: '100-continue' },
  });
  const responded = new Promise<IncomingMessage>((resolve, reject) =>
    request.on('response', resolve).on('error', reject),
  );
  // The gateway sends 100 Continue once it has admitted the head.
  const admitted = new Promise((resolve) => request.once('continue', resolve));
  request.flushHeaders();
  return {
    admitted,
    async end(body: object) {
      request.end(JSON.stringify(body));
      const response = await responded;
      const text = await response.toArray();
      return { status: response.statusCode!, body: JSON.parse(Buffer.concat(text).toString()) };
    },
  };
}

const idOf = async ({ id }: TestAccount): Promise<string> =>
  (await platform.admin('GET', `/admin/accounts/${id}/keys`)).body.data.find(
    ({ mode }: { mode: string }) => mode === 'live',
  ).id;

it.each<[string, string, (account: TestAccount) => Promise<{ status: number }>]>([
  ['invalid_key', 'key is revoked', async (account) => platform.admin('DELETE', `/admin/keys/${await idOf(account)}`)],
  [
    'account_suspended',
    'account is suspended',
    ({ id }) => platform.admin('PATCH', `/admin/accounts/${id}`, { status: 'suspended' }),
  ],
  [
    'module_off',
    'module is switched off',
    ({ id }) => platform.admin('PATCH', `/admin/accounts/${id}`, { modules: { crm: { on: false } } }),
  ],
])('is refused with %s, and nothing is written, if its %s meanwhile', async (code, _why, change) => {
  const account = await platform.account();
  const deal = beginRequest(account, 'POST', '/v1/crm/deals');
  await deal.admitted;
  expect((await change(account)).status).toBeLessThan(300);
  await waitFor('the change', async () => (await account.request('GET', '/v1/crm/deals')).body.error?.code === code);
  expect((await deal.end({ title: 'Late' })).body).toMatchObject({ error: { code } });
  const sql = platform.database('crm');
  expect(await sql`select from deals where account_id = ${account.id}`).toHaveLength(0);
});

it('is also refused if the gateway itself serves the request', async () => {
  const account = await platform.account();
  const test = { ...account, key: account.testKey } as TestAccount;
  const advance = beginRequest(test, 'POST', '/v1/sandbox/clock');
  await advance.admitted;
  await platform.admin('PATCH', `/admin/accounts/${account.id}`, { status: 'suspended' });
  await waitFor('the change', async () => (await account.request('GET', '/v1/crm/deals')).status === 403);
  expect(await advance.end({ advance_to: '2030-01-01T00:00:00Z' })).toMatchObject({
    status: 403,
    body: { error: { code: 'account_suspended' } },
  });
});

it('is served if nothing changed', async () => {
  const account = await platform.account();
  const deal = beginRequest(account, 'POST', '/v1/crm/deals');
  await deal.admitted;
  expect((await deal.end({ title: 'Late' })).status).toBe(201);
});
