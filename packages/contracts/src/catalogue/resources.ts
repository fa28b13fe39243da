import { z } from 'zod';
import { ContactSummary } from '../cdp/resources.ts';
import { channel } from '../core/channel.ts';
import { currency, text, timestamp, uuid } from '../core/fields.ts';

const sku = text(100, 1);
const productName = text(200, 1);
const minorUnits = z.int().min(0);
const priceMinor = minorUnits.meta({ description: "Amount in the currency's minor unit." });

export const Product = z
  .object({
    id: z.guid(),
    sku: z.string(),
    name: z.string(),
    price_minor: z.int(),
    currency: z.string(),
    active: z.boolean(),
  })
  .meta({ id: 'Product' });
export type Product = z.infer<typeof Product>;

export const ProductInput = z.object({
  sku: sku.meta({ description: 'Unique in the account.' }),
  name: productName,
  price_minor: priceMinor,
  currency: currency.optional().meta({ description: "Default: the account's setting." }),
  active: z.boolean().default(true),
});

export const ProductChange = z.object({
  sku: sku.optional(),
  name: productName.optional(),
  price_minor: priceMinor.optional(),
  currency: currency.optional(),
  active: z.boolean().optional(),
});

export const orderStatus = z.enum(['new', 'confirmed', 'declined', 'fulfilled', 'cancelled']);
export type OrderStatus = z.infer<typeof orderStatus>;

/** Source of an order. */
export const orderSource = z.enum(['cart', 'agent', 'person', 'api']);
export type OrderSource = z.infer<typeof orderSource>;

/** A line keeps its own copy of name and price: later changes of the product do not affect it. */
export const OrderLine = z
  .object({
    product: z.guid().nullable().meta({ description: 'Product id; null if the catalogue did not have the SKU.' }),
    sku: z.string(),
    name: z.string(),
    quantity: z.int(),
    unit_price_minor: z.int(),
  })
  .meta({ id: 'OrderLine' });
export type OrderLine = z.infer<typeof OrderLine>;

export const Order = z
  .object({
    id: z.guid(),
    number: z.int().meta({ description: 'Order number, counting up within the account without gaps.' }),
    status: orderStatus,
    source: orderSource,
    channel: channel.meta({ description: 'Channel on which replies about it are sent.' }),
    contact: ContactSummary,
    items: z.array(OrderLine),
    total_minor: z.int(),
    currency: z.string(),
    note: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Order' });
export type Order = z.infer<typeof Order>;

export const OrderInput = z.object({
  contact: uuid,
  items: z
    .array(
      z
        .object({
          sku,
          quantity: z.int().min(1).max(9_999),
          name: productName.optional(),
          unit_price_minor: minorUnits.optional(),
        })
        .meta({ id: 'OrderItem' }),
    )
    .min(1)
    .max(100)
    .meta({
      description:
        'Name and price default to those of the product with this SKU; without such a product, both are required.',
    }),
  channel: channel.optional().meta({ description: 'Default: whatsapp if the contact has a phone, otherwise email.' }),
  note: text(1_000).default(''),
  currency: currency
    .optional()
    .meta({ description: "Default: the account's currency. Products in another currency cannot be ordered." }),
});

export const productPath = z.object({ product_id: uuid.meta({ param: { id: 'ProductId' } }) });
export const orderPath = z.object({ order_id: uuid.meta({ param: { id: 'OrderId' } }) });
