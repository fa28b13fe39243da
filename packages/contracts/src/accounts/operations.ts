import { operationsOf } from '../core/operation.ts';
import { Me } from './resources.ts';

const operation = operationsOf('gateway', null);

export const getMe = operation('getMe', {
  method: 'GET',
  path: '/v1/me',
  scope: null,
  summary: "Retrieve the key's account",
  description:
    'Returns the account, scopes, modules and rate limit of the key. Any key may call it; a test key returns the sandbox account.',
  status: 200,
  response: Me,
  errors: [],
});
