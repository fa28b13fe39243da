import {
  contactColumns,
  contactNamed,
  idsOfContact,
  joinContact,
  type KnownContact,
} from '@customer-platform/contact-copy';
import type { OrderLine, OrderSource, OrderStatus, Product } from '@customer-platform/contracts/catalogue';
import {
  type ChangePage,
  changePosition,
  changeTime,
  type Fragment,
  isChangeOf,
  type PageBounds,
  readUnderLock,
  type Sql,
  withinPageBytes,
} from '@customer-platform/service-kit';
import type { OrderRow } from './order.ts';

/** Columns of an order. The lines are a subquery by primary key, which runs only for the returned rows. */
const columns = (tx: Sql) => tx`
  o.id, o.number, o.status, o.source, o.channel, o.total_minor, o.currency, o.note, o.created_at, o.updated_at,
  ${contactColumns(tx)},
  (select json_agg(json_build_object('product', l.product_id, 'sku', l.sku, 'name', l.name, 'quantity', l.quantity,
     'unit_price_minor', l.unit_price_minor) order by l.position)
   from order_lines l where l.account_id = o.account_id and l.order_id = o.id) as items`;

/** Returns an order, or undefined if the account has no order with this id. */
export async function selectOrder(tx: Sql, accountId: string, id: string) {
  const [row] = await tx<OrderRow[]>`
    select ${columns(tx)} from orders o ${joinContact(tx, 'o')} where o.account_id = ${accountId} and o.id = ${id}`;
  return row;
}

/** Locks the order for update, then reads it. Returns undefined if the account has no order with this id. */
export async function lockOrder(tx: Sql, accountId: string, id: string) {
  const lock = tx`select 1 from orders where account_id = ${accountId} and id = ${id} for update`;
  return await readUnderLock(lock, () => selectOrder(tx, accountId, id));
}

/** Filters of a list. */
export interface OrderFilter {
  status?: OrderStatus | undefined;
  source?: OrderSource | undefined;
  /** A surviving contact. Orders of contacts merged into it match too. */
  contactId?: string | undefined;
}

/**
 * Returns orders after the order `after`, newest first. Includes their sizes; returns at most a page's bytes. The limit applies before
 * the joins. For a contact, it applies to each of its ids first, so that a contact with very many orders is listed as fast as one with
 * few.
 */
export async function listOrderRows(
  tx: Sql,
  accountId: string,
  filter: OrderFilter,
  { after, limit }: PageBounds<string>,
) {
  const { contactId } = filter;
  const page = tx`
    select * from orders o
    where o.account_id = ${accountId} ${isIn(tx, filter)}
    ${contactId ? tx`and o.contact_id = named.id` : tx``}
    ${after === undefined ? tx`` : tx`and o.id < ${after}`}
    order by o.id desc limit ${limit}`;
  const pageOfContact = (id: string) => tx`
    select o.* from (${idsOfContact(tx, accountId, id)}) as named (id) cross join lateral (${page}) as o
    order by o.id desc limit ${limit}`;
  const sized = sizedOrders(tx, contactId ? pageOfContact(contactId) : page, columns(tx));
  return await tx<SizedOrder[]>`${withinPageBytes(tx, sized, tx`id desc`)}`;
}

/** Returns the orders of a list by `updated_since`, the least recently changed first. Includes their sizes; returns at most a page's bytes. */
export async function listChangedOrders(tx: Sql, accountId: string, filter: OrderFilter, page: ChangePage) {
  const { contactId } = filter;
  const changed = tx`
    select * from orders o
    where o.account_id = ${accountId} and ${isChangeOf(tx, 'o', page)} ${isIn(tx, filter)}
    ${contactId ? tx`and o.contact_id = any(array(${idsOfContact(tx, accountId, contactId)}))` : tx``}
    order by o.updated_at, o.id limit ${page.limit}`;
  const sized = sizedOrders(tx, changed, tx`${columns(tx)}, ${changePosition(tx, 'o')} as position`);
  return await tx<(SizedOrder & { position: string })[]>`${withinPageBytes(tx, sized, tx`updated_at, id`)}`;
}

/** An order with its approximate size in bytes. */
export type SizedOrder = OrderRow & { bytes: number };

const isIn = (tx: Sql, { status, source }: OrderFilter) => tx`
  ${status ? tx`and o.status = ${status}` : tx``} ${source ? tx`and o.source = ${source}` : tx``}`;

const sizedOrders = (tx: Sql, page: Fragment, shown: Fragment): Fragment => tx`
  with shown as materialized (select ${shown} from (${page}) as o ${joinContact(tx, 'o')})
  select *, octet_length(items::text) + octet_length(note) as bytes from shown`;

/** Reads the contact (the surviving contact if merged) and the products by SKU for a new order, in one statement. */
export async function selectOrderBasis(tx: Sql, accountId: string, contactId: string, skus: string[]) {
  const [row] = await tx<{ contact: KnownContact | null; products: Product[] }[]>`
    select (select to_json(c) from (${contactNamed(tx, tx`${accountId}`, tx`${contactId}`)}) as c) as contact,
      (select coalesce(json_agg(p), '[]') from (
         select id, sku, name, price_minor, currency, active from products
         where account_id = ${accountId} and sku = any(${skus}::text[])) as p) as products`;
  const { contact, products } = row!;
  return { contact, products: new Map(products.map((product) => [product.sku, product])) };
}

/** Inserts an order with its lines and the account's next number, in one statement. Returns its id, number and time of change. */
export async function insertOrder(tx: Sql, accountId: string, row: Omit<OrderRow, 'id' | 'number' | 'updated_at'>) {
  const column = (name: keyof OrderLine) => row.items.map((line) => line[name]) as string[];
  const [made] = await tx<Pick<OrderRow, 'id' | 'number' | 'updated_at'>[]>`
    with taken as (
      insert into order_numbers as known (account_id, last) values (${accountId}, 1)
      on conflict (account_id) do update set last = known.last + 1
      returning last
    ), made as (
      insert into orders (account_id, number, status, source, channel, contact_id, total_minor, currency, note, created_at,
        updated_at)
      select ${accountId}, taken.last, ${row.status}, ${row.source}, ${row.channel}, ${row.contact_id}::uuid,
        ${row.total_minor}::bigint, ${row.currency}, ${row.note}, ${row.created_at}::timestamptz,
        ${changeTime(tx, accountId, row.created_at)}
      from taken
      returning id, number, updated_at
    ), lined as (
      insert into order_lines (account_id, order_id, position, product_id, sku, name, quantity, unit_price_minor)
      select ${accountId}, made.id, line.position, line.product_id, line.sku, line.name, line.quantity, line.unit_price_minor
      from made cross join unnest(${column('product')}::uuid[], ${column('sku')}::text[], ${column('name')}::text[],
        ${column('quantity')}::integer[], ${column('unit_price_minor')}::bigint[]
      ) with ordinality as line (product_id, sku, name, quantity, unit_price_minor, position)
    )
    select id, number, updated_at from made`;
  return made!;
}

/** Writes an order's status. Returns the time of the change. */
export async function updateOrderStatus(tx: Sql, accountId: string, id: string, status: OrderStatus, now: Date) {
  const [changed] = await tx<Pick<OrderRow, 'updated_at'>[]>`
    update orders set status = ${status}, updated_at = ${changeTime(tx, accountId, now)}
    where account_id = ${accountId} and id = ${id} returning updated_at`;
  return changed!.updated_at;
}
