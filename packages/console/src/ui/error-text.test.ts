import { expect, it } from '@jest/globals';
import { errorText } from './error-text.ts';

it.each([
  ['http://127.0.0.1:9911/: 500', 'HTTP 500 from http://127.0.0.1:9911/'],
  ['https://[::1]:9911/a:b?c=1: 404', 'HTTP 404 from https://[::1]:9911/a:b?c=1'],
  ['https://shop.example/: connect ECONNREFUSED', 'https://shop.example/: connect ECONNREFUSED'],
  ['HTTP 500', 'HTTP 500'],
  ['contact has no phone number', 'contact has no phone number'],
])('%s reads %s', (text, reads) => {
  expect(errorText(text)).toBe(reads);
});
