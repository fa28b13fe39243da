import { Worker } from 'node:worker_threads';
import { testCertificate } from '@customer-platform/testkit/test-certificate';

export type Attack = 'slow heads' | 'slow bodies' | 'unread responses' | 'pipelined requests';

/** Attack, and the clients that run it. */
export interface Attackers {
  attack: Attack;
  /** URL of the proxy. */
  url: string;
  /** Loopback addresses of the clients. */
  addresses: string[];
  /** Total number of connections. */
  connections: number;
  key?: string;
  certificate?: string;
}

/** Attack that runs until it is stopped. */
export interface RunningAttack {
  /** Number of connections on which the attack has begun, and that have ended. */
  state: { begun: number; ended: number };
  stop(): Promise<void>;
}

/** Starts an attack in a separate thread. */
export function startAttack(attackers: Attackers): RunningAttack {
  const workerData = { ...attackers, certificate: testCertificate };
  const worker = new Worker(new URL('./proxy-attacks.ts', import.meta.url), { workerData });
  const running: RunningAttack = {
    state: { begun: 0, ended: 0 },
    stop: async () => void (await worker.terminate()),
  };
  worker.on('message', (state: RunningAttack['state']) => {
    running.state = state;
  });
  return running;
}
