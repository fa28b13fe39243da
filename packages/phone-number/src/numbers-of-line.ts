/** Rules of countries whose mobile numbers are written with a national digit or without it, by what the digits after the plus are. */
const nationalDigits: readonly { written: RegExp; otherwise: string }[] = [
  // Mexico: 1 before ten digits, no longer dialled since 2019; WhatsApp goes on to write it.
  { written: /^\+521([2-9]\d{9})$/, otherwise: '+52$1' },
  { written: /^\+52([2-9]\d{9})$/, otherwise: '+521$1' },
  // Argentina: 9 before ten digits, for mobile numbers from abroad.
  { written: /^\+549([1-3]\d{9})$/, otherwise: '+54$1' },
  { written: /^\+54([1-3]\d{9})$/, otherwise: '+549$1' },
  // Brazil: 9 before the eight digits of a mobile number, since 2012. Where 2 to 5 follows, the eight digits alone are a landline.
  { written: /^\+55([1-9]\d)9([6-9]\d{7})$/, otherwise: '+55$1$2' },
  { written: /^\+55([1-9]\d)([6-9]\d{7})$/, otherwise: '+55$19$2' },
];

/**
 * Returns every number under which the line of `number` (E.164) is known, `number` first: one of Mexico, Argentina or Brazil may be
 * written with a national digit and without it. Does not check whether the numbers are valid.
 */
export function numbersOfLine(number: string): string[] {
  const rule = nationalDigits.find(({ written }) => written.test(number));
  return rule ? [number, number.replace(rule.written, rule.otherwise)] : [number];
}
