import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument } from '@customer-platform/contracts/openapi';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { compileFault, runGenerators, withFolder } from './openapi/generators.ts';

/**
 * Customer program that uses the generated types. It compiles only if operations have their bodies, each enum and each resource
 * has one type everywhere, and a PUT has no Idempotency-Key.
 */
const program = `import type { components, operations, webhooks } from './api.js';

type Schemas = components['schemas'];
type Body<K extends keyof operations> =
  operations[K] extends { requestBody: { content: { 'application/json': infer B } } } ? B : never;
type ResponseOf<K extends keyof operations, Status extends number> =
  operations[K] extends { responses: Record<Status, { content: { 'application/json': infer A } }> } ? A : never;
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

const taken: Body<'recordEvents'> = { events: [{ name: 'cart.abandoned', external_id: 'shop-1', properties: {} }] };
// @ts-expect-error: an event has a name
const nameless: Body<'recordEvents'> = { events: [{ external_id: 'shop-1' }] };
// @ts-expect-error: there is no such channel
const pigeon: Schemas['Channel'] = 'pigeon';
const hours: Schemas['Staff']['hours'] = { mon: [['09:00', '12:00']] };
const sent: Same<Schemas['Message']['status'], Schemas['MessageStatus']> = true;
const told: Same<
  webhooks['contact.created']['post']['requestBody']['content']['application/json']['data']['contact'],
  ResponseOf<'getContact', 200>
> = true;
const keyed: NonNullable<operations['createContact']['parameters']['header']> = { 'Idempotency-Key': 'once' };
const putWithoutKey: operations['putChannel']['parameters']['header'] = undefined;
const refused: ResponseOf<'listContacts', 400>['error']['code'] = 'invalid_request';
export const all = [taken, nameless, pigeon, hours, sent, told, keyed, putWithoutKey, refused];
`;

/** Returns the document's errors as sentences: the linter's, else the generator's and the compiler's. */
export async function faultsOf(document: object, using = program): Promise<string[]> {
  const linted = await lintFaults(document);
  if (linted.length > 0) return linted;
  const types = astToString(await openapiTypescript(JSON.stringify(document)));
  const fault = withFolder((folder) => {
    writeFileSync(join(folder, 'api.ts'), types);
    writeFileSync(join(folder, 'program.ts'), using);
    return compileFault(join(folder, 'program.ts'));
  });
  return fault === undefined ? [] : [fault];
}

/** Returns errors by Redocly's recommended rules. Ambiguous paths are allowed, because OpenAPI lets the more concrete path win. */
async function lintFaults(document: object): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'], rules: { 'no-ambiguous-paths': 'off' } });
  const source = JSON.stringify(document, null, 1);
  const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config });
  return problems.map(({ ruleId, message, location }) => `${location[0]?.pointer ?? '#'}: ${message} (${ruleId})`);
}

if (import.meta.main) {
  const document = openApiDocument() as { paths: object };
  const operations = Object.values(document.paths).reduce((sum, path) => sum + Object.keys(path).length, 0);
  const faults = await faultsOf(document);
  for (const outcome of faults.length > 0 ? [] : runGenerators(document)) {
    if ('skipped' in outcome) console.log(`openapi: ${outcome.name} was skipped: ${outcome.skipped}`);
    else {
      if (outcome.fault !== undefined) faults.push(outcome.fault);
      console.log(`openapi: ${outcome.name} ${outcome.fault === undefined ? 'understands the document' : 'failed'}`);
    }
  }
  for (const fault of faults) console.error(fault);
  console.log(`openapi: ${operations} operations linted and generated, ${faults.length} faults`);
  process.exit(faults.length === 0 ? 0 : 1);
}
