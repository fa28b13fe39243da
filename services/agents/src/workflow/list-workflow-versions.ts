import * as contract from '@customer-platform/contracts/agents';
import { badCursor, integerCursor, toPage } from '@customer-platform/service-kit';
import { selectAgent } from '../agents/agents.sql.ts';
import { implement } from '../implement.ts';
import { toVersion } from './version.ts';
import { listVersionRows } from './workflow.sql.ts';

export const listWorkflowVersions = implement(contract.listWorkflowVersions, {
  find: ({ account, tx, params }) => selectAgent(tx, account.id, params.agent_id),
  async handle({ account, tx, query, found }) {
    const { limit, starting_after: cursor } = query;
    const below = cursor === undefined ? undefined : integerCursor(cursor);
    if (below !== undefined && below > found.last_version) throw badCursor();
    const rows = await listVersionRows(tx, account.id, found.id, below, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => toVersion(row, account.timezone),
      (row) => row.number,
    );
  },
});
