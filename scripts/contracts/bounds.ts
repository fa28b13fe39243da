import type { Gap } from './gap.ts';
import type { Variant } from './json-schema.ts';

/** A pair of bounds of what is counted or measured. */
interface Bounds {
  minimum: string;
  maximum: string;
  unit: string;
  /** The number of one value. */
  measure: (value: unknown) => number | undefined;
}

const lengthOf = (value: unknown) => (typeof value === 'string' ? [...value].length : undefined);
const counted: Bounds[] = [
  { minimum: 'minLength', maximum: 'maxLength', unit: ' characters', measure: lengthOf },
  { minimum: 'minItems', maximum: 'maxItems', unit: ' entries', measure: () => undefined },
  { minimum: 'minProperties', maximum: 'maxProperties', unit: ' keys', measure: () => undefined },
];
const number: Bounds = {
  minimum: 'minimum',
  maximum: 'maximum',
  unit: '',
  measure: (value) => (typeof value === 'number' ? value : undefined),
};

/** Returns where numbers, lengths and counts that are sent are out of the bounds of those that are taken. */
export function boundGapsOf(sent: Variant, taken: Variant, place: string): Gap[] {
  const gaps = [...counted, number].flatMap((bounds): Gap[] => {
    const [least, most] = sidesOf(sent, bounds);
    const [leastTaken, mostTaken] = sidesOf(taken, bounds);
    const isBelow = least.at < leastTaken.at || (least.at === leastTaken.at && leastTaken.isOpen && !least.isOpen);
    const isAbove = most.at > mostTaken.at || (most.at === mostTaken.at && mostTaken.isOpen && !most.isOpen);
    const low = (side: Side) =>
      side.at <= 0 && bounds.unit !== '' ? `any number of${bounds.unit}` : phraseOf(side, 'at least', bounds);
    const high = (side: Side) => phraseOf(side, 'at most', bounds);
    return [
      ...(isBelow ? [{ place, kind: 'bound' as const, sent: low(least), taken: low(leastTaken) }] : []),
      ...(isAbove ? [{ place, kind: 'bound' as const, sent: high(most), taken: high(mostTaken) }] : []),
    ];
  });
  const { multipleOf: step } = taken;
  if (typeof step !== 'number' || isMultiple(sent, step)) return gaps;
  const phrase = ({ multipleOf }: Variant) => (multipleOf === undefined ? 'any number' : `multiples of ${multipleOf}`);
  return [...gaps, { place, kind: 'bound', sent: phrase(sent), taken: phrase(taken) }];
}

interface Side {
  at: number;
  /** The number itself is out of bounds. */
  isOpen: boolean;
}

/** Returns the least and the most that a value of a shape measures. */
function sidesOf(variant: Variant, bounds: Bounds): [Side, Side] {
  const measures = variant.enum?.flatMap((value) => bounds.measure(value) ?? []);
  if (measures && measures.length > 0)
    return [
      { at: Math.min(...measures), isOpen: false },
      { at: Math.max(...measures), isOpen: false },
    ];
  const given = (keyword: string, otherwise: number) => {
    const value = variant[keyword];
    return typeof value === 'number' ? value : otherwise;
  };
  const [lowest, highest] = [bounds === number ? Number.NEGATIVE_INFINITY : 0, Number.POSITIVE_INFINITY];
  const least: Side = { at: given(bounds.minimum, lowest), isOpen: false };
  const most: Side = { at: given(bounds.maximum, highest), isOpen: false };
  if (bounds !== number) return [least, most];
  const above = given('exclusiveMinimum', lowest);
  const below = given('exclusiveMaximum', highest);
  // Among integers, above 0 is at least 1.
  const isWhole = variant.type === 'integer';
  const openLeast: Side =
    isWhole && Number.isInteger(above) ? { at: above + 1, isOpen: false } : { at: above, isOpen: true };
  const openMost: Side =
    isWhole && Number.isInteger(below) ? { at: below - 1, isOpen: false } : { at: below, isOpen: true };
  return [
    Number.isFinite(above) && openLeast.at >= least.at ? openLeast : least,
    Number.isFinite(below) && openMost.at <= most.at ? openMost : most,
  ];
}

function phraseOf({ at, isOpen }: Side, words: 'at least' | 'at most', { unit }: Bounds): string {
  if (!Number.isFinite(at)) return unit === '' ? 'any number' : `any number of${unit}`;
  if (isOpen) return `${words === 'at least' ? 'more' : 'less'} than ${at}${unit}`;
  return `${words} ${at}${unit}`;
}

function isMultiple({ enum: values, multipleOf, type }: Variant, step: number): boolean {
  if (values) return values.every((value) => typeof value !== 'number' || value % step === 0);
  if (typeof multipleOf === 'number') return multipleOf % step === 0;
  return type !== undefined && type !== 'number' && (type !== 'integer' || step === 1);
}
