import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openTool, type Tool } from '../../test/tool.ts';

let platform: Platform;
const tools: Tool[] = [];
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp'] });
});
afterAll(async () => {
  for (const tool of tools) tool.remove();
  await platform?.stop();
});

async function toolOfNewAccount(): Promise<Tool> {
  const { key } = await platform.account();
  const tool = openTool({ CUSTOMER_PLATFORM_URL: platform.gatewayUrl, CUSTOMER_PLATFORM_KEY: key });
  tools.push(tool);
  return tool;
}

const count = 10_000;
const patient = { deadlineMs: 300_000 };
/** Returns a CSV row with difficult cells: names that a spreadsheet would run, tags with commas, line breaks. */
function row(index: number): string {
  const phone = index % 3 === 0 ? `+49309018${String(20_000 + index)}` : '';
  const name = [`Zoë ${index}`, `"=SUM(${index}, 2)"`, `"O""Neil, ${index}"`, `+${index} Ltd.`][index % 4]!;
  const tags = index % 5 === 0 ? '"vip,""a, b"""' : '';
  const note = index % 7 === 0 ? '"first\nsecond; third"' : '-';
  return [`ext-${index}`, name, phone, `a${index}@example.com`, tags, index % 2 === 0 ? 'Köln' : '', note].join(',');
}

/** Returns an export's rows in the order of their external ids, without ids and numbers, which differ between accounts. */
function comparable(csv: string): string[] {
  const [head, ...rows] = csv.trimEnd().split('\r\n');
  expect(head).toBe('id,number,external_id,name,phone,email,tags,fields.city,fields.note');
  return rows.map((line) => line.replace(/^[^,]*,\d+,/, '')).sort();
}

it('10,000 contacts survive an import with two interruptions, an export, and an import into another account', async () => {
  const tool = await toolOfNewAccount();
  const file = join(tool.folder, 'people.csv');
  const rows = Array.from({ length: count }, (_each, index) => row(index));
  writeFileSync(file, `\ufeffexternal_id,name,phone,email,tags,fields.city,fields.note\r\n${rows.join('\r\n')}\r\n`);
  const done = () => {
    const state = `${file}.import.json`;
    return existsSync(state) ? (JSON.parse(readFileSync(state, 'utf8')) as { rows: number }).rows : 0;
  };
  for (const least of [2_000, 5_000]) {
    const run = tool.start(['contacts', 'import', file], patient);
    await waitFor(`${least} rows`, () => done() >= least, 120_000);
    run.interrupt();
    expect((await run.end()).code).toBe(1);
    expect(done()).toBeLessThan(count);
  }
  const resumed = await tool.run(['contacts', 'import', file, '--json'], patient);
  const result = JSON.parse(resumed.out) as Record<string, number>;
  expect([resumed.code, result]).toEqual([
    0,
    { rows: count, done: count, created: count, updated: 0, unchanged: 0, failed: 0, failed_file: null },
  ]);

  const exported = join(tool.folder, 'exported.csv');
  expect(await tool.run(['contacts', 'export', '--output', exported], patient)).toMatchObject({
    code: 0,
    out: `Exported 10,000 contacts to ${exported}\n`,
  });
  const lines = comparable(readFileSync(exported, 'utf8'));
  expect(lines).toHaveLength(count);

  const other = await toolOfNewAccount();
  expect(await other.run(['contacts', 'import', exported], patient)).toMatchObject({ code: 0 });
  expect(comparable((await other.run(['contacts', 'export'], patient)).out)).toEqual(lines);
  const again = await other.run(['contacts', 'import', exported, '--json'], patient);
  expect(JSON.parse(again.out)).toMatchObject({ created: 0, updated: 0, unchanged: count, failed: 0 });
}, 900_000);
