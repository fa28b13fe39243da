import { adminOperations, type OperatedEndpoint } from '@customer-platform/contracts/accounts';
import { type AnyEndpoint, listAllEndpoints } from '@customer-platform/contracts/webhooks';
import { fewBytes, isUnavailable, noAccount, readPage, uuidCursor, withGiven } from '@customer-platform/service-kit';
import type { z } from 'zod';
import type { Cells } from '../../cells/cells.ts';
import { implement } from '../admin-operation.ts';
import { toTimestamp } from '../queues/queue-shape.ts';
import { gone as goneRefusal, type Place } from '../services.ts';

/** Time in which webhooks replies, or is gone: it counts what is pending. Less than the tool's live view waits for a response. */
const timeoutMs = 4_000;

type Input = z.input<typeof listAllEndpoints.input>;

type Row = AnyEndpoint & Pick<Place, 'cell'>;

/** Lists the endpoints of all accounts, those that have been failing longest first; none of a cell whose webhooks is gone. */
export const listEndpoints = implement(adminOperations.listEndpoints, {
  async handle({ query, resources: { cells, services } }) {
    const { failing, account, endpoint } = query;
    const filter = withGiven<Partial<Input>>({}, { failing, account, endpoint });
    const places = services.places(['webhooks'], query.cell);
    let gone: Place[] = [];
    const page = await readPage(query, {
      position: async (cursor) => await findEndpoint(cells, places, uuidCursor(cursor)),
      async rows(after, limit) {
        const { rows, silent } = await askEach(cells, places, { ...filter, ...afterIn(places, after), limit });
        // Of a page after another nobody knows whether there is one.
        if (after && silent.length > 0) throw goneRefusal(silent[0]!);
        gone = silent;
        return rows.sort((one, other) => placeIn(one).localeCompare(placeIn(other))).slice(0, limit);
      },
      bytes: fewBytes,
      item: (row) => cells.shown({ ...toEndpoint(row), cell: row.cell }),
      cursor: 'id',
    });
    return { ...page, ...services.shownGone(gone) };
  },
});

/** Asks webhooks of each place; returns their endpoints, and the places where it does not reply. */
async function askEach(
  cells: Cells,
  places: readonly Place[],
  input: Input,
): Promise<{ rows: Row[]; silent: Place[] }> {
  const replies = await Promise.all(
    places.map(async (place) => {
      const asked = cells.named(place.cell).bus.ask(listAllEndpoints, noAccount, input, timeoutMs);
      const reply = await asked.catch((error: unknown) => {
        if (isUnavailable(error)) return undefined;
        throw error;
      });
      return { place, reply };
    }),
  );
  return {
    rows: replies.flatMap(({ place: { cell }, reply }) => reply?.endpoints.map((row) => ({ ...row, cell })) ?? []),
    silent: replies.filter(({ reply }) => reply === undefined).map(({ place }) => place),
  };
}

/** Finds an endpoint; undefined where none has this id. Throws 503 where a cell that may have it does not reply. */
async function findEndpoint(cells: Cells, places: readonly Place[], id: string): Promise<Row | undefined> {
  const { rows, silent } = await askEach(cells, places, { endpoint: id, limit: 1 });
  if (rows.length === 0 && silent.length > 0) throw goneRefusal(silent[0]!);
  return rows[0];
}

/** Says after which endpoint a page begins: where there are several cells by its place, which all of them can compare with. */
function afterIn(places: readonly Place[], after: Row | undefined): Partial<Input> {
  if (!after) return {};
  const { id, failing_since: failingSince } = after;
  return places.length === 1 ? { after: id } : { afterPlace: { failingSince: failingSince ?? null, id } };
}

/** Place of an endpoint in the list, as a text that sorts as services sort. */
function placeIn({ failing_since, id }: AnyEndpoint): string {
  return `${failing_since ?? 'never'} ${id}`;
}

function toEndpoint({
  disabled_reason,
  failing_since,
  last_error,
  last_error_at,
  last_error_trace_id,
  ...endpoint
}: AnyEndpoint): OperatedEndpoint {
  return {
    ...endpoint,
    ...(disabled_reason && { disabled_reason }),
    ...(failing_since && { failing_since: toTimestamp(failing_since) }),
    ...(last_error && { last_error }),
    ...(last_error_at && { last_error_at: toTimestamp(last_error_at) }),
    ...(last_error_trace_id && { last_error_trace_id }),
  };
}
