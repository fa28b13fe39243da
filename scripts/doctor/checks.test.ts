import { expect, it } from '@jest/globals';
import * as checks from './checks.mjs';

const machine = { host: 'linux-x64', version: 'v20.1.0' };
const port = { variable: 'GATEWAY_PORT', port: 8080, isFree: false };
const npm = { registry: 'https://registry', error: null, isNeeded: true, hasCache: false };
const natsSource = { program: 'nats-server', image: 'nats:2', goPackage: 'nats@v2', setting: 'NATS_URL' };
const redisSource = { program: 'redis-server', image: 'redis:8', setting: 'REDIS_URL' };
const none = { onPath: false, debianUnpacked: false, apt: false, goBuilt: false, go: false, docker: false };
const nats = (found: Partial<typeof none>, url?: { host: string; error: string | null }) =>
  checks.serverCheck(natsSource, {
    isNeeded: true,
    ...(url && { url }),
    found: { platform: 'linux', ...none, ...found },
  });
const redis = (found: Partial<typeof none>) =>
  checks.serverCheck(redisSource, { isNeeded: false, found: { platform: 'linux', ...none, ...found } });
const refused = { host: 'db:5432', error: 'ECONNREFUSED' };

it.each<[string, { state: string; says: string }, string, string]>([
  ['Node 24', checks.machineCheck({ installNode: false, npm: null }, machine), 'ok', 'linux-x64, Node.js v20.1.0'],
  ['Node 20', checks.machineCheck({ installNode: true, npm: null }, machine), 'ok', 'npm start installs Node.js 24'],
  ['Node 18', checks.machineCheck({ refusal: 'install 24, or 20 at least' }, machine), 'fail', '20 at least'],
  ['a free port', checks.portCheck({ ...port, isFree: true }), 'ok', '8080 is free'],
  ['a port of another program', checks.portCheck(port), 'fail', 'set GATEWAY_PORT to a free port'],
  ['a start that runs', checks.portCheck({ ...port, runsAs: 7 }), 'fail', 'already runs as process 7'],
  ['a first start on 1 GB', checks.spaceCheck({ freeMb: 1_000, isInstalled: false }), 'ok', '1000 MB free'],
  ['a full disk', checks.spaceCheck({ freeMb: 999, isInstalled: false }), 'fail', '1000 MB needed: free space'],
  ['a later start', checks.spaceCheck({ freeMb: 300, isInstalled: true }), 'ok', '300 MB free'],
  ['little memory', checks.memoryCheck(600), 'warn', 'the platform takes 1000 MB'],
  ['a folder of root', checks.folderCheck('EACCES'), 'fail', 'EACCES'],
  ['no network', checks.registryCheck({ ...npm, error: 'ENOTFOUND' }), 'fail', 'does not respond (ENOTFOUND)'],
  ['a cache of root', checks.registryCheck({ ...npm, error: 'EACCES', hasCache: true }), 'fail', 'npm cannot write'],
  ['a cache', checks.registryCheck({ ...npm, error: 'ENOTFOUND', hasCache: true }), 'warn', "only if npm's cache has"],
  ['no network later', checks.registryCheck({ ...npm, error: 'ENOTFOUND', isNeeded: false }), 'ok', 'not needed'],
  ['a network', checks.registryCheck(npm), 'ok', 'https://registry responds'],
  ['a clock', checks.clockCheck(-60, 'https://registry'), 'ok', 'within 60 s of https://registry'],
  [
    'a wrong clock',
    checks.clockCheck(-3_600, 'https://registry'),
    'warn',
    '3600 s behind https://registry: set the clock',
  ],
  ['a clock offline', checks.clockCheck(null, 'https://registry'), 'ok', 'not compared'],
  ['PostgreSQL', checks.postgresCheck(undefined), 'ok', 'comes with the packages'],
  ['a database that is down', checks.postgresCheck(refused), 'fail', 'db:5432 does not respond (ECONNREFUSED)'],
  ['no URL', checks.postgresCheck({ host: null, error: '' }), 'fail', 'DATABASE_URL must be a URL'],
  ['NATS on PATH', nats({ onPath: true, apt: true }), 'ok', 'nats-server on this machine'],
  ['NATS there', nats({ debianUnpacked: true, apt: true }), 'ok', 'in .platform'],
  ['NATS on Debian', nats({ apt: true, go: true }), 'ok', 'downloads Debian'],
  ['NATS with Go', nats({ go: true, docker: true }), 'ok', 'with Go'],
  ['Redis with Go', redis({ go: true, docker: true }), 'ok', 'the image redis:8'],
  ['no NATS', nats({}), 'fail', 'install Go (https://go.dev/dl) to build it here, start Docker, or set NATS_URL'],
  ['no Redis', redis({}), 'warn', 'Without it each gateway limits rates by itself'],
  ['NATS at a URL', nats({}, { host: 'bus:4222', error: null }), 'ok', 'NATS_URL: bus'],
])('says for %s whether a start would succeed, and how to fix it', (_, { state, says }, expected, text) => {
  expect([state, says]).toEqual([expected, expect.stringContaining(text)]);
});
