import type { Product } from '@customer-platform/contracts/catalogue';
import { brokenConstraint, type PageBounds, type Sql } from '@customer-platform/service-kit';

/** Columns that a write sets. */
type ProductValues = Omit<Product, 'id'>;

const columns = (tx: Sql) => tx`id, sku, name, price_minor, currency, active`;

/** Returns a product, or undefined if the account has no product with this id. 'lock' locks the product until the transaction ends. */
export async function findProduct(tx: Sql, accountId: string, id: string, lock: 'lock' | 'read' = 'read') {
  const [row] = await tx<Product[]>`
    select ${columns(tx)} from products where account_id = ${accountId} and id = ${id}
    ${lock === 'lock' ? tx`for update` : tx``}`;
  return row;
}

/** Returns products after the product `after`, newest first. A SKU returns only the product that has it. */
export async function listProductRows(
  tx: Sql,
  accountId: string,
  sku: string | undefined,
  { after, limit }: PageBounds<string>,
) {
  return await tx<Product[]>`
    select ${columns(tx)} from products
    where account_id = ${accountId} ${sku === undefined ? tx`` : tx`and sku = ${sku}`}
    ${after === undefined ? tx`` : tx`and id < ${after}`}
    order by id desc limit ${limit}`;
}

/** Inserts a product. Returns undefined if another product of the account has its SKU. */
export async function insertProduct(tx: Sql, accountId: string, values: ProductValues) {
  const [row] = await tx<Product[]>`
    insert into products ${tx({ account_id: accountId, ...values })}
    on conflict (account_id, sku) do nothing
    returning ${columns(tx)}`;
  return row;
}

/** Updates all values of a product. Returns false if another product has its SKU; the transaction is then aborted. */
export async function updateProductRow(tx: Sql, accountId: string, { id, ...values }: Product): Promise<boolean> {
  try {
    await tx`update products set ${tx(values)} where account_id = ${accountId} and id = ${id}`;
    return true;
  } catch (error) {
    if (brokenConstraint(error) === 'products_sku') return false;
    throw error;
  }
}

export async function deleteProductRow(tx: Sql, accountId: string, id: string) {
  await tx`delete from products where account_id = ${accountId} and id = ${id}`;
}
