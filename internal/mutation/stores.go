package main

// The ledger: what no posting may do, in every store.
var ledgerGuards = []guard{
	{
		"ledger: a posting is balanced", "storage/ledger.go",
		"if in != out {", "", "./storage", "TestPostingCheck$",
	},
	{
		"ledger: a posting names an account once", "storage/ledger.go",
		"case i > 0 && m.Account == p.Moves[i-1].Account:", "", "./storage", "TestPostingCheck$",
	},
	{
		"ledger: no move is of nothing", "storage/ledger.go",
		"case m.Amount == 0 || m.Amount == math.MinInt64:", "", "./storage", "TestPostingCheck$",
	},
	{
		"ledger: a guarded account is not overdrawn", "storage/ledger.go",
		"if now.Guarded && sum < 0 {", "", "./storage", "TestApplyMovesMoney$",
	},
	{
		"ledger: a balance does not wrap", "storage/ledger.go",
		"if (m.Amount > 0 && sum < now.Amount) || (m.Amount < 0 && sum > now.Amount) {", "", "./storage", "TestApplyMovesMoney$",
	},
	{
		"ledger: an account stays guarded", "storage/ledger.go",
		"if now.Guarded != m.Guarded {", "", "./storage", "TestApplyMovesMoney$",
	},
	{
		"ledger: memory books a posting once", "storage/memory/ledger.go",
		"if _, ok := t.state.postings.Get(p.ID); ok {", "", "./storage/memory", "TestContract",
	},
	{
		"ledger: SQL books a posting of a batch once", "storage/internal/sqlstore/ledger.go",
		"if t.isBuffered(p.ID) {", "", "./storage/sqlite", "TestContract",
	},
	{
		"ledger: Verify compares each entry's balance", "account/verify.go",
		"case e.Balance != v.balance:", "", "./account", "TestVerifyFindsDamage",
	},
	{
		"ledger: Verify finds a gap", "account/verify.go",
		"case e.Number != v.number:", "", "./account", "TestVerifyFindsDamage",
	},
}

