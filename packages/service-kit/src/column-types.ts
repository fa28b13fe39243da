import { readTexts, writeTexts } from './text-arrays.ts';

/** Types of PostgreSQL, by their numbers there, that are read and written otherwise than by the driver. */
export const columnTypes = {
  bigint: { to: 20, from: [20], parse: Number, serialize: String },
  texts: { to: 1009, from: [1009], parse: readTexts, serialize: writeTexts },
};
