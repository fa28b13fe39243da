import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ServiceName, serviceNames } from '@customer-platform/contracts/core';
import { differencesOf } from './contracts/compare-contracts.ts';
import { type ContractRecord, currentRecords } from './contracts/record.ts';
import { readReleased, recordedDeployables, releasedFileOf, writeReleased } from './contracts/released.ts';

const usage = `Compares operations, events and internal requests with those of each deployable's last release, and fails on a change that breaks
a client, a receiver or a service of that release.

  npm run contracts
  npm run contracts -- --release [names]   records the current contracts as released, of all or the named deployables`;

const root = join(import.meta.dirname, '..');
const { values, positionals } = parseArgs({
  // Accepts `--check` like the other checks. Without `--release` it only compares.
  options: { release: { type: 'boolean' }, check: { type: 'boolean' }, help: { type: 'boolean' } },
  allowPositionals: true,
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const unknown = positionals.find((name) => !serviceNames.some((known) => known === name));
if (unknown !== undefined) fail(`${unknown} is not a deployable: it must be one of ${serviceNames.join(', ')}`);
if (positionals.length > 0 && !values.release) fail(`names are only allowed with --release\n\n${usage}`);

const records = await currentRecords(root);
if (values.release) {
  const names = positionals.length > 0 ? (positionals as ServiceName[]) : serviceNames;
  for (const name of names) writeReleased(root, name, records[name]);
  console.log(`contracts: recorded ${names.map((name) => `${name} ${records[name].version}`).join(', ')}`);
} else check();

/** Compares every deployable with its last release, and exits the process. */
function check(): never {
  const faults: string[] = [];
  for (const name of serviceNames) {
    const released = readReleased(root, name);
    if (!released) {
      faults.push(`${name}: ${releasedFileOf(name)} is missing: create it with npm run contracts -- --release ${name}`);
      continue;
    }
    const { breaks, notes } = differencesOf(name, released, records[name]);
    faults.push(...breaks);
    for (const note of notes) console.log(`note: ${note}`);
  }
  for (const name of recordedDeployables(root))
    if (!serviceNames.some((known) => known === name))
      faults.push(`${releasedFileOf(name)}: ${name} is not a deployable: delete the file`);
  const number = (part: (record: ContractRecord) => object) =>
    Object.values(records).reduce((sum, record) => sum + Object.keys(part(record)).length, 0);
  const [operations, events, requests] = [
    number((record) => record.operations),
    number((record) => record.events),
    number((record) => record.requests),
  ];
  // Finding nothing means the check is broken.
  if (!(operations && events && requests)) faults.push('the contracts have no operations, no events or no requests');
  for (const fault of faults) console.error(fault);
  console.log(
    `contracts: ${operations} operations, ${events} events and ${requests} requests compared with the last release, ${faults.length} faults`,
  );
  process.exit(faults.length === 0 ? 0 : 1);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
