/** The account of what belongs to none. */
export const noAccount = '00000000-0000-0000-0000-000000000000';
