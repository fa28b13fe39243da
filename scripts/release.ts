import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ServiceName, serviceNames } from '@customer-platform/contracts/core';
import { chartFolder } from './chart/chart-files.ts';
import { differencesOf } from './contracts/compare-contracts.ts';
import { type ContractRecord, currentRecords } from './contracts/record.ts';
import { readReleased, releasedFileOf, writeReleased } from './contracts/released.ts';
import { folderOf, versionIn } from './deployables.ts';
import { releasedChangelog, unreleasedIn } from './release/changelog.ts';
import {
  composeWith,
  lockFileWith,
  manifestWith,
  nextVersion,
  type ReleaseKind,
  releaseKinds,
  yamlWith,
} from './release/version.ts';

/** Units with their own releases: each deployable, and the platform, which is the root, `deploy` and the chart. */
const releasables = ['platform', ...serviceNames] as const;
type Releasable = (typeof releasables)[number];

const usage = `Releases one deployable, or the platform, in one commit with a tag: version, changelog, image tag, and a deployable's recorded contracts.

  npm run release -- <deployable> <${releaseKinds.join('|')}>

Deployables: ${serviceNames.join(', ')}; "platform" releases the chart and the images provision and nats.`;

const root = join(import.meta.dirname, '..');

const chartVersions = `${chartFolder}/files/versions.yaml`;

type Edits = Record<string, (text: string) => string>;

try {
  const [deployable, kind, ...others] = process.argv.slice(2);
  if (deployable === undefined || deployable === '--help') {
    console.log(usage);
    process.exit(deployable === undefined ? 1 : 0);
  }
  if (others.length > 0)
    throw new Error(`"${others.join(' ')}" is one argument too many: release one deployable at a time\n\n${usage}`);
  await release(deployable, kind);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

/** Checks everything before the first change. Throws an Error that says why nothing was changed. */
async function release(name: string, kind: string | undefined): Promise<void> {
  if (!isReleasable(name)) throw new Error(`${name} is not a deployable: it must be one of ${releasables.join(', ')}`);
  if (!isKind(kind))
    throw new Error(`the kind of release is ${kind ?? 'missing'}: it must be one of ${releaseKinds.join(', ')}`);
  const changed = git('status', '--porcelain');
  if (changed !== '') throw new Error(`the working tree must be clean; commit or stash first:\n${changed}`);
  const { status, stderr } = spawnSync(process.execPath, ['scripts/pack.mjs', '--check'], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr.trim());

  const folder = name === 'platform' ? '.' : folderOf(name);
  const version = nextVersion(versionIn(root, folder), kind);
  const tag = `${name}@${version}`;
  if (git('tag', '--list', tag) !== '') throw new Error(`the tag ${tag} already exists`);
  const texts = textsOf(name, folder, version);
  const record = name === 'platform' ? undefined : await contractOf(name, kind);

  const files = [...Object.keys(texts), ...(record ? [releasedFileOf(name)] : [])];
  commit(files, `${name} ${version}`, tag, () => {
    for (const [file, text] of Object.entries(texts)) writeFileSync(join(root, file), text);
    if (record) writeReleased(root, name, { ...record, version });
  });
  // GitHub starts no workflow for tags if more than three are pushed at once.
  console.log(`released ${tag}; push it with: git push origin HEAD ${tag}`);
}

/** Returns a deployable's current contract. Throws an Error if it breaks the last release's contract and this release is not major. */
async function contractOf(name: ServiceName, kind: ReleaseKind): Promise<ContractRecord> {
  const record = (await currentRecords(root))[name];
  const released = readReleased(root, name);
  const breaks = released ? differencesOf(name, released, record).breaks : [];
  if (breaks.length > 0 && kind !== 'major')
    throw new Error(`${breaks.join('\n')}\nonly a major release may break the last release's contract`);
  return record;
}

function isReleasable(name: string): name is Releasable {
  return releasables.some((known) => known === name);
}

function isKind(name: string | undefined): name is ReleaseKind {
  return releaseKinds.some((known) => known === name);
}

/** Returns the files that contain the version, with the new version. Throws an Error that says what a file lacks. */
function textsOf(name: Releasable, folder: string, version: string): Record<string, string> {
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const changelogFile = join(folder, 'CHANGELOG.md');
  if (!existsSync(join(root, changelogFile))) throw new Error(`${changelogFile} is missing`);
  const date = new Date().toISOString().slice(0, 10);
  if (unreleasedIn(read(changelogFile)) === '')
    throw new Error(`${changelogFile}: the section Unreleased is empty; describe there what the release changes`);
  const edits: Edits = {
    [changelogFile]: (text) => releasedChangelog(text, version, date),
    [join(folder, 'package.json')]: (text) => manifestWith(text, version),
    ...(name === 'platform' ? ofPlatform(version) : ofDeployable(name, folder, version)),
  };
  return Object.fromEntries(Object.entries(edits).map(([file, edit]) => [file, edit(read(file))]));
}

function ofDeployable(name: ServiceName, folder: string, version: string): Edits {
  return {
    'package-lock.json': (text) => lockFileWith(text, folder, version),
    'docker-compose.yml': (text) => composeWith(text, name, version),
    [chartVersions]: (text) => yamlWith(text, name, version),
  };
}

/** Edits for the platform: the chart, and the images `provision` and `nats`, whose source is `deploy`. */
function ofPlatform(version: string): Edits {
  return {
    'deploy/package.json': (text) => manifestWith(text, version),
    'package-lock.json': (text) =>
      lockFileWith(lockFileWith(manifestWith(text, version), '', version), 'deploy', version),
    'docker-compose.yml': (text) =>
      ['provision', 'nats'].reduce((all, image) => composeWith(all, image, version, 'DEPLOY_VERSION'), text),
    [`${chartFolder}/Chart.yaml`]: (text) => yamlWith(text, 'version', version),
    [chartVersions]: (text) => yamlWith(text, 'provision', version),
  };
}

/** Commits the changes of `change` to the files, and tags the commit. If git fails, restores the files and throws git's error. */
function commit(files: string[], message: string, tag: string, change: () => void): void {
  const head = git('rev-parse', 'HEAD');
  const before = files.map((file) =>
    existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : undefined,
  );
  try {
    change();
    git('add', '--', ...files);
    git('commit', '--quiet', '--message', message);
    git('tag', '--annotate', '--message', message, tag);
  } catch (error) {
    git('reset', '--quiet', '--soft', head);
    git('reset', '--quiet', '--', ...files);
    for (const [index, file] of files.entries()) {
      const text = before[index];
      if (text === undefined) rmSync(join(root, file), { force: true });
      else writeFileSync(join(root, file), text);
    }
    throw error;
  }
}

/** Returns git's output. Throws an Error with git's error output if it fails. */
function git(...given: string[]): string {
  return execFileSync('git', given, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}
