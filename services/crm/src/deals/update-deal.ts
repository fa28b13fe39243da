import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/crm';
import { applyPatch, type HandlerCall } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { changeDeal } from './change-deal.ts';
import { type DealRow, lockDeal } from './deals.sql.ts';

export const updateDeal = implement(contract.updateDeal, {
  find: ({ account, tx, params }) => lockDeal(tx, account.id, params.deal_id),
  async handle(call) {
    const { account, tx, body, found, now, emit } = call;
    const values = { ...applyPatch(found, body), ...(await contactAfter(call)) };
    const { deal, previous } = await changeDeal({ account, tx, found, now }, values);
    if (previous) emit(contract.dealUpdated, { deal, previous });
    return deal;
  },
});

/** Returns the contact columns that a PATCH sets. The deal's current contact may stay, even if it has been deleted. */
async function contactAfter(
  call: HandlerCall<typeof contract.updateDeal, DealRow, undefined>,
): Promise<Partial<DealRow>> {
  const { body, found } = call;
  if (body.contact === undefined || body.contact === found.contact_id) return {};
  if (body.contact === '') return { contact_id: null, own_contact_id: null, contact_name: null, contact_phone: null };
  const { id, name, phone } = await contactOfAccount(call, body.contact);
  // The given id is another id of the deal's current contact.
  if (id === found.contact_id) return {};
  return { contact_id: id, own_contact_id: id, contact_name: name, contact_phone: phone };
}
