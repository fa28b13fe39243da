import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ContractRecord } from './record.ts';

const folder = 'packages/contracts/released';

/** Returns the path of the record of a deployable's last release, relative to the repository. */
export function releasedFileOf(deployable: string): string {
  return `${folder}/${deployable}.json`;
}

/** Returns the contract of a deployable's last release; undefined if none is recorded. Throws a SyntaxError if the file is not JSON. */
export function readReleased(root: string, deployable: string): ContractRecord | undefined {
  const file = join(root, releasedFileOf(deployable));
  if (!existsSync(file)) return undefined;
  return JSON.parse(readFileSync(file, 'utf8')) as ContractRecord;
}

/** Returns the names of all deployables with a recorded release. */
export function recordedDeployables(root: string): string[] {
  const files = existsSync(join(root, folder)) ? readdirSync(join(root, folder)) : [];
  return files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length));
}

/** Records a contract as that of a deployable's last release. */
export function writeReleased(root: string, deployable: string, record: ContractRecord): void {
  const file = join(root, releasedFileOf(deployable));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${textOf(record, '')}\n`);
}

/** Maximum line length in characters for a value on one line. */
const maxLine = 120;

/** Returns JSON in which each value that fits is on one line, so that a change has a small diff. */
function textOf(value: unknown, indent: string): string {
  const line = JSON.stringify(value);
  if (line.length + indent.length <= maxLine || typeof value !== 'object' || value === null) return line;
  const deeper = `${indent} `;
  const isList = Array.isArray(value);
  const entries = Object.entries(value).map(([key, each]) => {
    const name = isList ? '' : `${JSON.stringify(key)}: `;
    return `${deeper}${name}${textOf(each, deeper)}`;
  });
  const [open, close] = isList ? '[]' : '{}';
  return `${open}\n${entries.join(',\n')}\n${indent}${close}`;
}
