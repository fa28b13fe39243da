import * as contract from '@customer-platform/contracts/agents';
import { fewBytes, integerPosition, readPage, search } from '@customer-platform/service-kit';
import { selectAgent } from '../agents/agents.sql.ts';
import { implement } from '../implement.ts';
import { toVersion } from './version.ts';
import { listVersionRows } from './workflow.sql.ts';

export const listWorkflowVersions = implement(contract.listWorkflowVersions, {
  find: ({ account, tx, params }) => selectAgent(tx, account.id, params.agent_id),
  async handle(call) {
    const { account, query, found } = call;
    // A search, since each version shows its number of open plans, which is unbounded.
    return await search(call, 'the list of versions', (sql) =>
      readPage(query, {
        position: integerPosition((number) => number <= found.last_version),
        rows: (after, limit) => listVersionRows(sql, account.id, found.id, { after, limit }),
        bytes: fewBytes,
        item: (row) => toVersion(row, account.timezone),
        cursor: 'number',
      }),
    );
  },
});
