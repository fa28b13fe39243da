import type { Command } from '../command.ts';
import { clock, clockAdvance } from './clock.ts';
import { completionOf } from './completion.ts';
import { contactsExport } from './contacts-export.ts';
import { contactsImport } from './contacts-import.ts';
import { deliveriesList, deliveriesResend } from './deliveries.ts';
import { eventsTail } from './events-tail.ts';
import { keysCreate, keysList, keysRevoke, keysRotate } from './keys.ts';
import { listen } from './listen.ts';
import { login, logout } from './login.ts';
import { mcp } from './mcp.ts';
import { membersAdd, membersList, membersRemove } from './members.ts';
import { request } from './request.ts';
import { trigger } from './trigger.ts';
import { webhooksCreate, webhooksList, webhooksReplay, webhooksTest } from './webhooks.ts';

/** All commands, in the order of the usage. */
export const commands: readonly Command[] = [
  login,
  logout,
  contactsImport,
  contactsExport,
  listen,
  trigger,
  eventsTail,
  webhooksCreate,
  webhooksList,
  webhooksTest,
  webhooksReplay,
  deliveriesList,
  deliveriesResend,
  keysList,
  keysCreate,
  keysRotate,
  keysRevoke,
  membersList,
  membersAdd,
  membersRemove,
  clock,
  clockAdvance,
  request,
  mcp,
  completionOf(() => commands),
];

/** Returns the command that the first two words or the first word name, and the other arguments; undefined for an unknown name. */
export function findCommand(args: readonly string[]): { command: Command; rest: string[] } | undefined {
  for (const words of [2, 1]) {
    const name = args.slice(0, words).join(' ');
    const command = commands.find((each) => each.name === name);
    if (command) return { command, rest: args.slice(words) };
  }
  return undefined;
}
