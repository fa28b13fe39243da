import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { services } from '@customer-platform/deploy/deployables';
import { type Platform, type StartedServices, startPlatform, startServices } from '@customer-platform/testkit';
import { natsServers, startNatsCluster } from '@customer-platform/testkit/nats-cluster';
import { startPooler } from '@customer-platform/testkit/pgbouncer';
import { startRedisCluster } from '@customer-platform/testkit/redis-cluster';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Balancer, startBalancer } from './second-process.ts';

const blackBox = join(import.meta.dirname, 'black-box/black-box.ts');
/** Concurrent customers. Each has its own connections, which the balancers spread. */
const customers = 3;

/** Everything that was started, last first. */
const started: { stop(): Promise<unknown> }[] = [];
let platform: Platform;
let entrances: { gateway: Balancer; admin: Balancer };

beforeAll(async () => {
  const [pooler, nats, redis] = await Promise.all([startPooler(), startNatsCluster(), startRedisCluster()]);
  started.push(pooler, nats, redis);
  platform = await startPlatform({
    databaseEnv: pooler.databaseEnv,
    env: { NATS_URL: nats.urls.join(','), NATS_REPLICAS: String(natsServers), ...redis.env },
  });
  started.unshift(platform);
  const names = services.map(({ name }) => name);
  const second = await startServices(names, platform.env, platform.clock);
  started.unshift(second);
  entrances = await startGateways(await balanced(second));
}, 240_000);
afterAll(async () => {
  for (const each of started) await each.stop();
}, 90_000);

/** Puts a balancer in front of both processes of each service. Returns the balancers' URLs as the gateway's settings. */
async function balanced(second: StartedServices): Promise<Record<string, string>> {
  const settings: Record<string, string> = {};
  for (const [name, url] of Object.entries(second.urls)) {
    const setting = `${name.toUpperCase()}_URL`;
    const balancer = await startBalancer();
    started.unshift(balancer);
    balancer.ports = [url, platform.env('gateway')[setting]!].map(portOf);
    settings[setting] = balancer.url;
  }
  return settings;
}

/** Starts two gateways that reach services at `urls`. Returns the balancers in front of them. */
async function startGateways(urls: Record<string, string>) {
  const { startGateway } = (await import('@customer-platform/gateway' as string)) as {
    startGateway(env: Record<string, string>): Promise<{ url: string; adminUrl: string; stop(): Promise<void> }>;
  };
  const env = { ...platform.env('gateway'), ...urls };
  const both = [await startGateway(env), await startGateway(env)];
  started.unshift(...both);
  const [gateway, admin] = [await startBalancer(), await startBalancer()];
  started.unshift(gateway, admin);
  gateway.ports = both.map(({ url }) => portOf(url));
  admin.ports = both.map(({ adminUrl }) => portOf(adminUrl));
  return { gateway, admin };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

it('passes the black box with two of each process behind PgBouncer, three NATS servers and a Redis Cluster', async () => {
  const args = [blackBox, '--gateway', entrances.gateway.url, '--admin', entrances.admin.url];
  const env = { ...process.env, ADMIN_TOKEN: platform.adminToken };
  const checks = Array.from({ length: customers }, () => promisify(execFile)(process.execPath, args, { env }));
  for (const { stdout } of await Promise.all(checks)) expect(stdout).toContain('All checks passed.');
}, 240_000);
