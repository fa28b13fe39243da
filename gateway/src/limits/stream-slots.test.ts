import { randomUUID } from 'node:crypto';
import { type Relay, startRelay, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, it, jest } from '@jest/globals';
import { type GatewayRedis, openRedis } from './redis.ts';
import { StreamSlots } from './stream-slots.ts';

const REDIS_PREFIX = `slots-${randomUUID()}`;
let relay: Relay;
const opened: { disconnect(): void }[] = [];

beforeAll(async () => {
  relay = await startRelay(process.env.TEST_REDIS_URL!);
});
afterAll(async () => {
  for (const each of opened) each.disconnect();
  await relay?.stop();
});

function open(REDIS_URL: string): GatewayRedis & { del(key: string): Promise<number> } {
  const settings = { REDIS_URL, REDIS_PREFIX, REDIS_TIMEOUT_MS: 10_000, REDIS_MODE: 'single' as const };
  const redis = openRedis(
    { ...settings, REDIS_SENTINEL_NAME: 'none', REDIS_SENTINEL_PASSWORD: undefined },
    () => undefined,
  );
  opened.push(redis);
  return redis as GatewayRedis & { del(key: string): Promise<number> };
}

/** Returns the slots of one of two gateways; what it renews by the clock comes never. */
function startSlots(redis: GatewayRedis): StreamSlots {
  const setInterval = jest.spyOn(globalThis, 'setInterval').mockReturnValueOnce(undefined as never);
  const slots = new StreamSlots(redis, { count: () => 2 });
  setInterval.mockRestore();
  return slots;
}

it('slots are held again as soon as Redis is back, which may have forgotten them: others grant no more than five', async () => {
  const [mine, direct] = [open(relay.url), open(process.env.TEST_REDIS_URL!)];
  const [slots, others] = [startSlots(mine), startSlots(direct)];
  await waitFor('Redis', () => mine.status === 'ready' && direct.status === 'ready');
  const key = randomUUID();
  for (let index = 0; index < 5; index++) await slots.take(key);
  relay.cut();
  await waitFor('the outage', () => mine.status !== 'ready');
  await direct.del(`streams:${key}`);
  relay.mend();
  await waitFor('a refusal by the other', async () => {
    const slot = await others.take(key).catch(() => undefined);
    if (slot) others.giveBack(slot);
    return slot === undefined;
  });
});
