import { type AccountContext, ApiError } from '@customer-platform/contracts/core';

/** Throws invalid_request, field `field`, if the account does not have the Pipelines module. */
export function refuseWithoutPipelines(account: AccountContext, field: string): void {
  if (account.modules.includes('crm')) return;
  const message = `${field} must be empty: Pipelines is not in the plan or is switched off`;
  throw new ApiError('invalid_request', message, { field });
}

/** Returns the error for ids that are not pipelines of the account. */
export function noPipelines(field: string, ids: readonly number[]): ApiError {
  const message = `${field} must name pipelines of this account, not ${ids.join(', ')}`;
  return new ApiError('invalid_request', message, { field });
}
