/** Error message for a SKU that another product has. */
export const skuTakenMessage = 'sku must be unique in the account; another product has it';
