/** Common column names of other systems, in lower case and without spaces and punctuation, by field. */
const usualNames: Record<string, readonly string[]> = {
  external_id: ['externalid', 'customerid', 'customerno', 'customernumber', 'contactid'],
  name: ['name', 'fullname', 'customername', 'contactname', 'displayname'],
  phone: ['phone', 'phonenumber', 'mobile', 'mobilephone', 'mobilenumber', 'telephone', 'tel', 'cell'],
  email: ['email', 'emailaddress', 'mail'],
  tags: ['tags', 'tag', 'labels', 'label'],
};

/** Returns the contact field that a column most likely matches, or else a custom field named after the column. */
export function likelyField(column: string): string {
  const plain = column.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
  const usual = Object.entries(usualNames).find(([, names]) => names.includes(plain));
  return (
    usual?.[0] ??
    `fields.${column
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, '_')}`
  );
}
