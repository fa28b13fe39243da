import { Worker } from 'node:worker_threads';
import { testCertificate } from '@customer-platform/testkit/test-certificate';

export type Attack = 'slow heads' | 'slow bodies' | 'unread responses' | 'pipelined requests';

/** Who attacks, and how. */
export interface Attackers {
  attack: Attack;
  /** URL of the proxy. */
  url: string;
  /** Loopback addresses that they come from. */
  addresses: string[];
  /** Connections of all of them together. */
  connections: number;
  key?: string;
  certificate?: string;
}

/** An attack that goes on until it is stopped. */
export interface RunningAttack {
  /** Connections on which it is under way, and those that have ended. */
  state: { begun: number; ended: number };
  stop(): Promise<void>;
}

/** Starts an attack in a thread of its own. */
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
