/** A name that another contract exports. */
export const createDeal = undefined;
