import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ServerName, waitFor } from '@customer-platform/testkit';
import postgres from 'postgres';
import type { Fault } from './fault.ts';
import type { World } from './world.ts';

/** Of each second that PostgreSQL is slow, how long it stands still, and how long it runs. */
const standsStillMs = 800;
const runsMs = 200;
/** Time between two looks whether a killed process is back, to kill it again. */
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

/** Freezes a service: it neither responds nor ends. */
export const frozenService: Fault = {
  name: 'freeze',
  what: 'webhooks is frozen: it neither responds nor ends',
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

/** Holds a lock in a transaction that somebody forgot. */
export const forgottenLock: Fault = {
  name: 'lock',
  what: "a forgotten transaction holds a lock on webhooks' events",
  alerts: [{ name: 'ConsumerLag', labels: { job: 'webhooks', queue: 'public-events' } }],
  async cause({ platform, admin, say }) {
    const sql = postgres(platform.databaseUrl, { max: 2, onnotice: () => undefined });
    const released = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const holding = sql
      .begin(async (tx) => {
        await tx`lock table webhooks.events in access exclusive mode`;
        locked.resolve();
        await released.promise;
      })
      .catch(locked.reject); // its connection is ended by the remedy
    await locked.promise;
    return {
      async remedy() {
        await admin('queues', 'show', 'webhooks', 'public-events');
        say('psql: select pg_terminate_backend of the session that blocks the others');
        const ended = await sql`
          select pg_terminate_backend(blocker) from (
            select distinct unnest(pg_blocking_pids(pid)) as blocker from pg_stat_activity) as blockers
          where not exists (select from pg_locks where pid = blocker and not granted)`;
        if (ended.count === 0) throw new Error('no session blocks others');
        await admin('queues', 'retry', 'webhooks', 'public-events');
      },
      async end() {
        released.resolve();
        await holding;
        await sql.end({ timeout: 5 });
      },
    };
  },
};

/** Stops Redis. */
export const redisGone: Fault = {
  name: 'redis',
  what: 'Redis is gone',
  alerts: [{ name: 'RedisFallback', labels: { job: 'gateway' } }],
  cause: (world) => serverGone(world, 'redis'),
};

/** Stops NATS. */
export const natsGone: Fault = {
  name: 'nats',
  what: 'NATS is gone',
  alerts: [{ name: 'OutboxStuck', labels: { job: 'cdp' } }],
  cause: (world) => serverGone(world, 'nats'),
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
      // The control plane asks the services over the bus, and itself too: by that the tool tells which is gone.
      const isBus = name === 'nats';
      const isGone = (service: string) => gone.includes(service) === isBus;
      if (!isGone('cdp') || !isGone('gateway'))
        throw new Error(`services says that these are gone: ${gone.join(', ')}`);
      say(`services says that ${isBus ? 'the bus is' : 'no service is'} gone; ${name} is started again`);
      await start();
    },
    end: start,
  };
}

/** Has PostgreSQL stand still most of the time: requests succeed, and are slow. */
export const slowDatabase: Fault = {
  name: 'slow',
  what: 'PostgreSQL stands still for most of each second',
  alerts: [{ name: 'LatencyBudgetFastBurn', labels: { severity: 'critical' } }],
  async cause({ platform, admin, say }) {
    const server = await waitFor('PostgreSQL to run', () => platform.pidOf('postgres'));
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    let goesOn = true;
    const pulses = (async () => {
      while (goesOn) {
        const pids = [server, ...childrenOf(server)];
        signalAll(pids, 'SIGSTOP');
        await Promise.race([sleep(standsStillMs), stopped]);
        signalAll(pids, 'SIGCONT');
        await Promise.race([sleep(runsMs), stopped]);
      }
    })();
    const end = async () => {
      goesOn = false;
      stop();
      await pulses;
    };
    return {
      async remedy() {
        const { data } = await admin('traces', 'list', '--request-min-duration-ms', '500');
        if (data.length === 0) throw new Error('traces list has no slow request');
        const { data: processes } = await admin('services');
        const waiting = processes.map(({ service, pool }: Described) => `${service} ${pool.waiting}`).join(', ');
        say(`statements that wait: ${waiting}; PostgreSQL goes on`);
        await end();
      },
      end,
    };
  },
};

/** Freezes PostgreSQL with all its processes. */
export const frozenDatabase: Fault = {
  name: 'database',
  what: 'PostgreSQL is frozen',
  alerts: [
    { name: 'PoolExhausted', labels: { job: 'cdp' } },
    { name: 'ErrorBudgetFastBurn', labels: { severity: 'critical' } },
  ],
  async cause({ platform, admin, say }) {
    const server = await waitFor('PostgreSQL to run', () => platform.pidOf('postgres'));
    const pids = [server, ...childrenOf(server)];
    signalAll(pids, 'SIGSTOP');
    return {
      async remedy() {
        const { data } = await admin('services');
        const waiting = data.map(({ service, pool }: Described) => `${service} ${pool.waiting}`).join(', ');
        say(`statements that wait: ${waiting}; PostgreSQL goes on`);
        signalAll(pids, 'SIGCONT');
      },
      end: async () => signalAll(pids, 'SIGCONT'),
    };
  },
};

interface Described {
  service: string;
  pool: { waiting: number };
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // it has ended
    }
  }
}

/** Returns the processes that a process started. */
function childrenOf(parent: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // After the name in parentheses: state and parent.
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
      return Number(stat[1]) === parent ? [Number(name)] : [];
    } catch {
      return []; // it has ended
    }
  });
}
