import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/messaging';
import { readPage, type Sql, textSearches, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { hasMessage, listMessageRows } from './list-messages.sql.ts';
import { toMessage } from './message.ts';

export const listMessages = implement(contract.listMessages, {
  async handle(call) {
    const { account, tx, query, prefetch } = call;
    const { reference, status, q } = query;
    const contact = query.contact === undefined ? undefined : (await contactOfAccount(call, query.contact)).id;
    const read = (sql: Sql) =>
      readPage(query, {
        position: uuidPosition((id) => hasMessage(sql, account.id, id)),
        rows: (after, limit) => listMessageRows(sql, account.id, { reference, status, q, contact }, { after, limit }),
        bytes: (row) => row.bytes,
        item: (row) => toMessage(row, account),
        cursor: 'id',
      });
    if (q === undefined) return await read(tx);
    return prefetch(({ onConnection, withPermit }) =>
      withPermit(textSearches, 'the search of messages', () => onConnection(read)),
    );
  },
});
