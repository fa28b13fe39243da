/** The account id of records that belong to no account. */
export const noAccount = '00000000-0000-0000-0000-000000000000';
