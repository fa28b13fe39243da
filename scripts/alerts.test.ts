import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runbookOf as customerRunbooks } from '@customer-platform/contracts/operators';
import { expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const files = (pattern: string) => globSync(pattern, { cwd: root }).sort();
const rules = files('deploy/observe/alerts/*.yml').flatMap((file) =>
  read(file)
    .split(/^ +- (?=alert:|record:)/m)
    .slice(1),
);
const alerts = rules.filter((rule) => rule.startsWith('alert:'));
const nameOf = (rule: string) => /^(?:alert|record): (\S+)/.exec(rule)![1]!;
const runbookOf = (rule: string) => /runbook_url: (\S+)/.exec(rule)?.[1] ?? '';
const operations = read('docs/operations.md');
/** Pages that checks and the console link to. Most problems of a single customer have no alert. */
const customerPages = Object.values(customerRunbooks).map((name) => `docs/runbooks/${name}.md`);

it('each alert has a severity, a description and a runbook', () => {
  expect(alerts.length).toBeGreaterThan(10);
  for (const alert of alerts) {
    expect(alert).toMatch(/severity: (critical|warning)\n/);
    for (const field of ['summary', 'description', 'runbook_url']) expect(alert).toContain(` ${field}: `);
  }
});

it('each alert has a page, each page has an alert or a check, and docs/operations.md links to all', () => {
  expect(alerts.filter((alert) => !existsSync(join(root, runbookOf(alert))))).toEqual([]);
  const pages = [...alerts.map(runbookOf), ...customerPages];
  expect(files('docs/runbooks/*.md')).toEqual([...new Set(pages)].sort());
  for (const page of customerPages) expect(operations).toContain(`(${page.slice('docs/'.length)})`);
  for (const alert of alerts) {
    const page = runbookOf(alert);
    expect(read(page).split('\n')[0]).toContain(nameOf(alert));
    const row = operations.split('\n').find((line) => line.startsWith('|') && line.includes(`\`${nameOf(alert)}\``));
    expect(row).toContain(`(${page.slice('docs/'.length)})`);
  }
});

it('each alert has a rule test', () => {
  const tests = files('deploy/observe/alerts/tests/*.yml').map(read).join('\n');
  expect(alerts.map(nameOf).filter((name) => !tests.includes(`alertname: ${name}\n`))).toEqual([]);
});

/** Keywords of PromQL, and metrics that Prometheus itself creates. */
const known = new Set(
  'max min sum group by or and unless rate last_over_time up target_info'.split(' '), // target_info is the OpenTelemetry resource of a process
);

it('each metric of a rule is documented or recorded by a rule', () => {
  const listed = new Set(
    [...read('docs/reference/metrics.md').matchAll(/^\| `([a-z_0-9.]+)` \|/gm)].map(([, name]) =>
      name!.replaceAll('.', '_'),
    ),
  );
  const recorded = new Set(rules.map(nameOf));
  const unknown = rules.flatMap((rule) => {
    const lines = rule.slice(rule.indexOf('expr:') + 'expr:'.length).split('\n');
    const end = lines.findIndex((line) => /^ +(?:for|labels):/.test(line));
    const expression = lines.slice(0, end < 0 ? lines.length : end).join(' ');
    const bare = expression.replaceAll(/\{[^{}]*\}|\[\w+\]|\bby \([\w, ]+\)/g, ' ');
    return (bare.match(/[a-z_][a-z0-9_:]*/g) ?? []).filter(
      (word) =>
        !known.has(word) && !recorded.has(word) && !listed.has(word.replace(/_(?:total|bucket|count|sum)$/, '')),
    );
  });
  expect(unknown).toEqual([]);
});

it('each command on a page exists in the command-line tool, with its flags', () => {
  const lines = files('docs/runbooks/*.md').flatMap((page) => read(page).match(/npm run -s admin -- [^`#\n]+/g) ?? []);
  const commands = new Map<string, Set<string>>();
  for (const line of lines) {
    const words = line.replaceAll(/'.*?'/g, '').split(' -- ')[1]!.trim().split(/\s+/);
    const name = words.slice(0, words[1] && /^[a-z]+$/.test(words[1]) ? 2 : 1).join(' ');
    const flags = commands.get(name) ?? new Set();
    for (const word of words) if (word.startsWith('--')) flags.add(word);
    commands.set(name, flags);
  }
  expect(commands.size).toBeGreaterThan(8);
  for (const [name, flags] of commands) {
    const args = [join(root, 'packages/admin-cli/src/cli.ts'), ...name.split(' '), '--help'];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
    expect({ name, status }).toEqual({ name, status: 0 });
    for (const flag of flags) expect(stdout).toContain(`${flag} `);
  }
});
