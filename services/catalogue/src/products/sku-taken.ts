/** What is said where a SKU is asked for that another product has. */
export const skuTakenMessage = 'sku must be unique in the account; another product has it';
