import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { gateway, services } from '../local/deployables.ts';
import { bill, licenseFaults, licenseTexts, runtimePackages } from './inventory.ts';

const work = mkdtempSync(join(tmpdir(), 'image-'));
afterAll(() => rmSync(work, { recursive: true }));
const write = (file: string, text: string) => {
  mkdirSync(dirname(join(work, file)), { recursive: true });
  writeFileSync(join(work, file), text);
};
/** Lays out an image whose entry files print their path and arguments. */
function imageOf(folder: string, entries: readonly string[]) {
  for (const entry of entries)
    write(`${folder}/${entry}`, `console.log('${entry}', process.argv.slice(2).join(' '));\n`);
  copyFileSync(join(import.meta.dirname, 'customer-platform'), join(work, folder, 'customer-platform'));
  return (...args: string[]) => {
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
    const program = join(work, folder, 'customer-platform');
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: work, encoding: 'utf8', env });
    return { status, stdout: stdout.trim(), stderr };
  };
}

describe('the image of all deployables', () => {
  const deployables = [gateway, ...services];
  const others = ['deploy/local/provision.ts', 'packages/admin-cli/src/cli.ts', 'deploy/compose/write-secrets.ts'];
  const start = imageOf('all', [...deployables.map(({ entry }) => entry), ...others]);

  it.each(deployables)('starts $name by its name, with its arguments', ({ name, entry }) => {
    expect(start(name, 'migrate')).toEqual({ status: 0, stdout: `${entry} migrate`, stderr: '' });
  });

  it("provisions, runs the operators' command line, and writes secrets into the working directory", () => {
    expect(['provision', 'admin', 'secrets'].map((name) => start(name, '--help').stdout)).toEqual([
      `${others[0]} --help`,
      `${others[1]} --help`,
      `${others[2]} --folder ${work} --help`,
    ]);
  });

  it.each([[[]], [['pipelines']], [['../gateway']], [['']]])('lists the valid names for %j', (args) => {
    const { status, stderr } = start(...args);
    expect(status).toBe(2);
    const [, names] = /^ {2}gateway (.+)$/m.exec(stderr) ?? [];
    expect(names?.split(' ')).toEqual(services.map(({ name }) => name).sort());
    expect(start('--help')).toEqual({ status: 0, stdout: expect.stringContaining(`gateway ${names}`), stderr: '' });
  });

  it('with a single deployable takes only arguments', () => {
    expect(imageOf('single', ['main.ts'])('migrate')).toMatchObject({ status: 0, stdout: 'main.ts migrate' });
  });
});

describe('the inventory of an image', () => {
  const lock = {
    packages: {
      '': { version: '1.0.0' },
      'services/crm': { version: '1.0.0' },
      'node_modules/@customer-platform/crm': { version: '1.0.0', link: true },
      'node_modules/tool': { version: '1.0.0', license: 'MIT', dev: true },
      'node_modules/server': { version: '1.0.0', license: 'MIT', optional: true },
      'node_modules/zip': { version: '2.0.0', license: '(MIT OR GPL-3.0-or-later)', integrity: 'sha512-AQID' },
      'node_modules/@scope/copy': { version: '1.0.0', license: 'ISC' },
      'node_modules/zip/node_modules/copied': { version: '3.0.0', license: '(MIT AND GPL-3.0-only)' },
      'services/crm/node_modules/@scope/copy': { version: '1.0.0', license: 'ISC' },
      'node_modules/unknown': { version: '1.0.0' },
    },
  };
  const packages = runtimePackages(lock);

  it('lists each runtime package once, without machine, time or registry', () => {
    const subject = { name: 'customer-platform/crm', version: '1.2.0' };
    const { components } = bill(packages, subject, 'node:24') as { components: { name: string }[] };
    expect(components.map(({ name }) => name)).toEqual(['node:24', 'node', '@scope/copy', 'copied', 'unknown', 'zip']);
    expect(components[2]).toMatchObject({
      purl: 'pkg:npm/%40scope/copy@1.0.0',
      licenses: [{ license: { id: 'ISC' } }],
    });
    expect(components[5]).toMatchObject({
      licenses: [{ expression: '(MIT OR GPL-3.0-or-later)' }],
      hashes: [{ alg: 'SHA-512', content: '010203' }],
    });
  });

  it('names packages whose license is not allowed', () => {
    expect(licenseFaults(packages)).toEqual([
      expect.stringContaining('copied@3.0.0: the license (MIT AND GPL-3.0-only) is not one of 0BSD, Apache-2.0,'),
      expect.stringContaining('unknown@1.0.0: the license (none) is not one of'),
    ]);
  });

  it('contains the license files of every package, and names packages without one', () => {
    write('root/node_modules/zip/LICENSE.md', 'Of zip');
    write('root/node_modules/@scope/copy/license/LICENSE', 'Of copy');
    write('root/services/crm/node_modules/@scope/copy/NOTICE', 'Notice');
    const texts = licenseTexts(packages, join(work, 'root'));
    for (const text of ['zip 2.0.0 ((MIT OR GPL-3.0-or-later))\n\nOf zip', 'Of copy', 'Notice'])
      expect(texts).toContain(text);
    expect(texts).toContain('unknown 1.0.0 (undefined)\n\nThe package has no license file.');
  });
});
