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

/** Opens an endpoint with ten attempts in flight, which end on `release`, and 40 fetched deliveries waiting in memory. */
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
  await waitFor('ten attempts in flight', () => receiver.received.length === 10);
  // Events recorded while the endpoint is disabled are skipped, so all of these must wait before that.
  const isPending = ({ status }: { status: string }) => status === 'pending';
  await waitFor('the others to wait', async () => {
    return (await deliveriesTo(account, endpoint.id)).filter(isPending).length === 50;
  });
  const witness = await register(account, other.url, { events: ['webhook.test'] });
  /** Resolves once the dispatcher has completed a look that began after the call: it has sent a newer delivery. */
  const look = async () => {
    const before = other.received.length;
    await account.client.webhooks.test({ params: { endpoint_id: witness.id } });
    await waitFor('the witness', () => other.received.length > before);
  };
  return { account, receiver, endpoint, params, release, look };
}

it('waiting deliveries go to the new URL', async () => {
  const { account, receiver, endpoint, params, release, look } = await busyEndpoint();
  const next = await newReceiver();
  await account.client.webhooks.update({ params, body: { url: next.url } });
  await look();
  release();
  await waitFor('the rest at the new address', () => next.received.length === 40);
  expect(receiver.received).toHaveLength(10);
  await waitFor('all to end', async () => {
    return (await deliveriesTo(account, endpoint.id)).every((one) => one.status === 'delivered');
  });
});

it('waiting deliveries are signed with the new secret', async () => {
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

it('waiting deliveries of a disabled endpoint are not sent and fail as endpoint_disabled', async () => {
  const { account, receiver, endpoint, params, release, look } = await busyEndpoint();
  await account.client.webhooks.update({ params, body: { active: false } });
  await look();
  release();
  await waitFor('each to reach its final state', async () => {
    const all = (await deliveriesTo(account, endpoint.id)).slice(0, 50);
    return all.every((one) => one.status === 'failed' && one.reason === 'endpoint_disabled');
  });
  expect(receiver.received).toHaveLength(10);
});

it('waiting deliveries of a deleted endpoint are not sent', async () => {
  const { account, receiver, params, release, look } = await busyEndpoint();
  await account.client.webhooks.delete({ params });
  await look();
  release();
  // A later delivery has arrived, so the waiting ones would have been sent.
  await look();
  expect(receiver.received).toHaveLength(10);
});

it('after three rotations, every secret signs until its own overlap ends', async () => {
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
