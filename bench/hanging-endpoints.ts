import { type Account, atPace, type HostileSetting, type Hostility, send, type Tally } from './hostility.ts';

/** Maximum endpoints of an account. */
export const endpointsOfAccount = 20;
const eventsPerSecond = 0.5;
const remadePerSecond = 1;

async function makeEndpoint(setting: HostileSetting, { key }: Account, signal: AbortSignal): Promise<string> {
  const body = JSON.stringify({ url: `${setting.hangingUrl}/hang`, events: ['contact.*'] });
  const made = await send(setting, { key, method: 'POST', path: '/v1/webhooks', body }, signal);
  if (made.status !== 201) throw new Error(`making an endpoint got ${made.status}: ${JSON.stringify(made.body)}`);
  return (made.body as { id: string }).id;
}

async function keepHanging(setting: HostileSetting, account: Account, signal: AbortSignal, tally: Tally) {
  const endpoints: string[] = [];
  for (let made = 0; made < endpointsOfAccount; made++) endpoints.push(await makeEndpoint(setting, account, signal));
  tally.add('made', endpointsOfAccount);
  const makeEvents = atPace(eventsPerSecond, signal, async () => {
    const request = { key: account.key, method: 'POST', path: '/v1/cdp/contacts', body: '{"name":"Hung"}' };
    const { status } = await send(setting, request, signal);
    tally.add(status === 201 ? 'events' : `contact ${status}`);
  });
  const remake = atPace(
    remadePerSecond,
    signal,
    async () => {
      const oldest = endpoints.shift()!;
      const request = { key: account.key, method: 'DELETE', path: `/v1/webhooks/${oldest}` };
      const { status } = await send(setting, request, signal);
      if (status !== 204) throw new Error(`deleting an endpoint got ${status}`);
      endpoints.push(await makeEndpoint(setting, account, signal));
      tally.add('made again');
    },
    1,
  );
  await Promise.all([makeEvents, remake]);
}

/** Endpoints that accept every request and never respond; the oldest is constantly replaced, so that there is always a new one. */
export const hangingEndpoints: Hostility = {
  name: 'hanging endpoints',
  async run(setting, signal, tally) {
    await Promise.all(setting.hanging.map((account) => keepHanging(setting, account, signal, tally)));
  },
};
