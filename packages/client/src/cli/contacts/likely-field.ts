/** Names that columns of other systems often have, without spaces and signs, by the field that they are. */
const usualNames: Record<string, readonly string[]> = {
  external_id: ['externalid', 'customerid', 'customerno', 'customernumber', 'contactid'],
  name: ['name', 'fullname', 'customername', 'contactname', 'displayname'],
  phone: ['phone', 'phonenumber', 'mobile', 'mobilephone', 'mobilenumber', 'telephone', 'tel', 'cell'],
  email: ['email', 'emailaddress', 'mail'],
  tags: ['tags', 'tag', 'labels', 'label'],
};

/** Returns the field of a contact that a column most likely is: a custom field of its name, if no other. */
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
