/** Rules of countries whose mobile numbers are written with or without a national digit, by the digits after the plus. */
const nationalDigits: readonly { written: RegExp; otherwise: string }[] = [
  // Mexico: 1 before ten digits, obsolete since 2019; WhatsApp still writes it.
  { written: /^\+521([2-9]\d{9})$/, otherwise: '+52$1' },
  { written: /^\+52([2-9]\d{9})$/, otherwise: '+521$1' },
  // Argentina: 9 before ten digits, for mobile numbers called from abroad.
  { written: /^\+549([1-3]\d{9})$/, otherwise: '+54$1' },
  { written: /^\+54([1-3]\d{9})$/, otherwise: '+549$1' },
  // Brazil: 9 before the eight digits of a mobile number, since 2012. Eight digits that start with 2 to 5 are a landline.
  { written: /^\+55([1-9]\d)9([6-9]\d{7})$/, otherwise: '+55$1$2' },
  { written: /^\+55([1-9]\d)([6-9]\d{7})$/, otherwise: '+55$19$2' },
];

/**
 * Returns all numbers of the line of `number` (E.164), with `number` first. Mobile numbers of Mexico, Argentina and Brazil have two forms, with and
 * without a national digit. Does not check whether the numbers are valid.
 */
export function numbersOfLine(number: string): string[] {
  const rule = nationalDigits.find(({ written }) => written.test(number));
  return rule ? [number, number.replace(rule.written, rule.otherwise)] : [number];
}
