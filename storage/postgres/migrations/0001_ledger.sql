-- The tables that do not depend on what kinds a program defines, in the schema
-- that the search path names. Times are Unix milliseconds, amounts and balances
-- pesewas. Names that begin with ledger_ or storage_ are this package's; a kind
-- cannot have one.

CREATE TABLE storage_kinds (
	name        text COLLATE "C" PRIMARY KEY,
	declaration text NOT NULL
);
COMMENT ON TABLE storage_kinds IS 'What each kind''s table was made from, as JSON.';

CREATE TABLE storage_writer (nothing boolean CHECK (nothing));
COMMENT ON TABLE storage_writer IS 'Locked by whoever writes. It has no rows.';

-- One row for each commit, newest first in use: by it a program tells what others
-- have changed since it looked, and whether a commit whose answer was lost has
-- happened. Old rows are removed.
CREATE TABLE storage_commits (
	number  bigint PRIMARY KEY CHECK (number > 0),
	token   bigint NOT NULL,
	at      timestamptz NOT NULL DEFAULT now(),
	changed bytea
);

CREATE TABLE storage_sequences (
	name  text COLLATE "C" PRIMARY KEY,
	value bigint NOT NULL CHECK (value > 0)
);

CREATE TABLE ledger_accounts (
	id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name    text COLLATE "C" NOT NULL UNIQUE CHECK (name <> ''),
	guarded boolean NOT NULL,
	balance bigint NOT NULL,
	entries bigint NOT NULL CHECK (entries > 0),
	CHECK (NOT guarded OR balance >= 0)
) WITH (fillfactor = 70);

CREATE TABLE ledger_postings (
	id   text COLLATE "C" PRIMARY KEY CHECK (id <> ''),
	type text NOT NULL CHECK (type <> ''),
	ref  text NOT NULL,
	at   bigint NOT NULL
);

-- An entry is found by its account (a statement) and by its posting.
CREATE TABLE ledger_entries (
	account bigint NOT NULL,
	number  bigint NOT NULL CHECK (number > 0),
	posting text COLLATE "C" NOT NULL,
	amount  bigint NOT NULL CHECK (amount <> 0),
	balance bigint NOT NULL,
	PRIMARY KEY (account, number),
	UNIQUE (posting, account)
);

-- What was booked stays: a mistake is mended by another posting.
CREATE FUNCTION ledger_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'what is booked in % is never changed or removed', TG_TABLE_NAME;
END $$;

CREATE TRIGGER ledger_postings_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_postings
	FOR EACH STATEMENT EXECUTE FUNCTION ledger_stays();

CREATE TRIGGER ledger_entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
	FOR EACH STATEMENT EXECUTE FUNCTION ledger_stays();

-- An entry's account and posting are there, and stay: for all entries of a statement
-- at once. Foreign keys look for each row alone, which was a quarter of the
-- server's time for everything that a disbursement writes.
CREATE TRIGGER ledger_accounts_stay BEFORE DELETE OR TRUNCATE ON ledger_accounts
	FOR EACH STATEMENT EXECUTE FUNCTION ledger_stays();
CREATE TRIGGER ledger_accounts_keep_ids BEFORE UPDATE OF id ON ledger_accounts
	FOR EACH STATEMENT EXECUTE FUNCTION ledger_stays();

CREATE FUNCTION ledger_refers() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	IF EXISTS (SELECT FROM entered AS e WHERE NOT EXISTS (SELECT FROM ledger_accounts AS a WHERE a.id = e.account))
		OR EXISTS (SELECT FROM entered AS e WHERE NOT EXISTS (SELECT FROM ledger_postings AS p WHERE p.id = e.posting)) THEN
		RAISE EXCEPTION 'an entry has no account or no posting' USING ERRCODE = 'foreign_key_violation';
	END IF;
	RETURN NULL;
END $$;

CREATE TRIGGER ledger_entries_refer AFTER INSERT ON ledger_entries REFERENCING NEW TABLE AS entered
	FOR EACH STATEMENT EXECUTE FUNCTION ledger_refers();

-- A statement that met fewer rows than it was meant for ends the transaction, as
-- a serialization failure does: somebody wrote without the lock.
CREATE FUNCTION storage_expect(met bigint, wanted bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF met <> wanted THEN
		RAISE EXCEPTION 'met % rows and not %', met, wanted USING ERRCODE = 'serialization_failure';
	END IF;
END $$;
