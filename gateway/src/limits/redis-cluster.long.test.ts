import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LiveProcess } from '@customer-platform/contracts/accounts';
import type { ServerProcess } from '@customer-platform/deploy/supervisor/managed-process';
import { type Platform, rawRequest, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import {
  type RedisCluster,
  type RedisProcess,
  redisPassword,
  startRedis,
  startRedisCluster,
} from '@customer-platform/testkit/redis-cluster';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway } from '../main.ts';

const password = redisPassword;
const timeoutMs = 1_000;
/** Bound of the time of one request, far above a wait for Redis, for a machine that stalls. */
const longestMs = 10 * timeoutMs;
/** Bound of a failover, which takes several rounds on a busy machine. */
const failoverMs = 120_000;
const testMs = 300_000;

const isMaster = async (server: RedisProcess) => String(await server.ask('ROLE')).startsWith('master');

/** A platform with two gateways on the same Redis. */
async function startGateways(env: Record<string, string>) {
  const platform = await startPlatform({
    services: [],
    env: { LOG_LEVEL: 'silent', REDIS_TIMEOUT_MS: String(timeoutMs), ...env },
  });
  const second = await startGateway(platform.env('gateway'));
  const account = await platform.account();
  const stop = async () => {
    await second.stop();
    await platform.stop();
  };
  return { platform, urls: [platform.gatewayUrl, second.url] as const, account, stop };
}
type Gateways = Awaited<ReturnType<typeof startGateways>>;

const ask = (url: string, key: string) => rawRequest(url, 'GET', '/v1/me', { key });
const keysOf = async (platform: Platform, account: TestAccount, count: number, rate_limit: object) =>
  await Promise.all(Array.from({ length: count }, () => platform.issueKey(account.id, { rate_limit })));

/** Sends 12 requests with each key, whose burst is 4, alternately to both gateways. Returns the number allowed per key. */
async function takenOf({ platform, account, urls }: Gateways, keys: number): Promise<number[]> {
  const issued = await keysOf(platform, account, keys, { per_minute: 1, burst: 4 });
  return await Promise.all(
    issued.map(async (key) => {
      let taken = 0;
      for (let index = 0; index < 12; index++) if ((await ask(urls[index % 2]!, key)).status === 200) taken += 1;
      return taken;
    }),
  );
}

/** Waits until both gateways use all of Redis again. Sends requests meanwhile. */
async function untilShared(gateways: Gateways): Promise<void> {
  const { platform, account, urls } = gateways;
  const key = await platform.issueKey(account.id);
  await waitFor(
    'no gateway to wait for Redis',
    async () => {
      for (const url of urls) await ask(url, key);
      return (await waitedFor(platform)).join('') === '';
    },
    failoverMs,
  );
}

async function waitedFor(platform: Platform): Promise<string[]> {
  const { body } = await platform.admin('GET', '/admin/services');
  return (body.data as LiveProcess[]).map(({ waiting_for }) => waiting_for ?? '');
}

/**
 * Sends requests with keys in many shards through both gateways during `action`, and expects each to be served in time.
 * `action` gets a function that waits for three more requests per key.
 */
async function underLoad(gateways: Gateways, action: (more: () => Promise<void>) => Promise<void>): Promise<void> {
  const { platform, account, urls } = gateways;
  const keys = await keysOf(platform, account, 24, { per_minute: 1_000_000, burst: 100_000 });
  const wrong: unknown[] = [];
  let served = 0;
  let isOver = false;
  const client = async (url: string) => {
    for (let index = 0; !isOver; index++) {
      const beganAtMs = performance.now();
      const { status, text } = await ask(url, keys[index % keys.length]!);
      const tookMs = performance.now() - beganAtMs;
      if (status !== 200 || tookMs > longestMs) wrong.push({ status, text, tookMs });
      served += 1;
    }
  };
  const clients = urls.map(client);
  const more = async () => {
    const until = served + 3 * keys.length;
    await waitFor('more requests', () => served >= until, 60_000);
  };
  try {
    await action(more);
  } finally {
    isOver = true;
    await Promise.all(clients);
  }
  expect(wrong).toEqual([]);
}

