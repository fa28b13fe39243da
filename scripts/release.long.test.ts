import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceNames } from '@customer-platform/contracts/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ContractRecord } from './contracts/record.ts';
import { composeWith, lockFileWith, manifestWith } from './release/version.ts';

/** A repository with copies of the files that a release reads. */
let root = '';
const git = (...given: string[]) => execFileSync('git', given, { cwd: root, encoding: 'utf8' }).trim();
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const release = (...given: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/release.ts', ...given], {
    cwd: root,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};

/** Makes the current state release 1.0.0, with one unreleased change of Pipelines. */
function asReleased() {
  const edit = (file: string, change: (text: string) => string) => writeFileSync(join(root, file), change(read(file)));
  edit('services/crm/package.json', (text) => manifestWith(text, '1.0.0'));
  edit('package-lock.json', (text) => lockFileWith(text, 'services/crm', '1.0.0'));
  edit('docker-compose.yml', (text) => composeWith(text, 'crm', '1.0.0'));
  edit(
    'services/crm/CHANGELOG.md',
    () => '# Changelog\n\n## Unreleased\n\n- Deals have owners.\n\n## 1.0.0\n\n- Deals.\n',
  );
  edit('services/cdp/CHANGELOG.md', () => '# Changelog\n\n## Unreleased\n\n## 1.0.0\n\n- Contacts.\n');
  execFileSync(process.execPath, ['scripts/check-contracts.ts', '--release'], { cwd: root });
}

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'release-'));
  const here = join(import.meta.dirname, '..');
  const folders = ['gateway', ...serviceNames.filter((name) => name !== 'gateway').map((name) => `services/${name}`)];
  const files = folders.flatMap((folder) => [`${folder}/package.json`, `${folder}/CHANGELOG.md`]);
  const given = [
    'package.json',
    'package-lock.json',
    'docker-compose.yml',
    'CHANGELOG.md',
    'deploy/helm/customer-platform/Chart.yaml',
    'deploy/helm/customer-platform/files/versions.yaml',
    'deploy/package.json',
    'scripts',
    'packages/contracts',
    'packages/docs-site/src/manifest.ts',
    ...files,
  ];
  const filter = (source: string) => !source.endsWith('node_modules');
  for (const name of given) cpSync(join(here, name), join(root, name), { recursive: true, filter });
  for (const name of ['docs', 'packages/console/dist', 'packages/docs-site/dist'])
    mkdirSync(join(root, name), { recursive: true });
  execFileSync(process.execPath, ['scripts/pack.mjs'], { cwd: root });
  symlinkSync(join(here, 'node_modules'), join(root, 'node_modules'));
  git('init', '--quiet', '--initial-branch=main');
  writeFileSync(join(root, '.git/info/exclude'), 'node_modules\n');
  git('config', 'user.name', 'Release Test');
  git('config', 'user.email', 'release@test.example');
  git('config', 'commit.gpgsign', 'false');
  git('config', 'tag.gpgsign', 'false');
  git('config', 'core.hooksPath', '.git/hooks');
  asReleased();
  git('add', '--all');
  git('commit', '--quiet', '--message', 'All');
  git('tag', 'start');
});
beforeEach(() => {
  git('reset', '--quiet', '--hard', 'start');
  for (const tag of git('tag')
    .split('\n')
    .filter((name) => name !== 'start'))
    git('tag', '--delete', tag);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Makes the last release of Pipelines promise a body field of createDeal that no longer exists. */
function breakContract() {
  const file = 'packages/contracts/released/crm.json';
  const record = JSON.parse(read(file)) as ContractRecord;
  const { properties } = record.operations.createDeal!.body as { properties: object };
  Object.assign(properties, { colour: { type: 'string' } });
  writeFileSync(join(root, file), JSON.stringify(record));
  git('commit', '--quiet', '--all', '--message', 'Take the colour away');
}

describe('a release', () => {
  it('raises the version everywhere, moves the changelog, records the contracts, commits and tags', () => {
    expect(release('crm', 'minor')).toEqual({
      status: 0,
      stdout: expect.stringContaining('released crm@1.1.0'),
      stderr: '',
    });
    expect(git('status', '--porcelain')).toBe('');
    expect(git('log', '--format=%s', 'start..HEAD')).toBe('crm 1.1.0');
    expect(git('rev-parse', 'crm@1.1.0^{commit}')).toBe(git('rev-parse', 'HEAD'));
    expect(git('diff', '--numstat', 'start', 'HEAD').split('\n').sort()).toEqual([
      '1\t1\tdeploy/helm/customer-platform/files/versions.yaml',
      '1\t1\tdocker-compose.yml',
      '1\t1\tpackage-lock.json',
      '1\t1\tpackages/contracts/released/crm.json',
      '1\t1\tservices/crm/package.json',
      '2\t0\tservices/crm/CHANGELOG.md',
    ]);
    expect(read('services/crm/CHANGELOG.md')).toMatch(
      /## Unreleased\n\n## 1\.1\.0 \(\d{4}-\d\d-\d\d\)\n\n- Deals have owners\.\n/,
    );
    expect(read('docker-compose.yml')).toContain(`/crm:\${CRM_VERSION:-1.1.0}`);
    expect((JSON.parse(read('packages/contracts/released/crm.json')) as ContractRecord).version).toBe('1.1.0');
  });

  it('of the platform raises the versions of the root, of the images without a deployable, and of the chart', () => {
    expect(release('platform', 'patch')).toMatchObject({ status: 0, stderr: '' });
    expect(git('rev-parse', 'platform@1.0.1^{commit}')).toBe(git('rev-parse', 'HEAD'));
    const changed = git('diff', '--unified=0', 'start', 'HEAD', '--', ':!CHANGELOG.md').match(/^\+[^+].*$/gm);
    expect(changed).toEqual([
      '+version: 1.0.1',
      '+provision: 1.0.1',
      '+  "version": "1.0.1",',
      expect.stringMatching(/provision:\$.DEPLOY_VERSION:-1\.0\.1}/),
      expect.stringMatching(/nats:\$.DEPLOY_VERSION:-1\.0\.1}/),
      '+  "version": "1.0.1",',
      '+      "version": "1.0.1",',
      '+      "version": "1.0.1",',
      '+  "version": "1.0.1",',
    ]);
    expect(read('CHANGELOG.md')).toMatch(/## Unreleased\n\n## 1\.0\.1 \(/);
  });

  it.each<[string, string[], string]>([
    [
      'an unknown deployable',
      ['pipelines', 'minor'],
      'pipelines is not a deployable: it must be one of platform, gateway, calendar',
    ],
    ['an unknown kind', ['crm', 'huge'], 'the kind of release is huge: it must be one of major, minor, patch'],
    ['no kind', ['crm'], 'the kind of release is missing: it must be one of major, minor, patch'],
    ['two deployables', ['crm', 'minor', 'cdp'], 'release one deployable at a time'],
    ['nothing unreleased', ['cdp', 'minor'], 'services/cdp/CHANGELOG.md: the section Unreleased is empty'],
  ])('is rejected without a change: %s', (_, given, sentence) => {
    expect(release(...given)).toEqual({ status: 1, stdout: '', stderr: expect.stringContaining(sentence) });
    expect([git('status', '--porcelain'), git('rev-parse', 'HEAD')]).toEqual(['', git('rev-parse', 'start')]);
  });

  it('is rejected if something is not committed', () => {
    appendFileSync(join(root, 'services/crm/CHANGELOG.md'), 'More.\n');
    const { status, stderr } = release('crm', 'minor');
    expect([status, stderr]).toEqual([1, expect.stringContaining('the working tree must be clean')]);
    expect(stderr).toContain('services/crm/CHANGELOG.md');
    expect(git('rev-parse', 'HEAD')).toBe(git('rev-parse', 'start'));
  });

  it('is rejected if its tag already exists', () => {
    git('tag', 'crm@1.1.0');
    expect(release('crm', 'minor').stderr).toContain('the tag crm@1.1.0 already exists');
    expect(git('rev-parse', 'HEAD')).toBe(git('rev-parse', 'start'));
  });

  it('is rejected if the packed console is older than its sources, until it is packed again', () => {
    writeFileSync(join(root, 'packages/console/index.html'), '<title>New</title>');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'Change the page');
    expect(release('crm', 'minor')).toEqual({
      status: 1,
      stdout: '',
      stderr: 'deploy/packed/console is older than its sources: run npm run pack and commit the result\n',
    });
    execFileSync(process.execPath, ['scripts/pack.mjs'], { cwd: root });
    git('commit', '--quiet', '--all', '--message', 'Pack');
    expect(release('crm', 'minor').status).toBe(0);
  });

  it('may break the contracts only if it is major', () => {
    breakContract();
    const head = git('rev-parse', 'HEAD');
    for (const kind of ['patch', 'minor']) {
      const { status, stderr } = release('crm', kind);
      expect(status).toBe(1);
      expect(stderr).toContain('crm createDeal body.colour: is no longer accepted; clients of 1.0.0 send it');
      expect(stderr).toContain('only a major release may break');
    }
    expect([git('status', '--porcelain'), git('rev-parse', 'HEAD')]).toEqual(['', head]);
    expect(release('crm', 'major').status).toBe(0);
    expect(read('packages/contracts/released/crm.json')).not.toContain('colour');
    expect(git('tag', '--points-at', 'HEAD')).toBe('crm@2.0.0');
  });

  it('changes nothing if git fails', () => {
    writeFileSync(join(root, '.git/hooks/pre-commit'), '#!/bin/sh\necho no release today >&2\nexit 1\n', {
      mode: 0o755,
    });
    try {
      expect(release('crm', 'minor').stderr).toContain('no release today');
    } finally {
      rmSync(join(root, '.git/hooks/pre-commit'));
    }
    expect([git('status', '--porcelain'), git('rev-parse', 'HEAD')]).toEqual(['', git('rev-parse', 'start')]);
  });
});

