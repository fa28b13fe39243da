import { execFileSync } from 'node:child_process';
import { type ServerName, waitFor } from '@customer-platform/testkit';
import type { Fault } from './fault.ts';
import type { World } from './world.ts';

/** Interval at which a restarted process is killed again. */
const killEveryMs = 100;

/** Kills a service whenever it starts. */
export const killedService: Fault = {
  name: 'kill',
  what: 'webhooks is killed whenever it starts',
  alerts: [{ name: 'ServiceGone', labels: { job: 'webhooks' } }],
  async cause({ platform, admin }) {
    const kill = () => {
      if (platform.pidOf('webhooks') !== undefined) platform.kill('webhooks');
    };
    kill();
    const timer = setInterval(kill, killEveryMs);
    return {
      async remedy() {
        const { gone } = await admin('services');
        if (!gone.includes('webhooks')) throw new Error('services does not say that webhooks is gone');
        clearInterval(timer);
      },
      end: async () => clearInterval(timer),
    };
  },
};

/** Freezes a service, which then neither responds nor exits. */
export const frozenService: Fault = {
  name: 'freeze',
  what: 'webhooks is frozen: it neither responds nor exits',
  alerts: [{ name: 'ServiceGone', labels: { job: 'webhooks' } }],
  async cause({ platform, admin }) {
    const pid = await waitFor('webhooks to run', () => platform.pidOf('webhooks'));
    process.kill(pid, 'SIGSTOP');
    return {
      async remedy() {
        const { gone } = await admin('services');
        if (!gone.includes('webhooks')) throw new Error('services does not say that webhooks is gone');
        platform.kill('webhooks');
      },
      async end() {
        if (platform.pidOf('webhooks') === pid) process.kill(pid, 'SIGCONT');
      },
    };
  },
};

/** Stops Redis. */
export const redisGone: Fault = {
  name: 'redis',
  what: 'Redis is stopped',
  alerts: [{ name: 'RedisFallback', labels: { job: 'gateway' } }],
  cause: (world) => serverGone(world, 'redis'),
};

/** Stops NATS. */
export const natsGone: Fault = {
  name: 'nats',
  what: 'NATS is shut down',
  alerts: [{ name: 'OutboxStuck', labels: { job: 'cdp' } }],
  cause: (world) => serverGone(world, 'nats'),
};

/** Suspends NATS with SIGSTOP: its port stays open, and it does not reply. */
export const natsStopped: Fault = {
  name: 'stopped',
  what: 'NATS is suspended (state T), with its port open',
  alerts: [{ name: 'OutboxStuck', labels: { job: 'cdp' } }],
  async cause({ platform, say }) {
    const pid = await waitFor('NATS to run', () => platform.pidOf('nats'));
    process.kill(pid, 'SIGSTOP');
    const goOn = async () => void process.kill(pid, 'SIGCONT');
    return {
      async remedy() {
        const state = execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
        if (!state.startsWith('T')) throw new Error(`ps says that its state is ${state}`);
        say(`ps says that its state is ${state}; kill -CONT`);
        await goOn();
      },
      end: goOn,
    };
  },
};

async function serverGone({ platform, say, admin }: World, name: ServerName) {
  await platform.stopServer(name);
  let isBack = false;
  const start = async () => {
    if (isBack) return;
    isBack = true;
    await platform.startServer(name);
  };
  return {
    async remedy() {
      const { gone } = await admin('services');
      // The control plane queries all services and itself over the bus, so the tool can tell whether the bus or a service is gone.
      const isBus = name === 'nats';
      const isGone = (service: string) => gone.includes(service) === isBus;
      if (!isGone('cdp') || !isGone('gateway'))
        throw new Error(`services says that these are gone: ${gone.join(', ')}`);
      say(`services says that ${isBus ? 'the bus is' : 'no service is'} gone; restarting ${name}`);
      await start();
    },
    end: start,
  };
}