describe('a Redis Cluster', () => {
  let cluster: RedisCluster;
  let servers: RedisProcess[];
  let gateways: Gateways;

  beforeAll(async () => {
    cluster = await startRedisCluster();
    servers = cluster.servers;
    gateways = await startGateways(cluster.env);
  }, 90_000);
  afterAll(async () => {
    await gateways?.stop();
    await cluster?.stop();
  }, 60_000);

  const buckets = async (server: RedisProcess) => ((await server.ask('KEYS', '*:rate:*')) as string[]).length;

  it('shares limits exactly between gateways, in buckets on all of its masters', async () => {
    await untilShared(gateways);
    expect(await takenOf(gateways, 24)).toEqual(Array(24).fill(4));
    for (const master of servers.slice(0, 3)) expect(await buckets(master)).toBeGreaterThan(0);
  });

  it('counts invalid keys of an address, as a single Redis does', async () => {
    const wrong = 'cp_live_0000000000000000000000000000000000000000';
    for (let count = 0; count < 20; count++)
      expect((await ask(gateways.urls[count % 2]!, wrong)).body.error.code).toBe('invalid_key');
    for (const url of gateways.urls) {
      expect((await ask(url, wrong)).status).toBe(429);
      expect((await ask(url, gateways.account.key)).status).toBe(200);
    }
    const { body } = await gateways.platform.admin('GET', '/admin/addresses');
    expect(body.data).toEqual([{ address: '127.0.0.1', invalid_keys: 22, last_at: expect.any(String) }]);
  });

  it.each([
    ['is killed', 'SIGKILL', 0, 3],
    ['is frozen', 'SIGSTOP', 2, 5],
  ] as const)(
    'fails and delays no request while a master %s, and shares limits again through its replica',
    async (_how, signal, master, replica) => {
      await untilShared(gateways);
      await underLoad(gateways, async (more) => {
        await more();
        servers[master]!.signal(signal);
        await more();
        await waitFor('the replica to be promoted', () => isMaster(servers[replica]!));
        await more();
        await untilShared(gateways);
      });
      expect(await takenOf(gateways, 24)).toEqual(Array(24).fill(4));
      expect(await buckets(servers[replica]!)).toBeGreaterThan(0);
      if (signal === 'SIGSTOP') servers[master]!.signal('SIGCONT');
    },
  );

  it('loses only the shards of a master that fails with its replica; the others stay shared', async () => {
    const { platform, account, urls } = gateways;
    const keys = await keysOf(platform, account, 32, { per_minute: 1, burst: 8 });
    const before = await buckets(servers[1]!);
    for (const key of keys) expect((await ask(urls[0], key)).status).toBe(200);
    const lost = (await buckets(servers[1]!)) - before;
    expect(lost).toBeGreaterThan(0);
    expect(lost).toBeLessThan(keys.length);
    const taken: number[] = [];
    await underLoad(gateways, async (more) => {
      for (const index of [4, 1]) servers[index]!.signal('SIGKILL');
      await more();
      await waitFor(
        'both gateways to wait for Redis',
        async () => {
          const waiting = await waitedFor(platform);
          return waiting.length === 2 && waiting.every((name) => name === 'Redis');
        },
        failoverMs,
      );
      for (const key of keys) {
        let count = 0;
        for (let index = 0; index < 9; index++) if ((await ask(urls[0], key)).status === 200) count += 1;
        taken.push(count);
      }
    });
    // One of eight is used already. A gateway alone allows its share, which is four of eight.
    expect(taken.filter((count) => count === 4)).toHaveLength(lost);
    expect(taken.filter((count) => count === 7)).toHaveLength(keys.length - lost);
  });
});

describe('a master named by sentinels', () => {
  const sentinelPassword = 'of-the-sentinels';
  let [master, replica]: (RedisProcess | undefined)[] = [];
  let sentinels: RedisProcess[] = [];
  let gateways: Gateways;

  beforeAll(async () => {
    const first = await startRedis(asReplicaOf());
    master = first;
    replica = await startRedis(asReplicaOf(first.port));
    await waitFor('the replica', async () => String(await first.ask('ROLE')).includes(`,${replica!.port},`));
    sentinels = await Promise.all([1, 2, 3].map(() => startRedis(asSentinelOf(first.port), sentinelPassword)));
    await waitFor('the sentinels to know each other and the replica', async () => {
      const known = await Promise.all(sentinels.map(({ ask: send }) => send('SENTINEL', 'MASTER', 'limits')));
      return known.every((fields) => {
        const at = (name: string) => (fields as string[])[(fields as string[]).indexOf(name) + 1];
        return at('num-other-sentinels') === '2' && at('num-slaves') === '1';
      });
    });
    gateways = await startGateways({
      REDIS_MODE: 'sentinel',
      REDIS_URL: sentinels.map(({ port }) => `redis://:${password}@127.0.0.1:${port}`).join(','),
      REDIS_SENTINEL_NAME: 'limits',
      REDIS_SENTINEL_PASSWORD: sentinelPassword,
    });
  }, 90_000);
  afterAll(async () => {
    await gateways?.stop();
    await Promise.all([...sentinels, master, replica].map((server) => server?.stop()));
  }, 60_000);

  function asReplicaOf(port?: number) {
    const of = port === undefined ? [] : ['--replicaof', `127.0.0.1 ${port}`];
    return (described: ServerProcess): ServerProcess => ({
      ...described,
      args: [...described.args, '--masterauth', password, ...of],
    });
  }

  function asSentinelOf(masterPort: number) {
    return (described: ServerProcess, port: number): ServerProcess => {
      const config = join(described.cwd, 'sentinel.conf');
      const lines = [
        `port ${port}`,
        'bind 127.0.0.1',
        `requirepass ${sentinelPassword}`,
        `sentinel sentinel-pass ${sentinelPassword}`,
        `sentinel monitor limits 127.0.0.1 ${masterPort} 2`,
        `sentinel auth-pass limits ${password}`,
        'sentinel down-after-milliseconds limits 1000',
        'sentinel failover-timeout limits 5000',
      ];
      writeFileSync(config, `${lines.join('\n')}\n`);
      return { ...described, args: [config, '--sentinel'] };
    };
  }

  it(
    'shares limits; its loss fails no request, and its successor is used without a restart',
    async () => {
      await untilShared(gateways);
      expect(await takenOf(gateways, 4)).toEqual(Array(4).fill(4));
      await underLoad(gateways, async (more) => {
        await more();
        master!.signal('SIGKILL');
        await more();
        await waitFor('the replica to be promoted', () => isMaster(replica!), failoverMs);
        await more();
        await untilShared(gateways);
      });
      expect(await takenOf(gateways, 4)).toEqual(Array(4).fill(4));
      expect(Number(await replica!.ask('DBSIZE'))).toBeGreaterThan(0);
    },
    testMs,
  );
});