describe('npm run contracts', () => {
  const check = (...given: string[]) =>
    spawnSync(process.execPath, ['scripts/check-contracts.ts', ...given], { cwd: root, encoding: 'utf8' });

  it('fails on a change that breaks the last release, and passes once it is released', () => {
    expect(check()).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^contracts: \d+ operations, .* 0 faults\n$/),
    });
    breakContract();
    const { status, stdout, stderr } = check();
    expect([status, stderr]).toEqual([
      1,
      'crm createDeal body.colour: is no longer accepted; clients of 1.0.0 send it: keep accepting it\n',
    ]);
    expect(stdout).toContain('1 faults');
    expect(check('--release', 'crm')).toMatchObject({ status: 0, stdout: 'contracts: recorded crm 1.0.0\n' });
    expect(check().status).toBe(0);
    expect(git('diff', '--name-only', 'start')).toBe('');
  });

  it('fails if a record is missing, or belongs to no deployable', () => {
    git('mv', 'packages/contracts/released/crm.json', 'packages/contracts/released/pipelines.json');
    const { status, stderr } = check();
    expect(status).toBe(1);
    expect(stderr.split('\n')).toEqual([
      'crm: packages/contracts/released/crm.json is missing: create it with npm run contracts -- --release crm',
      'packages/contracts/released/pipelines.json: pipelines is not a deployable: delete the file',
      '',
    ]);
  });

  it('records no unknown deployable', () => {
    expect(check('--release', 'pipelines')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('pipelines is not a deployable: it must be one of gateway'),
    });
    expect(git('status', '--porcelain')).toBe('');
  });
});
