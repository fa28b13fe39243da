import type { AudienceRules, Condition } from '@customer-platform/contracts/cdp';
import { checkSize } from '../contacts/contact-size.ts';

/** Bytes of JSON. The events of an audience contain its rules and must stay below 900 KiB. */
const maxRulesBytes = 262_144;

/** Throws invalid_request with field `rules` if they exceed 256 KiB of JSON. */
export const checkRulesSize = (rules: AudienceRules) => checkSize('rules', rules, maxRulesBytes);

/** Returns the conditions of rules, with nested rules replaced by their conditions. */
export function leavesOf(rules: AudienceRules): Condition[] {
  return rules.conditions.flatMap((item) => ('conditions' in item ? item.conditions : [item]));
}
