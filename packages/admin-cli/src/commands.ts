import { diff } from 'node:util';
import { adminOperations } from '@customer-platform/contracts/accounts';
import type { Operation } from '@customer-platform/contracts/core';
import { type Flag, flagName, flagsOf } from './flags.ts';

/** A command: `accounts create`, derived from the operation createAccount, or one of the tool's own, without an operation. */
export interface Command {
  /** One or two words. */
  name: string;
  operation?: Operation;
  /** The operation's, unless the command is less than the operation. */
  summary: string;
  description?: string | undefined;
  /** Names of the path parameters, which are plain arguments in this order. */
  parameters: string[];
  flags: Flag[];
  /** Fields that the command's name stands for; they have no flag. */
  fixed?: Record<string, string>;
}

/** What differs from what is derived: `accounts list` of listAccounts, `dead drop` of dropDeadEvent. */
const named: Partial<Record<keyof typeof adminOperations, Partial<Command>>> = {
  getQueue: { name: 'queues show' },
  getDeadEvent: { name: 'dead show' },
  listEndpoints: { name: 'endpoints failing', summary: 'List webhook endpoints that fail', fixed: { failing: 'true' } },
  getEndpoint: { name: 'endpoints show' },
  getAccountHealth: { name: 'health' },
  listAttention: { name: 'attention', description: 'In the words of check. Counts are up to 10 s late.' },
  listTraffic: { name: 'traffic' },
  listServices: { name: 'services' },
  listAudit: { name: 'audit' },
  getTrace: { name: 'trace' },
};

/** The look at everything that can be wrong: it sends the requests of seven commands. */
export const checkCommand: Command = {
  name: 'check',
  summary: 'Show what to look at if customers complain, in the order of docs/operations.md',
  description: 'Changes nothing. Each row has the command that shows all of it. Exit code 1: a row is unknown.',
  parameters: [],
  flags: [{ field: 'account', kind: 'text', isRequired: false, description: 'Only what concerns this account' }],
};

/** The live view, which repeats three requests. */
export const topCommand: Command = {
  name: 'top',
  summary: 'Show what needs attention and the deepest queues, redrawn every second',
  description: 'Needs a terminal; q or Ctrl-C ends it. With --json it prints one line of JSON a second instead.',
  parameters: [],
  flags: [],
};

/** Every command, in the order of the contracts, then the tool's own. Two of one name differ in their parameters. */
export const commands: readonly Command[] = [
  ...Object.values<Operation>(adminOperations).map(commandOf),
  checkCommand,
  topCommand,
];

function commandOf(operation: Operation): Command {
  const { key, summary, description, path, body, query } = operation;
  const given = named[key as keyof typeof named] ?? {};
  return {
    name: derivedName(key),
    operation,
    summary,
    description,
    parameters: [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!),
    flags: flagsOf(body ?? query).filter(({ field }) => !given.fixed?.[field]),
    ...given,
  };
}

function derivedName(key: string): string {
  const [verb, noun = '', more] = key.split(/(?=[A-Z])/);
  return `${more ? noun.toLowerCase() : noun.toLowerCase().replace(/s?$/, 's')} ${verb}`;
}

/** Returns the commands that the first words name, and the arguments after these; none for an unknown name. */
export function findCommands(args: string[]): { found: Command[]; rest: string[] } {
  for (const words of [2, 1]) {
    const name = args.slice(0, words).join(' ');
    const found = commands.filter((command) => command.name === name);
    if (found.length > 0) return { found, rest: args.slice(words) };
  }
  return { found: [], rest: args };
}

/** Returns what to write instead of a name that no command has: the commands of the same noun, else the one that is spelt most like it. */
export function suggest(args: readonly string[]): string {
  const ofNoun = commands.filter(({ name }) => name.split(' ')[0] === args[0]);
  const distanceOf = ({ name }: Command) =>
    diff(args.slice(0, name.split(' ').length).join(' ').slice(0, 50), name).filter(([change]) => change !== 0).length;
  const [nearest] = commands.toSorted((one, other) => distanceOf(one) - distanceOf(other));
  const meant = ofNoun.length > 0 ? ofNoun : [nearest!];
  const name = args.slice(0, 2).join(' ');
  return [`there is no command "${name}"; the nearest:`, ...meant.map(line), '', '--help lists all'].join('\n');
}

const line = (command: Command) => `  ${synopsis(command).padEnd(48)} ${command.summary}`;

/** Returns the tool's usage: where to begin, then all commands. */
export function usage(): string {
  return [
    'admin <command> [arguments] [--flags] [--json] [--help]',
    '',
    'Begin with:',
    '  check [--account <id>]     What to look at, and the commands that mend it',
    '  queues list --attention    Queues that need attention',
    '  accounts list --q <text>   Accounts by a part of their name, or by an id',
    '',
    'All commands:',
    ...commands.map(line),
    '',
    'ADMIN_URL (or ADMIN_PORT) and ADMIN_TOKEN set the address and the token; without them, those of a running npm start are read from .platform/.',
    'Exit codes: 0 done, 1 refused or no response, 2 used wrongly.',
  ].join('\n');
}

/** Returns the usage of the commands of one name, with their flags. */
export function commandUsage(found: Command[]): string {
  const usages = found.map((command) => {
    const flags = command.flags.map(({ field, kind, isRequired, description }) => {
      const name = `--${flagName(field)}${isRequired ? ' *' : ''}`;
      return `  ${name.padEnd(24)} ${kind.padEnd(8)} ${description}`.trimEnd();
    });
    const about = [command.summary, command.description].filter(Boolean).map((line) => `  ${line}`);
    return [synopsis(command), ...about, ...flags].join('\n');
  });
  return usages.join('\n\n');
}

function synopsis({ name, parameters, flags }: Command): string {
  const required = flags.filter(({ isRequired }) => isRequired).map(({ field }) => `--${flagName(field)} <${field}>`);
  return [name, ...parameters.map((parameter) => `<${parameter}>`), ...required].join(' ');
}
