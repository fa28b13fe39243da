import * as contract from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import type { Sql } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toContact } from './contact.ts';
import {
  applyEntries,
  lookupsOf,
  maxBytes,
  maxContacts,
  type Outcome,
  type ReadEntry,
  readEntries,
  tooLarge,
  type WrittenContact,
} from './contact-batch.ts';
import { type ContactRow, insertContacts, updateContactRows } from './contacts.sql.ts';
import { lockLookups } from './identities.sql.ts';
import { lockWithin, selectMatches } from './matches.sql.ts';

export const writeContacts = implement(contract.writeContacts, {
  async find({ account, tx }) {
    await lockLookups(tx, account.id);
    return true;
  },
  async handle({ account, body, tx, emit, now }) {
    const outcomes = await decide(tx, account, readEntries(body.contacts, account));
    const rows = await write(tx, account, outcomes, now);
    const data = outcomes.map((each, index) => {
      if (each.outcome === 'failed') return { index, outcome: each.outcome, id: null, error: each.refusal };
      const { id } = each.contact.before ?? rows.get(each.contact)!;
      if (each.outcome !== 'unchanged') {
        const contact = toContact({ ...rows.get(each.contact)!, ...each.values }, account);
        if (each.outcome === 'created') emit(contract.contactCreated, { contact });
        else emit(contract.contactUpdated, { contact, previous: each.previous });
      }
      return { index, outcome: each.outcome, id, error: null };
    });
    const counted = (outcome: Outcome['outcome']) => data.filter((each) => each.outcome === outcome).length;
    return {
      created: counted('created'),
      updated: counted('updated'),
      unchanged: counted('unchanged'),
      failed: counted('failed'),
      data,
    };
  },
});

/**
 * Decides the result of each entry in up to four passes. The first reads only the oldest contact per value; further passes are needed if entries
 * remove a value from it. A pass finds at most about eight times as many contacts as the one before, so `maxContacts` bounds memory. Throws
 * invalid_request with field `contacts` beyond that.
 */
export async function decide(tx: Sql, account: AccountContext, entries: ReadEntry[]): Promise<Outcome[]> {
  const lookups = lookupsOf(entries);
  for (let most = 1; ; most *= 8) {
    const matches = await selectMatches(tx, account.id, lookups, most);
    const ids = [...new Set(matches.flatMap(({ ids, survivor }) => [...ids, ...(survivor ? [survivor] : [])]))];
    if (ids.length > maxContacts) throw tooLarge();
    const rows = ids.length > 0 ? await lockWithin(tx, account.id, ids, maxBytes) : [];
    if (rows.length < ids.length) throw tooLarge();
    const outcomes = applyEntries(entries, account, { matches, rows, most });
    if (outcomes) return outcomes;
  }
}

/** Writes the changes of the entries. Returns the row of each new or changed contact. */
async function write(tx: Sql, account: AccountContext, outcomes: readonly Outcome[], now: Date) {
  const contacts = [...new Set(outcomes.flatMap((each) => ('values' in each ? [each.contact] : [])))];
  const made = contacts.filter(({ before }) => !before);
  const changed = contacts.flatMap(({ before, values }) => (before ? [{ ...values, id: before.id }] : []));
  const rows = new Map<WrittenContact, ContactRow>();
  if (made.length > 0) {
    const inserted = await insertContacts(
      tx,
      account,
      made.map(({ values }) => values),
      now,
    );
    for (const [place, row] of inserted.entries()) rows.set(made[place]!, row);
  }
  if (changed.length > 0) {
    const updated = new Map((await updateContactRows(tx, account.id, changed, now)).map((row) => [row.id, row]));
    for (const contact of contacts) if (contact.before) rows.set(contact, updated.get(contact.before.id)!);
  }
  return rows;
}
