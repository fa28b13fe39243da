import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/messaging';
import { hasRow, readFiltered, readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { listMessageRows } from './list-messages.sql.ts';
import { toMessage } from './message.ts';

export const listMessages = implement(contract.listMessages, {
  async handle(call) {
    const { account, query } = call;
    const { reference, status, q } = query;
    const contact = query.contact === undefined ? undefined : (await contactOfAccount(call, query.contact)).id;
    const filters = { text: q, indexed: [reference, status, contact] };
    return await readFiltered(call, 'the search of messages', filters, (sql) =>
      readPage(query, {
        position: uuidPosition((id) => hasRow(sql, 'messages', account.id, id)),
        rows: (after, limit) => listMessageRows(sql, account.id, { reference, status, q, contact }, { after, limit }),
        bytes: (row) => row.bytes,
        item: (row) => toMessage(row, account),
        cursor: 'id',
      }),
    );
  },
});
