import { adminOperations } from '@customer-platform/contracts/accounts';
import { expect, it } from '@jest/globals';
import { commands, usage } from './commands.ts';

it('every admin operation has a command, named by a noun and a verb or by one word, and the tool adds two', () => {
  const forms = commands.map(({ name, parameters }) => [name, ...parameters].join(' '));
  expect(forms.join('; ').replaceAll('_id', '')).toBe(
    [
      'accounts create; accounts list; accounts get account; accounts update account',
      'keys create account; keys list account; keys rotate key; keys revoke key',
      'members add account; members list account; members remove account member',
      'queues list; queues show service queue; queues pause service queue; queues resume service queue',
      'queues retry service queue',
      'dead list; dead show dead; dead requeue; dead requeue dead; dead drop dead',
      'endpoints failing; endpoints show endpoint; endpoints enable endpoint; endpoints replay endpoint',
      'messages resend account; health account; attention; services; addresses list; events republish; audit',
      'traffic; traces list; trace trace; check; top',
    ].join('; '),
  );
  expect(commands.flatMap(({ operation }) => operation ?? [])).toEqual(Object.values(adminOperations));
  for (const { name, summary } of commands)
    expect(usage()).toMatch(new RegExp(`^  ${RegExp.escape(name)} .*${RegExp.escape(summary)}$`, 'm'));
});
