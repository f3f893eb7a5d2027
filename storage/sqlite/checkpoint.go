package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"
)

const (
	// checkpointEvery is after how many pages written a checkpoint begins; 1000
	// pages are 4 MB, which is also SQLite's own choice.
	checkpointEvery = 1000
	// logLimit is the length in pages (32 MB) at which the writer stops to have
	// the write-ahead log begun anew.
	logLimit = 8000

	restart = "PRAGMA wal_checkpoint(RESTART)"
)

// checkpointer copies the write-ahead log into the database.
//
// SQLite would do it inside a commit, for which everybody in the group then
// waits. Here the commit that fills a measure starts a goroutine, at most one,
// which copies on a connection of its own beside readers and the writer. When
// all is copied and no reader needs the log, SQLite begins it anew. Under
// writes without a pause that moment may not come, so at a limit the commit
// that reaches it waits for the goroutine, and has the log begun anew while nobody
// writes; little is left to copy then. Only a View that outlasts that, here or in
// another process, lets the log grow further, until it begins anew after it.
//
// The log keeps its length when it begins anew (RESTART), and is written over. A
// log that is emptied (TRUNCATE) has to be given its blocks again, and each sync
// then waits for the file system's journal too: a caller alone, who waits for one
// sync a commit, took 1.4 times as long, and the processor with it.
type checkpointer struct {
	logger *slog.Logger
	every  int64
	limit  int64

	checkpoints atomic.Int64

	pages  int64        // written since the last checkpoint began; of the connection that writes
	length atomic.Int64 // pages in the log when the last checkpoint ended
	busy   atomic.Bool  // whether a goroutine runs
	// backups is how many backups run. The log cannot begin anew beside one, so the
	// writer must not wait for that.
	backups atomic.Int32
	// running is awaited by Close.
	running sync.WaitGroup

	mu   sync.Mutex // one checkpoint at a time
	conn *conn
}

// committed is told of each commit, on the connection that wrote.
func (c *checkpointer) committed(wrote *conn) {
	c.pages += pagesWritten(wrote)
	if c.pages < c.every {
		return
	}
	if c.length.Load()+c.pages >= c.limit && c.backups.Load() == 0 {
		c.pages = 0
		c.run(restart)
		return
	}
	if c.busy.CompareAndSwap(false, true) {
		c.pages = 0
		c.running.Go(func() {
			defer c.busy.Store(false)
			c.run("PRAGMA wal_checkpoint(PASSIVE)")
		})
	}
}

// finish is the last checkpoint, made by Close.
func (c *checkpointer) finish() {
	c.run("PRAGMA wal_checkpoint(TRUNCATE)")
}

// run makes a checkpoint. One that readers or another process stand in the way
// of has copied what it could, and the next goes on from there.
func (c *checkpointer) run(pragma string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var blocked, length, copied int64
	if _, err := c.conn.one(pragma, nil, &blocked, &length, &copied); err != nil {
		if !isBusy(err) {
			c.logger.LogAttrs(context.Background(), slog.LevelWarn, "sqlite: checkpoint failed", slog.Any("error", err))
		}
		return
	}
	if pragma == restart && blocked == 0 {
		length = 0 // what is told is the length before
	}
	c.length.Store(max(length, 0))
	c.checkpoints.Add(1)
}

// pagesWritten returns how many pages a connection has written since it was
// last asked. In WAL mode they all go to the log.
func pagesWritten(c *conn) int64 {
	var pages int
	err := c.sql.Raw(func(raw any) error {
		status, ok := raw.(sqlite.DBStatus)
		if !ok {
			return errors.ErrUnsupported
		}
		var err error
		pages, _, err = status.Status(sqlite.DBStatusCacheWrite, true)
		return err
	})
	if err != nil {
		return 1
	}
	return int64(pages)
}
