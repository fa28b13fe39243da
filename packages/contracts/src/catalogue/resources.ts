import { z } from 'zod';
import { ContactSummary } from '../cdp/resources.ts';
import { channel } from '../core/channel.ts';
import { currency, text, timestamp, uuid } from '../core/fields.ts';

const sku = text(100, 1);
const productName = text(200, 1);
const minorUnits = z.int().min(0);

/** Descriptions of a product's fields, for bodies and responses. */
const ofProduct = {
  sku: "Stock keeping unit: the product's code in your own system. Unique in the account, case-sensitive.",
  name: 'Name of the product in new orders.',
  price_minor: "Price in the currency's minor unit, such as cents.",
  currency: 'Currency of the price: an ISO 4217 code.',
  active: 'True if the product can be ordered.',
};

export const Product = z
  .object({
    id: z.guid().meta({ description: 'Id of the product.' }),
    sku: z.string().meta({ description: ofProduct.sku }),
    name: z.string().meta({ description: ofProduct.name }),
    price_minor: z.int().meta({ description: ofProduct.price_minor }),
    currency: z.string().meta({ description: ofProduct.currency }),
    active: z.boolean().meta({ description: ofProduct.active }),
  })
  .meta({ id: 'Product', description: 'A product that can be ordered.' });
export type Product = z.infer<typeof Product>;

export const ProductInput = z.object({
  sku: sku.meta({ description: ofProduct.sku }),
  name: productName.meta({ description: ofProduct.name }),
  price_minor: minorUnits.meta({ description: ofProduct.price_minor }),
  currency: currency.optional().meta({ description: `${ofProduct.currency} Default: the account's currency.` }),
  active: z.boolean().default(true).meta({ description: ofProduct.active }),
});

export const ProductChange = z.object({
  sku: sku.optional().meta({ description: ofProduct.sku }),
  name: productName.optional().meta({ description: ofProduct.name }),
  price_minor: minorUnits.optional().meta({ description: ofProduct.price_minor }),
  currency: currency.optional().meta({ description: `${ofProduct.currency} The price is not converted.` }),
  active: z.boolean().optional().meta({ description: ofProduct.active }),
});

export const orderStatus = z.enum(['new', 'confirmed', 'declined', 'fulfilled', 'cancelled']).meta({
  description:
    'An order begins as `new` and must be `confirmed` before it is `fulfilled`. `declined`, `fulfilled` and `cancelled` are final.',
});
export type OrderStatus = z.infer<typeof orderStatus>;

/** Source of an order. */
export const orderSource = z.enum(['cart', 'agent', 'person', 'api']).meta({
  description:
    "Where the order was created. `cart`: in a chat; `agent`: from an agent's draft that a person approved; `person`: manually; `api`: through the API.",
});
export type OrderSource = z.infer<typeof orderSource>;

/** A line has its own copy of name and price, so later changes of the product do not affect it. */
export const OrderLine = z
  .object({
    product: z.guid().nullable().meta({ description: 'Product id; null if there was no product with the SKU.' }),
    sku: z.string().meta({ description: 'SKU that was ordered.' }),
    name: z.string().meta({ description: 'Name when the product was ordered.' }),
    quantity: z.int().meta({ description: 'Number of pieces.' }),
    unit_price_minor: z
      .int()
      .meta({ description: 'Price per piece at the time of the order, in the minor unit of its currency.' }),
  })
  .meta({ id: 'OrderLine' });
export type OrderLine = z.infer<typeof OrderLine>;

export const Order = z
  .object({
    id: z.guid().meta({ description: 'Id of the order.' }),
    number: z.int().meta({ description: 'Order number, which counts up within the account without gaps.' }),
    status: orderStatus,
    source: orderSource,
    channel: channel.meta({ description: 'Channel for replies about the order.' }),
    contact: ContactSummary.meta({ description: 'The customer; after a merge, the surviving contact.' }),
    items: z.array(OrderLine).meta({ description: 'Lines, in the order in which they were given.' }),
    total_minor: z.int().meta({ description: "Sum of all lines, in the currency's minor unit, such as cents." }),
    currency: z.string().meta({ description: 'Currency of all prices: an ISO 4217 code.' }),
    note: z.string().meta({ description: "The customer's note; empty if there is none." }),
    created_at: timestamp.meta({ description: 'When the order was placed.' }),
    updated_at: timestamp.meta({ description: 'When its status last changed.' }),
  })
  .meta({ id: 'Order', description: 'An order of a contact, with its lines.' });
export type Order = z.infer<typeof Order>;

export const OrderInput = z.object({
  contact: uuid.meta({ description: 'Id of the customer.' }),
  items: z
    .array(
      z
        .object({
          sku: sku.meta({ description: 'SKU of a product. Without a product for it, name and price are required.' }),
          quantity: z.int().min(1).max(9_999).meta({ description: 'Number of pieces.' }),
          name: productName.optional().meta({ description: "Name on the order; default: the product's name." }),
          unit_price_minor: minorUnits.optional().meta({
            description: "Price per piece, in the minor unit of the order's currency; default: the product's price.",
          }),
        })
        .meta({ id: 'OrderItem' }),
    )
    .min(1)
    .max(100)
    .meta({
      description: 'Name and price default to those of the product with the SKU. Without a product, both are required.',
    }),
  channel: channel.optional().meta({ description: 'Default: whatsapp if the contact has a phone, otherwise email.' }),
  note: text(1_000).default('').meta({ description: "The customer's note." }),
  currency: currency
    .optional()
    .meta({ description: "Default: the account's currency. Products in another currency cannot be ordered." }),
});

export const productPath = z.object({
  product_id: uuid.meta({ description: 'Id of the product.', param: { id: 'ProductId' } }),
});
export const orderPath = z.object({
  order_id: uuid.meta({ description: 'Id of the order.', param: { id: 'OrderId' } }),
});
