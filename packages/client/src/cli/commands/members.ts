import type { Member } from '../../generated/types.ts';
import type { Command } from '../command.ts';
import { allEntries } from '../entries.ts';
import { SetupError } from '../errors.ts';
import { columnsOf, jsonLine } from '../text.ts';
import { listCommand } from './list-command.ts';

const path = '/v1/members';

export const membersList = listCommand<Member>({
  name: 'members list',
  summary: 'List team members',
  description: "Newest first, including inactive members. A test key lists the sandbox's members.",
  path,
  head: ['id', 'state', 'email', 'name'],
  rowOf,
});

export const membersAdd: Command = {
  name: 'members add',
  parameters: '<email>',
  arity: [1, 1],
  summary: 'Add a team member',
  description: 'A member who was removed becomes active again.',
  options: [{ name: 'name', value: 'text', isRequired: true, description: "The member's name" }],
  examples: ["members add mira@salon-aurora.example --name 'Mira Stein'"],
  async run(call) {
    const [email] = call.positionals as [string];
    const member = await call.send<Member>({ method: 'POST', path }, { body: { name: call.value('name'), email } });
    call.print(call.isJson ? jsonLine(member) : columnsOf([rowOf(member)])[0]!);
  },
};

export const membersRemove: Command = {
  name: 'members remove',
  parameters: '<id or email>',
  arity: [1, 1],
  summary: 'Remove a team member',
  description: 'The member becomes inactive. Their data is kept.',
  options: [],
  examples: ['members remove mira@salon-aurora.example', 'members remove 019a9c01-2b3c-7d4e-8f5a-6b7c8d9e0f1a'],
  async run(call) {
    const [given] = call.positionals as [string];
    const email = given.trim().toLowerCase();
    const members = given.includes('@') ? await allEntries<Member>(call, path) : [];
    const id = given.includes('@') ? members.find((member) => member.email === email)?.id : given;
    if (id === undefined) throw new SetupError(`No team member has the email address ${given}`);
    await call.send({ method: 'DELETE', path: `${path}/${encodeURIComponent(id)}` });
    if (call.isJson) call.print(jsonLine({ id, active: false }));
    call.note('The member was removed');
  },
};

function rowOf({ id, name, email, active }: Member): string[] {
  return [id, active ? 'active' : 'inactive', email, name];
}