// The stores: versions, keys, leases, and the writer that many calls share.
var storeGuards = []guard{
	{
		"list: the bytes of a page are bounded", "internal/engine/listing.go",
		"q.Bytes = maxPage", "q.Bytes = 0", "./event", "TestPagesEndByBytes",
	},
	{
		"store: memory refuses an old version", "storage/memory/tx.go",
		"case r.Version != version:", "", "./storage/memory", "TestContract",
	},
	{
		"store: memory keeps keys unique on insert", "storage/memory/tx.go",
		"ok || table.keyTaken(&r) {", "ok {", "./storage/memory", "TestContract",
	},
	{
		"store: memory keeps keys unique on replace", "storage/memory/tx.go",
		"if table.keyTaken(&r) {", "", "./storage/memory", "TestContract",
	},
	{
		"store: memory leaves what is leased", "storage/memory/due.go",
		"limit > 0 && !r.lease.After(c.Now) &&", "limit > 0 &&", "./storage/memory", "TestContract",
	},
	{
		"store: SQL refuses an old version", "storage/internal/sqlstore/tx.go",
		"case version:", "case was.Record.Version:", "./storage/sqlite", "TestContract",
	},
	{
		"store: SQL settles an assumed write before its keys go", "storage/internal/sqlstore/tx.go",
		"if !was.unverified {", "if true || !was.unverified {", "./storage/sqlite", "TestDeleteAfterUnverifiedInsertOfBatch|TestContract",
	},
	{
		"store: SQL deletes a record before it inserts it again", "storage/internal/sqlstore/writes.go",
		"case s.reinserted:", "", "./storage/sqlite", "TestContract/keys",
	},
	{
		"store: SQL notices a key that is taken before it is free", "storage/internal/sqlstore/tx.go",
		"t.batch.keyConflict = true", "_ = t.batch", "./storage/sqlite", "TestContract/keys",
	},
	{
		"store: SQL commits no key that is taken before it is free", "storage/internal/sqlstore/batch.go",
		"case b.keyConflict:", "", "./storage/sqlite", "TestContract/keys",
	},
	{
		"store: SQL claims what its transaction has written", "storage/internal/sqlstore/tx.go",
		"table, err := t.tableToQuery(k, k.CheckClaim(c))", "table, err := t.table(k)", "./storage/sqlite", "TestContract/claims",
	},
	{
		"writer: a failed call leaves nothing in its batch", "storage/internal/sqlstore/writer.go",
		"if c.err == nil && t.failed == nil && c.ctx.Err() == nil {", "if t.failed == nil && c.ctx.Err() == nil {",
		"./storage/sqlite", "TestFailedCallKeepsRestOfBatch|TestContract",
	},
	{
		"writer: a call whose writes reach the database early has a batch of its own", "storage/internal/sqlstore/flush.go",
		"if !t.alone {", "", "./storage/sqlite", "TestFailedCallKeepsRestOfBatch",
	},
	{
		"writer: a call that gave up on an assumption looks first", "storage/internal/sqlstore/writer.go",
		"if c.err != nil && t.skippedCheck && t.failed == nil && c.ctx.Err() == nil {", "", "./storage/sqlite", "TestContract",
	},
	{
		"writer: a batch that wrote nothing ran on the newest commit", "storage/internal/sqlstore/batch.go",
		"if newest != b.base {", "", "./storage/sqlite", "TestContract",
	},
	{
		"writer: a batch on top of a failed one runs again", "storage/internal/sqlstore/batch.go",
		"b.failure = ErrStale", "_ = ErrStale", "./storage/internal/sqlstore", "TestNoCallJoinsBatchOnFailedCommit",
	},
	{
		"writer: the cache takes in committed batches only", "storage/internal/sqlstore/batch.go",
		"if b.committed {", "if true {", "./storage/internal/sqlstore", "TestBatchWithoutWritesIsNoCommit",
	},
	{
		"writer: PostgreSQL commits onto the newest commit", "storage/postgres/session.go",
		"if base != nil {", "", "./storage/postgres", "TestCommitIsBasedOnNewestCommit",
	},
	{
		"writer: a commit whose answer is lost is looked for", "storage/postgres/session.go",
		`if err != nil && errorCode(err) == "" {`, "", "./storage/postgres", "TestCommitWithLostAnswerIsResolved",
	},
	{
		"writer: the number of a lost commit is given away", "storage/postgres/driver.go",
		"b.Queue(s.sql.insertCommit, c.Number, c.Token+1, []byte{})", "_ = c", "./storage/postgres", "TestLateCommitFailsAfterResolve",
	},
	{
		"host transaction: a refused call is undone in it", "storage/internal/sqlstore/hosttx.go",
		"if !kept {", "", "./storage/sqlite", "TestFailedUpdateLeavesNothingInTheHostsTransaction",
	},
}

// Seals: what was changed in the database is named.
var sealGuards = []guard{
	{
		"seals: a seal is this server's", "account/seal.go",
		"hmac.Equal(mac, kept.Value.MAC) {", "true || hmac.Equal(mac, kept.Value.MAC) {", "./account", "TestSeals|TestTamperingIsFound",
	},
	{
		"seals: an entry is as it was sealed", "account/seal.go",
		"if to > len(kept.Value.Marks) || !bytes.Equal(marks[from:to], kept.Value.Marks[from:to]) {", "", "./account", "TestSeals|TestTamperingIsFound",
	},
	{
		"seals: no sealed entry is removed", "account/verify.go",
		"if b.Entries < head.Value.Entries {", "", "./account", "TestSeals|TestTamperingIsFound",
	},
	{
		"seals: a removed seal is not made anew", "account/sealbatch.go",
		"case number > 0 && previous == nil, kept == nil && len(entries) > 0:", "case false:", "./account", "TestMissingSealIsNotRecreated",
	},
	{
		"seals: a seal is not renewed over a change", "account/sealbatch.go",
		"if kept != nil {", "", "./account", "TestChangedEntryIsNotResealed",
	},
	{
		"seals: an account whose head is damaged is refused", "account/sealbatch.go",
		"if u.damaged {", "", "./account", "TestDamagedSeal|TestSeal",
	},
	{
		"seals: entries without a seal are reported", "account/verify.go",
		"if e.Number > v.sealed && e.At.Before(v.cutoff) && len(v.service.sealKeys) > 0 {", "", "./account", "TestEntriesWithoutSeal",
	},
}
