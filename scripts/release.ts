import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ServiceName, serviceNames } from '@customer-platform/contracts/core';
import { differencesOf } from './contracts/compare-contracts.ts';
import { currentRecords } from './contracts/record.ts';
import { readReleased, releasedFileOf, writeReleased } from './contracts/released.ts';
import { folderOf } from './deployables.ts';
import { releasedChangelog, unreleasedIn } from './release/changelog.ts';
import {
  composeWith,
  lockFileWith,
  manifestWith,
  nextVersion,
  type ReleaseKind,
  releaseKinds,
} from './release/version.ts';

const usage = `Releases one deployable: its version, changelog, image tag and recorded contracts, in one commit with a tag.

  npm run release -- <deployable> <${releaseKinds.join('|')}>

Deployables: ${serviceNames.join(', ')}`;

const root = join(import.meta.dirname, '..');

/** Texts of files, relative to the repository, as the release leaves them. */
type Texts = Record<string, string>;

try {
  const [deployable, kind, ...others] = process.argv.slice(2);
  if (deployable === undefined || deployable === '--help') {
    console.log(usage);
    process.exit(deployable === undefined ? 1 : 0);
  }
  if (others.length > 0) throw new Error(`releases are made one by one; what is "${others.join(' ')}"?\n\n${usage}`);
  await release(deployable, kind);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

/** Checks everything, then changes everything. Throws an Error that says why nothing was changed. */
async function release(deployable: string, kind: string | undefined): Promise<void> {
  if (!isDeployable(deployable))
    throw new Error(`${deployable} is no deployable: it must be one of ${serviceNames.join(', ')}`);
  if (!isKind(kind))
    throw new Error(`the kind of release is ${kind ?? 'missing'}: it must be one of ${releaseKinds.join(', ')}`);
  const changed = git('status', '--porcelain');
  if (changed !== '') throw new Error(`the working tree must be clean; commit or stash first:\n${changed}`);

  const records = await currentRecords(root);
  const version = nextVersion(records[deployable].version, kind);
  const tag = `${deployable}@${version}`;
  if (git('tag', '--list', tag) !== '') throw new Error(`the tag ${tag} is there already`);
  const texts = textsOf(deployable, version);
  const released = readReleased(root, deployable);
  const breaks = released ? differencesOf(deployable, released, records[deployable]).breaks : [];
  if (breaks.length > 0 && kind !== 'major')
    throw new Error(`${breaks.join('\n')}\nonly a major release may break what the one before promised`);

  commit([...Object.keys(texts), releasedFileOf(deployable)], `${deployable} ${version}`, tag, () => {
    for (const [file, text] of Object.entries(texts)) writeFileSync(join(root, file), text);
    writeReleased(root, deployable, { ...records[deployable], version });
  });
  console.log(`released ${tag}; push it with: git push --follow-tags`);
}

function isDeployable(name: string): name is ServiceName {
  return serviceNames.some((known) => known === name);
}

function isKind(name: string | undefined): name is ReleaseKind {
  return releaseKinds.some((known) => known === name);
}

/** Returns the files that name the version, with the new one. Throws an Error that says what a file lacks. */
function textsOf(deployable: ServiceName, version: string): Texts {
  const folder = folderOf(deployable);
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const changelogFile = `${folder}/CHANGELOG.md`;
  if (!existsSync(join(root, changelogFile))) throw new Error(`${changelogFile} is missing`);
  const date = new Date().toISOString().slice(0, 10);
  if (unreleasedIn(read(changelogFile)) === '')
    throw new Error(`${changelogFile}: nothing is under Unreleased; say there what the release changes`);
  const edits: Record<string, (text: string) => string> = {
    [changelogFile]: (text) => releasedChangelog(text, version, date),
    [`${folder}/package.json`]: (text) => manifestWith(text, version),
    'package-lock.json': (text) => lockFileWith(text, folder, version),
    'docker-compose.yml': (text) => composeWith(text, deployable, version),
  };
  return Object.fromEntries(Object.entries(edits).map(([file, edit]) => [file, edit(read(file))]));
}

/** Commits what `change` does to the files, and tags it. If git refuses, the files are as they were, and git's error is thrown. */
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

/** Returns what git prints. Throws an Error with its error output if it fails. */
function git(...given: string[]): string {
  return execFileSync('git', given, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}
