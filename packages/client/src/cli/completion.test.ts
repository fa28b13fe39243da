import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { commands, findCommand } from './commands/index.ts';
import { completionScript, shells } from './completion.ts';

/** Returns bash's completions of the last word. */
function proposed(...words: string[]): string[] {
  const script = `${completionScript('bash', commands)}
COMP_WORDS=(customer-platform ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
_customer_platform; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-u', '-c', script], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  return stdout.split('\n').filter((line) => line !== '');
}

describe('completion in bash', () => {
  it('proposes the words of every command, and its flags', () => {
    const firstWords = new Set(commands.map(({ name }) => name.split(' ')[0]!));
    expect(proposed('')).toEqual([...firstWords]);
    for (const { name, options } of commands) {
      const words = name.split(' ');
      expect(proposed(...words.slice(0, -1), words.at(-1)!)).toContain(words.at(-1)!);
      expect(proposed(...words, '--')).toEqual(expect.arrayContaining(options.map((option) => `--${option.name}`)));
    }
  });

  it('proposes the values of flags and arguments, and otherwise files', () => {
    expect(proposed('con')).toEqual(['contacts']);
    expect(proposed('contacts', '')).toEqual(['import', 'export']);
    expect(proposed('contacts', 'export', '--format', '')).toEqual(['csv', 'jsonl']);
    expect(proposed('contacts', 'export', '--json', '--format', 'j')).toEqual(['jsonl']);
    expect(proposed('contacts', 'export', '--output', '')).toEqual([]);
    expect(proposed('contacts', 'export', '-o', '')).toEqual([]);
    expect(proposed('completion', 'z')).toEqual(['zsh']);
    expect(proposed('clock', 'a')).toEqual(['advance']);
    expect(proposed('clock', 'advance', '2d', '--n')).toEqual(['--no-wait']);
    expect(proposed('deals', '')).toEqual([]);
  });
});

describe.each(shells)('the script for %s', (shell) => {
  const script = completionScript(shell, commands);

  it('names every command and flag', () => {
    const words = commands.flatMap(({ name, options }) => [...name.split(' '), ...options.map((each) => each.name)]);
    expect(words.filter((word) => !script.includes(word))).toEqual([]);
  });

  const { error } = spawnSync(shell, ['--version']);
  (error ? it.skip : it)(`is one that ${shell} takes`, () => {
    const file = join(mkdtempSync(join(tmpdir(), 'client-completion-')), 'script');
    writeFileSync(file, `${script}\n`);
    const { status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
    rmSync(dirname(file), { recursive: true });
    expect([status, stderr]).toEqual([0, '']);
  });
});

const guides = ['assistants', 'client', 'command-line', 'quickstart', 'sandbox', 'webhooks'];
const pages = [...guides.map((name) => `docs/${name}.md`), 'packages/client/README.md'];
const lines = pages.flatMap((page) => {
  const text = readFileSync(join(import.meta.dirname, '../../../..', page), 'utf8');
  return [...text.matchAll(/customer-platform ((?:[a-z-]+|\$).*)/g)].map(([, line]) => line!);
});
const examples = commands.flatMap((command) => command.examples);

it('every command in a page or an example exists, with its flags', () => {
  expect([lines.length > 30, examples.length > 30]).toEqual([true, true]);
  for (const line of [...lines, ...examples]) {
    const [shown] = line.split(/`| #|\||\)/);
    if (/^(?:<|\[|-)/.test(shown!)) continue;
    const found = findCommand(shown!.replaceAll(/'[^']*'/g, 'text').split(' '));
    const flags = [...shown!.matchAll(/ --([a-z-]+)/g)].map(([, flag]) => flag);
    const known = [...(found?.command.options ?? []).map(({ name }) => name), 'json', 'help'];
    expect([line, found?.command.name, flags.filter((flag) => !known.includes(flag!))]).toEqual([
      line,
      expect.any(String),
      [],
    ]);
  }
});
