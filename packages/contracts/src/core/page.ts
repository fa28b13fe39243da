import { z } from 'zod';
import { instant } from './fields.ts';

/** Parameters of every list: `limit` 1 to 100 (default 50) and `starting_after`, the `next` of the previous page. */
export const pageQuery = {
  limit: z
    .int()
    .min(1)
    .max(100)
    .default(50)
    .meta({ description: 'Maximum number of entries per page.', param: { id: 'Limit' } }),
  starting_after: z
    .string()
    .optional()
    .meta({ description: 'The `next` of the previous page.', param: { id: 'StartingAfter' } }),
};

/** Parameter of lists that can be mirrored: entries that changed at this time or later, oldest change first. */
export const updatedSinceQuery = {
  updated_since: instant.optional().meta({
    description:
      'Only entries that changed at this time or later, oldest change first. To mirror the list without missing a change, read all pages with `next`. Later, continue from the last `updated_at` that you received.',
    param: { id: 'UpdatedSince' },
  }),
};

/** A list's response: `next` is the `starting_after` of the following page, null on the last. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    data: z.array(item).meta({ description: 'The entries of this page, in the order of the list.' }),
    has_more: z.boolean().meta({ description: 'Whether another page follows.' }),
    next: z
      .string()
      .nullable()
      .meta({ description: 'Pass it as `starting_after` to get the following page; null on the last page.' }),
  });
}

/** A page of entries as `pageOf` describes it. */
export interface Page<Item> {
  data: Item[];
  has_more: boolean;
  next: string | null;
}
