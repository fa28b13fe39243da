import { operationsOf } from '../core/operation.ts';
import { Me } from './resources.ts';

const operation = operationsOf('gateway', null);

export const getMe = operation('getMe', {
  method: 'GET',
  path: '/v1/me',
  scope: null,
  summary: 'Shows what the key is good for',
  description: 'Any key may call it; a test key shows the sandbox account.',
  status: 200,
  answer: Me,
  errors: [],
});
