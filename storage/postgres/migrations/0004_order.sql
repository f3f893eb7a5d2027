-- The last number that a record of an Ordered kind got, over all kinds and scopes, and how many the last
-- transaction took that took any. There is one row at most.
-- The invoices and events have another stored form from here on; see internal/upgrade.
CREATE TABLE storage_order (
	one bigint PRIMARY KEY CHECK (one = 1),
	last bigint NOT NULL,
	taken bigint NOT NULL
) WITH (fillfactor = 10);
