import { type Platform, type Receiver, startPlatform, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { deliveriesTo, earnCap, emitContactCreated, isSignedBy, register } from '../../test/webhooks.ts';

let platform: Platform;
const receivers: Receiver[] = [];

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
});
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
});
afterAll(() => platform.stop());

async function newReceiver(): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  return receiver;
}

/** An endpoint with ten tries under way that end when told, and as many more as are fetched ahead waiting in memory. */
async function busyEndpoint() {
  const account = await platform.account();
  const [receiver, other] = [await newReceiver(), await newReceiver()];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const endpoint = await register(account, receiver.url, { events: ['contact.created'] });
  const params = { endpoint_id: endpoint.id };
  await earnCap(account, endpoint.id);
  receiver.received.length = 0;
  receiver.respond = (_, response) => void released.then(() => response.writeHead(204).end());
  await Promise.all(Array.from({ length: 50 }, (_, i) => emitContactCreated(account, `Contact ${i}`)));
  await waitFor('ten tries under way', () => receiver.received.length === 10);
  // Events that come when the endpoint is off are skipped: all of these wait before it is.
  const isPending = ({ status }: { status: string }) => status === 'pending';
  await waitFor('the others to wait', async () => {
    return (await deliveriesTo(account, endpoint.id)).filter(isPending).length === 50;
  });
  const witness = await register(account, other.url, { events: ['webhook.test'] });
  /** Resolves once the dispatcher has looked at what is due after this was called: it has sent something made since. */
  const look = async () => {
    const before = other.received.length;
    await account.client.webhooks.test({ params: { endpoint_id: witness.id } });
    await waitFor('the witness', () => other.received.length > before);
  };
  return { account, receiver, endpoint, params, release, look };
}

it('what waits for its turn goes to the new address', async () => {
  const { account, receiver, endpoint, params, release, look } = await busyEndpoint();
  const next = await newReceiver();
  await account.client.webhooks.update({ params, body: { url: next.url } });
  await look();
  release();
  await waitFor('the rest at the new address', () => next.received.length === 40);
  expect(receiver.received).toHaveLength(10);
  await waitFor('all to be over', async () => {
    return (await deliveriesTo(account, endpoint.id)).every((one) => one.status === 'delivered');
  });
});

it('what waits for its turn is signed with the new secret', async () => {
  const { account, receiver, endpoint, params, release, look } = await busyEndpoint();
  const { secret } = await account.client.webhooks.rotateSecret({ params, body: { overlap_seconds: 0 } });
  await look();
  release();
  await waitFor('all', () => receiver.received.length === 50);
  const signers = receiver.received.map((request) => [
    isSignedBy(endpoint.secret, request),
    isSignedBy(secret, request),
  ]);
  expect(signers.slice(0, 10)).toEqual(Array(10).fill([true, false]));
  expect(signers.slice(10)).toEqual(Array(40).fill([false, true]));
});

it('what waits when it is switched off is not sent, and ends as failed, endpoint_disabled', async () => {
  const { account, receiver, endpoint, params, release, look } = await busyEndpoint();
  await account.client.webhooks.update({ params, body: { active: false } });
  await look();
  release();
  await waitFor('each to be over as it should', async () => {
    const all = (await deliveriesTo(account, endpoint.id)).slice(0, 50);
    return all.every((one) => one.status === 'failed' && one.reason === 'endpoint_disabled');
  });
  expect(receiver.received).toHaveLength(10);
});

it('what waits when it is deleted is not sent', async () => {
  const { account, receiver, params, release, look } = await busyEndpoint();
  await account.client.webhooks.delete({ params });
  await look();
  release();
  // What follows on the same way has come: what waited had every chance to be sent.
  await look();
  expect(receiver.received).toHaveLength(10);
});

it('three rotations in a row: every secret signs as long as its own overlap lasts', async () => {
  const account = await platform.account();
  const receiver = await newReceiver();
  const endpoint = await register(account, receiver.url);
  const params = { endpoint_id: endpoint.id };
  const secrets = [endpoint.secret];
  for (const overlap_seconds of [300, 100, 200]) {
    secrets.push((await account.client.webhooks.rotateSecret({ params, body: { overlap_seconds } })).secret);
  }
  const signing = async () => {
    const before = receiver.received.length;
    await account.client.webhooks.test({ params });
    const request = await waitFor('the test', () => receiver.received[before]);
    return secrets.map((secret) => isSignedBy(secret, request));
  };
  expect(await signing()).toEqual([true, true, true, true]);
  platform.clock.advance(150_000);
  expect(await signing()).toEqual([true, false, true, true]);
  platform.clock.advance(100_000);
  expect(await signing()).toEqual([true, false, false, true]);
  secrets.push((await account.client.webhooks.rotateSecret({ params, body: { overlap_seconds: 0 } })).secret);
  expect(await signing()).toEqual([false, false, false, false, true]);
});
