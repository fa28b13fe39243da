import { contactOfAccount, fetchContact, knownContact } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/agents';
import { getContactProfile } from '@customer-platform/contracts/cdp';
import { activeTrace } from '@customer-platform/service-kit';
import { refuseArchived } from '../agents/agent.ts';
import { lockAgent } from '../agents/agents.sql.ts';
import { implement } from '../implement.ts';
import { toPlan } from '../plans/plan.ts';
import { insertPlanRequest } from '../plans/plan-requests.sql.ts';
import { selectPlan } from '../plans/plans.sql.ts';

export const requestPlan = implement(contract.requestPlan, {
  find: ({ account, tx, params }) => lockAgent(tx, account.id, params.agent_id),
  async handle(call) {
    const { account, tx, body, found, now, prefetch, fail } = call;
    const known = await knownContact(tx, account.id, body.contact);
    const contactNumber = prefetch(async (prefetchCall) => {
      if (!known) await fetchContact(body.contact)(prefetchCall);
      const { contact } = await prefetchCall.ask(getContactProfile, { contact: body.contact });
      return contact?.number;
    });
    const contact = await contactOfAccount(call, body.contact);
    if (contactNumber === undefined)
      return fail('invalid_request', 'contact must be the id of a contact of this account', 'contact');
    refuseArchived(found);
    if (found.status !== 'live') {
      return fail('invalid_state', `The agent is ${found.status}; POST /v1/agents/${found.id}/go-live makes it live`);
    }
    const goal = body.goal ?? '';
    const request = {
      accountId: account.id,
      agentId: found.id,
      contactId: contact.id,
      contactNumber,
      trigger: 'manual' as const,
      triggerText: goal,
      triggerChannel: null,
      triggerId: null,
      followUps: 0,
      goal,
      trace: activeTrace(),
    };
    const id = await insertPlanRequest(tx, request, now);
    const plan = id === undefined ? undefined : await selectPlan(tx, account.id, id);
    if (!plan) throw new Error('the requested plan was not inserted');
    return toPlan(plan, account.timezone);
  },
  committed: ({ planner }) => planner.wake(),
});
