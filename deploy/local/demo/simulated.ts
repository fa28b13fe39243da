import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isUp, type Platform } from '../deployables.ts';
import type { ManagedProcess } from '../supervisor/managed-process.ts';

const entryFile = 'services/agents/src/planning/simulated-server.ts';

/** Returns the URL of the process that simulates the demo account's AI and message providers. */
export function simulatedUrl(platform: Pick<Platform, 'ports'>): string {
  return `http://127.0.0.1:${platform.ports.simulated}`;
}

/** Returns the process to run. It needs no database and has no secrets. */
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
      NODE_COMPILE_CACHE: join(platform.directory, 'compile-cache', 'simulated'),
      HOST: '127.0.0.1',
      PORT: String(platform.ports.simulated),
    },
    stopSignal: 'SIGTERM',
    recordFile: join(platform.directory, 'run', 'simulated.json'),
    ready: () => isUp(`${simulatedUrl(platform)}/readyz`),
  };
}
