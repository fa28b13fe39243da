import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';

/** Returns all spans of a trace, by its id or by the id of a request. */
export const getTrace = implement(adminOperations.getTrace, {
  async handle({ params: { trace_id: id }, resources: { traces }, fail }) {
    const store = traces.store ?? fail('not_found', traces.elsewhere(id));
    return (
      store.find(id) ??
      fail('not_found', 'No trace of the last minutes has this id, nor has any of them a request with it')
    );
  },
});
