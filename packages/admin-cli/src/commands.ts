import { diff } from 'node:util';
import { adminOperations } from '@customer-platform/contracts/accounts';
import type { Operation } from '@customer-platform/contracts/core';
import { type Flag, flagName, flagsOf } from './flags.ts';

/** A command such as `accounts create`, derived from the operation createAccount, or a command of the tool without an operation. */
export interface Command {
  /** One or two words. */
  name: string;
  operation?: Operation;
  /** The operation's summary, unless the command covers only a part of the operation. */
  summary: string;
  description?: string | undefined;
  /** Names of the path parameters, which are positional arguments in this order. */
  parameters: string[];
  flags: Flag[];
  /** Fields that the command's name implies. They have no flag. */
  fixed?: Record<string, string>;
}

/** Exceptions to the derived properties. Derived names are such as `accounts list` for listAccounts, `dead drop` for dropDeadEvent. */
const named: Partial<Record<keyof typeof adminOperations, Partial<Command>>> = {
  getQueue: { name: 'queues show' },
  getDeadEvent: { name: 'dead show' },
  listEndpoints: { name: 'endpoints failing', summary: 'List failing webhook endpoints', fixed: { failing: 'true' } },
  getEndpoint: { name: 'endpoints show' },
  getAccountHealth: { name: 'health' },
  listAttention: { name: 'attention', description: 'Shows findings as check does. Counts are up to 10 s late.' },
  listTraffic: { name: 'traffic' },
  listServices: { name: 'services' },
  listAudit: { name: 'audit' },
  getTrace: { name: 'trace' },
};

/** Checks everything that can be wrong. It sends the requests of seven commands. */
export const checkCommand: Command = {
  name: 'check',
  summary: 'Find problems that customers complain about, in the order of docs/operations.md',
  description: 'Changes nothing. Each row names the command that shows the full list. Exit code 1: a row is unknown.',
  parameters: [],
  flags: [{ field: 'account', kind: 'text', isRequired: false, description: 'Check only this account' }],
};

/** The live view. It repeats the requests of four commands. */
export const topCommand: Command = {
  name: 'top',
  summary: 'Show what needs attention and the deepest queues, redrawn every second',
  description: 'Needs a terminal. Press q or Ctrl-C to quit. With --json, prints one line of JSON per second instead.',
  parameters: [],
  flags: [],
};

/** All commands: those of the contracts in their order, then the tool's own. Two commands of one name differ in their parameters. */
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

/** Returns the commands that the first one or two words name, and the other arguments. An unknown name has no commands. */
export function findCommands(args: string[]): { found: Command[]; rest: string[] } {
  for (const words of [2, 1]) {
    const name = args.slice(0, words).join(' ');
    const found = commands.filter((command) => command.name === name);
    if (found.length > 0) return { found, rest: args.slice(words) };
  }
  return { found: [], rest: args };
}

/** Returns suggestions for an unknown command: the commands with the same noun, or else the one with the most similar spelling. */
export function suggest(args: readonly string[]): string {
  const ofNoun = commands.filter(({ name }) => name.split(' ')[0] === args[0]);
  const distanceOf = ({ name }: Command) =>
    diff(args.slice(0, name.split(' ').length).join(' ').slice(0, 50), name).filter(([change]) => change !== 0).length;
  const [nearest] = commands.toSorted((one, other) => distanceOf(one) - distanceOf(other));
  const meant = ofNoun.length > 0 ? ofNoun : [nearest!];
  const name = args.slice(0, 2).join(' ');
  return [`there is no command "${name}"; did you mean:`, ...meant.map(line), '', '--help lists all'].join('\n');
}

const line = (command: Command) => `  ${synopsis(command).padEnd(48)} ${command.summary}`;

/** Returns the tool's usage: where to start, then all commands. */
export function usage(): string {
  return [
    'admin <command> [arguments] [--flags] [--json] [--help]',
    '',
    'Start with:',
    '  check [--account <id>]     Problems, and the commands that fix them',
    '  queues list --attention    Queues that need attention',
    '  accounts list --q <text>   Accounts by part of the name, or by id',
    '',
    'All commands:',
    ...commands.map(line),
    '',
    'ADMIN_URL (or ADMIN_PORT) and ADMIN_TOKEN set the address and the token; by default, the tool uses those of npm start, from .platform/.',
    'Exit codes: 0 success, 1 error response or no response, 2 wrong usage.',
  ].join('\n');
}

/** Returns the usage and flags of the commands of one name. */
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
