import * as contract from '@customer-platform/contracts/agents';
import { fewBytes, integerPosition, readPage } from '@customer-platform/service-kit';
import { selectAgent } from '../agents/agents.sql.ts';
import { implement } from '../implement.ts';
import { toVersion } from './version.ts';
import { listVersionRows } from './workflow.sql.ts';

export const listWorkflowVersions = implement(contract.listWorkflowVersions, {
  find: ({ account, tx, params }) => selectAgent(tx, account.id, params.agent_id),
  async handle({ account, tx, query, found }) {
    return await readPage(query, {
      position: integerPosition((number) => number <= found.last_version),
      rows: (after, limit) => listVersionRows(tx, account.id, found.id, { after, limit }),
      bytes: fewBytes,
      item: (row) => toVersion(row, account.timezone),
      cursor: 'number',
    });
  },
});
