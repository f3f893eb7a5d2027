-- The tables that do not depend on what kinds a program defines. Times are
-- Unix milliseconds, amounts and balances pesewas. Names that begin with
-- ledger_ or storage_ are this package's; a kind cannot have one.

CREATE TABLE ledger_accounts (
	id      INTEGER PRIMARY KEY,
	name    TEXT NOT NULL UNIQUE CHECK (name <> ''),
	guarded INTEGER NOT NULL CHECK (guarded IN (0, 1)),
	balance INTEGER NOT NULL,
	entries INTEGER NOT NULL CHECK (entries > 0),
	CHECK (guarded = 0 OR balance >= 0)
) STRICT;

CREATE TABLE ledger_postings (
	id   TEXT NOT NULL PRIMARY KEY CHECK (id <> ''),
	type TEXT NOT NULL CHECK (type <> ''),
	ref  TEXT NOT NULL,
	at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An entry is found by its account (a statement) and by its posting.
CREATE TABLE ledger_entries (
	account INTEGER NOT NULL REFERENCES ledger_accounts (id),
	number  INTEGER NOT NULL CHECK (number > 0),
	posting TEXT NOT NULL REFERENCES ledger_postings (id),
	amount  INTEGER NOT NULL CHECK (amount <> 0),
	balance INTEGER NOT NULL,
	PRIMARY KEY (account, number),
	UNIQUE (posting, account)
) STRICT, WITHOUT ROWID;

-- What was booked stays: a mistake is mended by another posting.
CREATE TRIGGER ledger_postings_stay BEFORE UPDATE ON ledger_postings
BEGIN SELECT RAISE(ABORT, 'a posting is never changed'); END;

CREATE TRIGGER ledger_postings_remain BEFORE DELETE ON ledger_postings
BEGIN SELECT RAISE(ABORT, 'a posting is never removed'); END;

CREATE TRIGGER ledger_entries_stay BEFORE UPDATE ON ledger_entries
BEGIN SELECT RAISE(ABORT, 'an entry is never changed'); END;

CREATE TRIGGER ledger_entries_remain BEFORE DELETE ON ledger_entries
BEGIN SELECT RAISE(ABORT, 'an entry is never removed'); END;

CREATE TABLE storage_sequences (
	name  TEXT NOT NULL PRIMARY KEY,
	value INTEGER NOT NULL CHECK (value > 0)
) STRICT, WITHOUT ROWID;

-- What each kind's table was made from, as JSON.
CREATE TABLE storage_kinds (
	name        TEXT NOT NULL PRIMARY KEY,
	declaration TEXT NOT NULL
) STRICT, WITHOUT ROWID;
