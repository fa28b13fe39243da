import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { answersOk, type Platform } from './deployables.ts';
import type { ManagedProcess } from './managed-process.ts';

const entryFile = 'services/agents/src/planning/simulated-server.ts';

/** Where the process answers that stands in, for the demo account, for the outside: its AI provider, and whoever sends its messages. */
export function simulatedUrl(platform: Pick<Platform, 'ports'>): string {
  return `http://127.0.0.1:${platform.ports.simulated}`;
}

/** How to run it. It needs no database and knows no secret. */
export function describeSimulated(platform: Platform): ManagedProcess {
  const entry = join(platform.root, entryFile);
  if (!existsSync(entry)) throw new Error(`${entryFile} is missing: check out the whole repository`);
  return {
    name: 'simulated',
    command: process.execPath,
    args: [entry],
    cwd: platform.root,
    env: {
      PATH: process.env.PATH ?? '',
      NODE_COMPILE_CACHE: join(platform.directory, 'compile-cache'),
      HOST: '127.0.0.1',
      PORT: String(platform.ports.simulated),
    },
    stopSignal: 'SIGTERM',
    recordFile: join(platform.directory, 'run', 'simulated.json'),
    ready: () => answersOk(`${simulatedUrl(platform)}/readyz`),
  };
}
