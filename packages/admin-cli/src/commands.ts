import { adminOperations } from '@customer-platform/contracts/accounts';
import type { Operation } from '@customer-platform/contracts/core';
import { type Flag, flagsOf } from './flags.ts';

/** A command: `accounts create`, derived from the operation createAccount. */
export interface Command {
  /** One or two words. */
  name: string;
  operation: Operation;
  /** The operation's, unless the command is less than the operation. */
  summary: string;
  /** Names of the path parameters, which are plain arguments in this order. */
  parameters: string[];
  flags: Flag[];
  /** Fields that the command's name stands for; they have no flag. */
  fixed: Record<string, string>;
}

type OperationKey = keyof typeof adminOperations;

const verbs = [
  'add',
  'create',
  'get',
  'list',
  'pause',
  'remove',
  'republish',
  'resume',
  'retry',
  'revoke',
  'rotate',
  'update',
] as const;

/** Keys of a known verb and a noun of one word, from which a name can be derived. */
type DerivedKey = {
  [Key in OperationKey]: Key extends `${(typeof verbs)[number]}${infer Noun}`
    ? Noun extends Capitalize<Lowercase<Noun>>
      ? Key
      : never
    : never;
}[OperationKey];

interface Named {
  name: string;
  summary?: string;
  fixed?: Record<string, string>;
}

/** Names that are not derived. An operation whose name cannot be derived does not compile until it is here. */
const named: Partial<Record<OperationKey, Named>> & Record<Exclude<OperationKey, DerivedKey>, Named> = {
  getQueue: { name: 'queues show' },
  listDeadEvents: { name: 'dead list' },
  getDeadEvent: { name: 'dead show' },
  requeueDeadEvents: { name: 'dead requeue' },
  requeueDeadEvent: { name: 'dead requeue' },
  dropDeadEvent: { name: 'dead drop' },
  listEndpoints: { name: 'endpoints failing', summary: 'List webhook endpoints that fail', fixed: { failing: 'true' } },
  listServices: { name: 'services' },
  listAudit: { name: 'audit' },
  getTrace: { name: 'trace' },
};

const tables: Record<string, Named | undefined> = named;

/** Every command that sends one request, in the order of the contracts. Two of one name differ in their parameters. */
export const commands = Object.values<Operation>(adminOperations).map((operation): Command => {
  const {
    name,
    summary = operation.summary,
    fixed = {},
  } = tables[operation.key] ?? { name: derivedName(operation.key) };
  return {
    name,
    operation,
    summary,
    parameters: [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!),
    flags: flagsOf(operation.body ?? operation.query).filter(({ field }) => !(field in fixed)),
    fixed,
  };
});

/** The live view, which is no operation: it repeats three of them. */
export const topCommand = {
  name: 'top',
  summary: 'Show what needs attention and the deepest queues, redrawn every second',
  description: 'Needs a terminal; q or Ctrl-C ends it. With --json it prints one line of JSON a second instead.',
};

/** The look at everything that can be wrong, which is no operation either: it sends six of them. */
export const checkCommand = {
  name: 'check',
  summary: 'Show what to look at if customers complain, in the order of docs/operations.md',
  description:
    'Changes nothing. Each row has the command that shows all of it; --account asks for what concerns one account. Exit code 1: a row is unknown.',
};

/** Returns the commands that the first words name, and the arguments after these; none for an unknown name. */
export function findCommands(args: string[]): { found: Command[]; rest: string[] } {
  for (const words of [2, 1]) {
    const name = args.slice(0, words).join(' ');
    const found = commands.filter((command) => command.name === name);
    if (found.length > 0) return { found, rest: args.slice(words) };
  }
  return { found: [], rest: args };
}

function derivedName(key: string): string {
  const [, verb, noun] = /^([a-z]+)([A-Z]\w*)$/.exec(key)!;
  return `${pluralOf(noun!.toLowerCase())} ${verb}`;
}

function pluralOf(noun: string): string {
  if (noun.endsWith('ss')) return `${noun}es`;
  return noun.endsWith('s') ? noun : `${noun}s`;
}
