import { join } from 'node:path';
import type { Demo } from './demo/demo.ts';
import { readJson, type Secrets } from './platform-directory.ts';
import { runningRecord } from './supervisor/process-record.ts';

const servers = [
  ['PostgreSQL', 'postgres', 'DATABASE_URL'],
  ['NATS', 'nats', 'NATS_URL'],
  ['Redis', 'redis', 'REDIS_URL'],
] as const;

/**
 * Returns the text that a ready start prints, in at most 20 lines: the URLs, and a request to paste.
 * @param started.directory the platform's directory, with its ports, its secrets and the process records of its servers
 * @param started.demo the demo account, or null
 * @param started.env environment, which may set the servers' URLs
 */
export function welcome(started: {
  gateway: string;
  admin: string;
  directory: string;
  demo: Demo | null;
  env: NodeJS.ProcessEnv;
}): string {
  const { gateway, admin, directory, demo, env } = started;
  const ports = readJson<Record<string, number>>(join(directory, 'ports.json'));
  const token = readJson<Secrets>(join(directory, 'secrets.json'))?.ADMIN_TOKEN;
  const placeOf = (name: string, setting: string) => {
    if (env[setting]) return `at ${setting}`;
    return runningRecord(join(directory, name, 'process.json')) ? `127.0.0.1:${ports?.[name]}` : 'none';
  };
  const rows = [
    ['API', gateway],
    ['Docs', `${gateway}/docs`],
    ['Console', `${admin}  (asks for the token; the control plane's API is there too)`],
    ['Token', token],
    ...servers.map(([label, name, setting]) => [label, placeOf(name, setting)]),
  ];
  const table = ['', 'Ready', '', ...rows.map(([label, text]) => `  ${label!.padEnd(12)}${text}`), ''];
  const stop = 'Press Ctrl-C to stop. Your data is kept for the next npm start.';
  if (demo === null) return [...table, stop, ''].join('\n');
  const request = `curl ${gateway}/v1/cdp/contacts -H 'Authorization: Bearer ${demo.keys.live}'`;
  return [...table, 'Try it (the keys are in .platform/demo.json):', '', request, '', stop, ''].join('\n');
}
