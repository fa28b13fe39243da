import { type Account, addMemberAction, type Member, removeMemberAction } from '../account-actions.tsx';
import { ActionButton } from '../ui/action.tsx';
import { type Listed, Loading, More } from '../ui/lists.tsx';
import { Section } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';

/** The team members of an account. */
export function Members({ account, members }: { account: Account; members: Listed<Member> }) {
  const columns: Column<Member>[] = [
    { id: 'name', header: 'Member', cell: ({ name }) => name },
    { id: 'email', header: 'Email', kind: 'wide', cell: ({ email }) => email },
    { id: 'state', header: 'State', cell: ({ active }) => (active ? 'active' : 'inactive') },
    {
      id: 'actions',
      header: '',
      kind: 'actions',
      cell: (member) =>
        member.active && (
          <ActionButton isDangerous label={`Remove ${member.name}`} make={() => removeMemberAction(account, member)}>
            Remove
          </ActionButton>
        ),
    },
  ];
  return (
    <Section title="Members" actions={<ActionButton make={() => addMemberAction(account)}>Add member</ActionButton>}>
      <Loading {...members} />
      {members.isLoaded && (
        <DataTable
          label="Members"
          columns={columns}
          rows={members.items}
          rowKey={({ id }) => id}
          empty="The account has no members."
          rowClass={({ active }) => (active ? undefined : 'ended')}
        />
      )}
      <More list={members} />
    </Section>
  );
}
