export { toE164 } from './to-e164.ts';
