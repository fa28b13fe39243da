import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/crm';
import type { HandlerCall } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { ensureDefaultPipeline, lockStage, type StageRef, selectPipeline } from '../pipelines/pipelines.sql.ts';
import { toDeal } from './deal.ts';
import { insertDeal } from './deals.sql.ts';

export const createDeal = implement(contract.createDeal, {
  async handle(call) {
    const { account, tx, body, now, emit } = call;
    const contact = body.contact === undefined ? undefined : await contactOfAccount(call, body.contact);
    const values = {
      ...(await initialStage(call)),
      title: body.title,
      status: 'open' as const,
      value_minor: body.value_minor,
      currency: body.currency ?? account.currency,
      contact_id: contact?.id ?? null,
      own_contact_id: contact?.id ?? null,
      contact_name: contact?.name ?? null,
      contact_phone: contact?.phone ?? null,
      notes: body.notes,
      stage_entered_at: now,
      closed_at: null,
      created_at: now,
    };
    const deal = toDeal({ ...values, ...(await insertDeal(tx, account.id, values)) }, account.timezone);
    emit(contract.dealCreated, { deal });
    return deal;
  },
});

/** Locks the stage of a new deal. That is the given stage, else the first of the given pipeline, else the first of the first pipeline. */
async function initialStage(call: HandlerCall<typeof contract.createDeal, undefined, undefined>): Promise<StageRef> {
  const { account, tx, body, fail } = call;
  const { pipeline, stage } = body;
  const given = await lockStage(tx, account.id, { pipeline, stage });
  if (given) return given;
  if (pipeline !== undefined && !(await selectPipeline(tx, account.id, pipeline)))
    return fail('invalid_request', 'pipeline must be the id of a pipeline of this account', 'pipeline');
  if (stage !== undefined) {
    const which = pipeline === undefined ? 'a pipeline of this account' : 'the pipeline';
    return fail('invalid_request', `stage must be the id of a stage of ${which}`, 'stage');
  }
  await ensureDefaultPipeline(tx, account.id);
  const first = await lockStage(tx, account.id, { pipeline });
  return (
    first ?? fail('invalid_request', 'pipeline is required: the account has no pipeline; create one first', 'pipeline')
  );
}
