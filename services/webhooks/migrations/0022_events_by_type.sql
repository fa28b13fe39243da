-- Its place was taken by events_by_type_and_sequence. In a block, since the index of a partitioned table cannot be dropped concurrently: it waits
-- for a lock at most as long as every migration, and has nothing to read.
do $$ begin
  drop index if exists events_by_type;
end $$;
