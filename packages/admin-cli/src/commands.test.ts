import { adminOperations } from '@customer-platform/contracts/accounts';
import { describe, expect, it } from '@jest/globals';
import { checkCommand, commands, findCommands, topCommand } from './commands.ts';
import { usage } from './usage.ts';

describe('the commands', () => {
  it('are one for every admin operation, named by a noun and a verb or by one word', () => {
    expect(commands.map(({ name, parameters }) => [name, ...parameters].join(' '))).toEqual([
      'accounts create',
      'accounts list',
      'accounts get account_id',
      'accounts update account_id',
      'keys create account_id',
      'keys list account_id',
      'keys rotate key_id',
      'keys revoke key_id',
      'members add account_id',
      'members list account_id',
      'members remove account_id member_id',
      'queues list',
      'queues show service queue',
      'queues pause service queue',
      'queues resume service queue',
      'queues retry service queue',
      'dead list',
      'dead show dead_id',
      'dead requeue',
      'dead requeue dead_id',
      'dead drop dead_id',
      'endpoints failing',
      'services',
      'addresses list',
      'events republish',
      'audit',
      'traces list',
      'trace trace_id',
    ]);
    expect(commands.map(({ operation }) => operation)).toEqual(Object.values(adminOperations));
  });

  it('can be told apart: two of one name take different numbers of arguments, and no word is the noun of others', () => {
    const forms = commands.map(({ name, parameters }) => `${name} ${parameters.length}`);
    expect(new Set(forms).size).toBe(forms.length);
    const words = [...commands.map(({ name }) => name), checkCommand.name, topCommand.name];
    for (const word of words.filter((name) => !name.includes(' '))) {
      expect(words.filter((name) => name.startsWith(`${word} `))).toEqual([]);
    }
  });

  it('have fields as flags, but for those that their name stands for', () => {
    const [failing] = findCommands(['endpoints', 'failing']).found;
    expect(failing!.flags.map(({ field }) => field)).toEqual(['account', 'endpoint', 'limit', 'starting_after']);
    const [pause] = findCommands(['queues', 'pause']).found;
    expect(pause!.flags.filter(({ isRequired }) => isRequired).map(({ field }) => field)).toEqual(['reason']);
    const [pauseFlags] = [pause!.flags.map(({ field }) => field)];
    expect(pauseFlags).toEqual(['account', 'endpoint', 'reason']);
  });

  it('are all in the usage', () => {
    const lines = usage().split('\n');
    for (const name of [...commands.map((command) => command.name), 'check', 'top']) {
      expect(lines.some((line) => line.startsWith(`  ${name} `))).toBe(true);
    }
  });
});
