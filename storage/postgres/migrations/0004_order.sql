-- The last number that a record of an Ordered kind got, over all kinds and scopes, and how many the last
-- transaction took that took any. There is one row at most.
-- The invoices and events have another stored form from here on; see internal/upgrade.
CREATE TABLE storage_order (
	one bigint PRIMARY KEY CHECK (one = 1),
	last bigint NOT NULL,
	taken bigint NOT NULL
) WITH (fillfactor = 10);

-- What a commit changed, as numbers that a statement can compare; null stands for everything. A commit that is dead
-- never happened: its row keeps it from arriving late. Programs before this migration read the column changed. They
-- find it null, and then the version that they do not know.
ALTER TABLE storage_commits ADD COLUMN hashes bigint[];
ALTER TABLE storage_commits ADD COLUMN dead boolean NOT NULL DEFAULT false;
CREATE UNIQUE INDEX storage_commits_token ON storage_commits (token);
