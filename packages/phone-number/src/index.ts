export { numbersOfLine } from './numbers-of-line.ts';
export { toE164 } from './to-e164.ts';
