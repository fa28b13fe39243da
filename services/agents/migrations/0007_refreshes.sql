-- A refresh that fails leaves a source as it was before, so it has to be known whether what is kept is what there is to be read now:
-- `read_content` is the `content` that was last read to its end. A process of before writes none; what it read is ready as ever, and
-- a refresh of that which fails may fail the source, as it did.
alter table sources add column read_content integer;
update sources set read_content = content where status = 'ready';
