import { expect, it } from '@jest/globals';

import { foldersOf, planOf } from './plan.mjs';

const fresh: Parameters<typeof planOf>[0] = {
  wanted: 'runtime',
  node: 24,
  host: 'linux-x64',
  needsPostgres: true,
  hasOwnNode: false,
  manifests: 'now',
  installed: null,
  running: undefined,
  nats: null,
};
const noNats = {
  platform: 'linux',
  ...{ onPath: false, debianUnpacked: false, apt: false, goBuilt: false, go: false, docker: false },
};
const has = (packages: string, manifests = 'now') => ({ installed: { manifests, packages } });
const add = ['install', '--no-save'];

it.each<[string, object, object]>([
  ['a first start', {}, { installNode: false, npm: { command: ['ci'], packages: 'runtime' } }],
  ['the next start', has('runtime'), { installNode: false, npm: null }],
  ['a start where tests ran', has('all'), { installNode: false, npm: null }],
  ['a first test', { wanted: 'all' }, { installNode: false, npm: { command: ['ci'], packages: 'all' } }],
  // A running platform keeps its packages.
  ['a test after a start', { wanted: 'all', ...has('runtime') }, { npm: { command: add, packages: 'all' } }],
  ['a start after an update', has('runtime', 'old'), { npm: { command: ['ci'], packages: 'runtime' } }],
  [
    'an update while the platform runs',
    { ...has('runtime', 'old'), running: 7 },
    { refusal: expect.stringContaining('process 7') },
  ],
  ['a start while another one runs', { ...has('runtime'), running: 7 }, { npm: null }],
  ['a machine without NATS', { nats: noNats }, { refusal: expect.stringContaining('set NATS_URL') }],
  ['a machine with Docker', { nats: { ...noNats, docker: true } }, { installNode: false }],
  ['a start after an update where tests ran', has('all', 'old'), { npm: { command: ['ci'], packages: 'all' } }],
  ['a start on Node 20', { node: 20 }, { installNode: true }],
  ['the next start on Node 22', { node: 22, hasOwnNode: true, ...has('runtime') }, { installNode: false, npm: null }],
  ['Node 24 on macOS', { host: 'darwin-arm64' }, { installNode: false }],
  ['Alpine with another database', { host: 'linux-x64-musl', needsPostgres: false }, { installNode: false }],
  ['Node 18', { node: 18 }, { refusal: expect.stringContaining('Node.js 18 is too old: install 24') }],
  [
    'Node 22 on macOS',
    { node: 22, host: 'darwin-arm64' },
    { refusal: expect.stringContaining('Node.js 22 is too old for darwin-arm64') },
  ],
  [
    'Node 22 on Alpine',
    { node: 22, host: 'linux-x64-musl', needsPostgres: false },
    { refusal: expect.stringContaining('linux-x64-musl') },
  ],
  ['Alpine', { host: 'linux-x64-musl' }, { refusal: expect.stringContaining('(Alpine): use Docker Compose') }],
  ['Windows', { host: 'win32-x64', needsPostgres: false }, { refusal: expect.stringContaining('WSL 2') }],
])('installs exactly the needed packages for %s', (_, facts, expected) => {
  expect(planOf({ ...fresh, ...facts })).toMatchObject(expected);
});

it('counts the packages that npm installs on a machine', () => {
  const locked = {
    '': {},
    'services/cdp': {},
    'node_modules/any': {},
    'node_modules/any/node_modules/nested': {},
    'node_modules/tests': { dev: true },
    'node_modules/mac': { os: ['darwin'] },
    'node_modules/arm': { os: ['linux'], cpu: ['arm64'] },
    'node_modules/musl': { os: ['linux'], libc: ['musl'] },
    'node_modules/not-windows': { os: ['!win32'] },
  };
  const on = (packages: 'runtime' | 'all') =>
    foldersOf(locked, packages, { platform: 'linux', arch: 'x64', libc: 'glibc' });
  const runtime = ['any', 'any/node_modules/nested', 'not-windows'].map((name) => `node_modules/${name}`);
  expect(on('runtime')).toEqual(runtime);
  expect(on('all').sort()).toEqual([...runtime, 'node_modules/tests'].sort());
});
