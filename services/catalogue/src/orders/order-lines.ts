import type { createOrder, OrderLine, Product } from '@customer-platform/contracts/catalogue';
import { ApiError, type Body } from '@customer-platform/contracts/core';

type Item = Body<typeof createOrder>['items'][number];

/**
 * Returns the lines of an order in this currency. Name and price default to the product's. Throws invalid_request, field items, for a
 * product that is switched off or priced in another currency, and for an unknown SKU without a name or price.
 */
export function linesOf(items: readonly Item[], products: ReadonlyMap<string, Product>, currency: string): OrderLine[] {
  return items.map(({ sku, quantity, name, unit_price_minor }, index) => {
    const path = `items[${index}]`;
    const product = products.get(sku);
    if (!product) {
      const missing = name === undefined ? 'name' : 'unit_price_minor';
      if (name === undefined || unit_price_minor === undefined) {
        throw invalid(`${path}.${missing} is required because the catalogue has no product with this sku`);
      }
      return { product: null, sku, name, quantity, unit_price_minor };
    }
    if (!product.active) {
      throw invalid(`${path}.sku must be of a product that is switched on; "${product.name}" is switched off`);
    }
    if (product.currency !== currency) {
      throw invalid(
        `${path}.sku is priced in ${product.currency}; an order in ${currency} must have products in ${currency}`,
      );
    }
    return {
      product: product.id,
      sku,
      name: name ?? product.name,
      quantity,
      unit_price_minor: unit_price_minor ?? product.price_minor,
    };
  });
}

/** Returns the total of the lines, in minor units. Throws invalid_request, field items, above 2^53 - 1. */
export function totalOf(lines: readonly OrderLine[]): number {
  const total = lines.reduce((sum, line) => sum + BigInt(line.quantity) * BigInt(line.unit_price_minor), 0n);
  if (total <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(total);
  throw invalid(`items must total at most ${Number.MAX_SAFE_INTEGER}, not ${total}`);
}

function invalid(message: string): ApiError {
  return new ApiError('invalid_request', message, { field: 'items' });
}
