-- The newest open deal of a contact in some pipelines, which plans ask for, however many it has that are closed.
create index concurrently if not exists deals_open_of_contact on deals (account_id, contact_id, id, pipeline_id) where status = 'open';
