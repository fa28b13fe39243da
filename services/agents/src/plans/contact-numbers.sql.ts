import type { Sql } from '@customer-platform/service-kit';

/** Stores the numbers of contacts. A contact's number never changes. */
export async function keepNumbers(
  tx: Sql,
  accountId: string,
  contacts: readonly { id: string; number: number }[],
): Promise<void> {
  await tx`
    insert into contact_numbers (account_id, contact_id, number)
    select ${accountId}, * from unnest(${contacts.map(({ id }) => id)}::uuid[], ${contacts.map(({ number }) => number)}::bigint[])
      as given (id, number)
    order by id
    on conflict do nothing`;
}

/**
 * Sets the contact number of all plans of a contact and of the contacts merged with it. The number is the surviving contact's, or its own
 * if it is not merged. Changes nothing until the number is known; the event that brings the number repeats this call.
 */
export async function renumberPlans(tx: Sql, accountId: string, contactId: string): Promise<void> {
  const [numbered] = await tx<{ id: string; number: number }[]>`
    select n.contact_id as id, n.number
    from contacts c
    join contact_numbers n on n.account_id = c.account_id and n.contact_id = coalesce(c.merged_into, c.id)
    where c.account_id = ${accountId} and c.id = ${contactId}`;
  if (!numbered) return;
  // Locks in id order, like every bulk update, to avoid deadlocks.
  await tx`
    update plans p set contact_number = ${numbered.number} from (
      select plans.id from contacts c join plans on plans.account_id = c.account_id and plans.contact_id = c.id
      where c.account_id = ${accountId} and (c.id = ${numbered.id} or c.merged_into = ${numbered.id})
        and plans.contact_number <> ${numbered.number}
      order by plans.id for update of plans) as locked
    where p.account_id = ${accountId} and p.id = locked.id`;
}
