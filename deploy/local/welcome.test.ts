import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import type { Demo } from './demo/demo.ts';
import { recordProcess } from './supervisor/process-record.ts';
import { welcome } from './welcome.ts';

const directory = mkdtempSync(join(tmpdir(), 'welcome-'));
afterAll(() => rmSync(directory, { recursive: true }));
writeFileSync(join(directory, 'ports.json'), JSON.stringify({ postgres: 20_001, nats: 20_002, redis: 20_003 }));
writeFileSync(join(directory, 'secrets.json'), JSON.stringify({ ADMIN_TOKEN: 'its-token' }));
for (const name of ['postgres', 'nats']) recordProcess(join(directory, name, 'process.json'), process.pid, 'SIGTERM');
const key = `cp_live_${'k'.repeat(40)}`;
const demo = { keys: { live: key, test: 'cp_test_k' } } as Demo;
const at = { gateway: 'http://127.0.0.1:8080', admin: 'http://127.0.0.1:8081', directory, demo, env: {} };

it('the welcome fits on one screen and shows all URLs and a request to paste', () => {
  const text = welcome(at);
  const lines = text.split('\n');
  expect(lines.length).toBeLessThanOrEqual(20);
  for (const line of [
    '  API         http://127.0.0.1:8080',
    '  Docs        http://127.0.0.1:8080/docs',
    '  Token       its-token',
    '  PostgreSQL  127.0.0.1:20001',
    '  Redis       none',
    `curl http://127.0.0.1:8080/v1/cdp/contacts -H 'Authorization: Bearer ${key}'`,
  ])
    expect(lines).toContain(line);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120);
});

it('without a demo no request is shown, and a server from the environment is shown by its setting', () => {
  const text = welcome({ ...at, demo: null, env: { DATABASE_URL: 'postgres://user:secret@db/platform' } });
  expect(text).toContain('  PostgreSQL  at DATABASE_URL\n  NATS        127.0.0.1:20002\n');
  expect(text).not.toMatch(/curl|secret/);
});
