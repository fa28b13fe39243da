import { type AccountContext, ApiError } from '@customer-platform/contracts/core';

/** Throws invalid_request with this field where the account has not got Pipelines. */
export function refuseWithoutPipelines(account: AccountContext, field: string): void {
  if (account.modules.includes('crm')) return;
  const message = `${field} must be empty: the account has no Pipelines, or they are switched off`;
  throw new ApiError('invalid_request', message, { field });
}

/** The refusal of ids that are no pipelines of the account. */
export function noPipelines(field: string, ids: readonly number[]): ApiError {
  const message = `${field} must name pipelines of this account; it has none with the id ${ids.join(', ')}`;
  return new ApiError('invalid_request', message, { field });
}
