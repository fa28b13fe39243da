-- SKUs are composed (Unicode's NFC) where they come in, and found as they are stored: those of before are brought to the same form. Where two are alike
-- now, both stay as they are.
update products p set sku = normalize(p.sku)
where p.sku is not normalized and not exists (
  select from products other where other.account_id = p.account_id and other.id <> p.id and normalize(other.sku) = normalize(p.sku));
