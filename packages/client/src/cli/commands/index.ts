import type { Command } from '../command.ts';
import { clock, clockAdvance } from './clock.ts';
import { deliveriesList, deliveriesResend } from './deliveries.ts';
import { eventsTail } from './events-tail.ts';
import { listen } from './listen.ts';
import { login, logout } from './login.ts';
import { request } from './request.ts';
import { trigger } from './trigger.ts';

/** Every command, in the order of the usage. */
export const commands: readonly Command[] = [
  login,
  logout,
  listen,
  trigger,
  eventsTail,
  deliveriesList,
  deliveriesResend,
  clock,
  clockAdvance,
  request,
];

/** Returns the command that the first words name, the longest name first, and the arguments after it; undefined for an unknown name. */
export function findCommand(args: readonly string[]): { command: Command; rest: string[] } | undefined {
  for (const words of [2, 1]) {
    const name = args.slice(0, words).join(' ');
    const command = commands.find((each) => each.name === name);
    if (command) return { command, rest: args.slice(words) };
  }
  return undefined;
}
