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
	// checkpointPages is how many written pages begin a checkpoint; 1000 pages are
	// 4 MB, as in SQLite itself.
	checkpointPages = 1000
	// maxLogPages is the length in pages (32 MB) at which the writer waits until the
	// write-ahead log restarts.
	maxLogPages = 8000

	restartCheckpoint = "PRAGMA wal_checkpoint(RESTART)"
)

// checkpointer copies the write-ahead log into the database.
//
// SQLite would do it inside a commit, for which the whole batch would wait. Instead, the
// commit that fills checkpointPages starts one goroutine, which copies on its own
// connection beside readers and the writer. When all is copied and no reader needs the
// log, SQLite restarts it. Under constant writes that moment may not come. So the commit
// that reaches maxLogPages waits for the goroutine and restarts the log itself, with
// little left to copy. Only a View that lasts longer, here or in another process, lets
// the log grow further.
//
// A restart (RESTART) keeps the length of the log and overwrites it. An emptied log
// (TRUNCATE) needs new blocks, and each sync then waits for the file system's journal,
// too; see docs/notes/performance.md.
type checkpointer struct {
	logger      *slog.Logger
	interval    int64
	maxLogPages int64

	checkpoints atomic.Int64

	pages        int64        // written since the last checkpoint began; owned by the writer
	length       atomic.Int64 // in pages, when the last checkpoint ended
	inBackground atomic.Bool  // whether the goroutine runs
	// backups counts running backups. The log cannot restart beside one, so the writer
	// must not wait for that.
	backups atomic.Int32
	// running counts the goroutines that Close waits for.
	running sync.WaitGroup

	mu   sync.Mutex // one checkpoint at a time
	conn *conn
}

// committed follows each commit on the connection wrote.
func (c *checkpointer) committed(wrote *conn) {
	c.pages += pagesWritten(wrote)
	if c.pages < c.interval {
		return
	}
	if c.length.Load()+c.pages >= c.maxLogPages && c.backups.Load() == 0 {
		c.pages = 0
		c.checkpoint(restartCheckpoint)
		return
	}
	if c.inBackground.CompareAndSwap(false, true) {
		c.pages = 0
		c.running.Go(func() {
			defer c.inBackground.Store(false)
			c.checkpoint("PRAGMA wal_checkpoint(PASSIVE)")
		})
	}
}

// truncate is the last checkpoint, made by Close.
func (c *checkpointer) truncate() {
	c.checkpoint("PRAGMA wal_checkpoint(TRUNCATE)")
}

// checkpoint makes a checkpoint. If readers or another process block it, it has copied
// what it could, and the next one goes on from there.
func (c *checkpointer) checkpoint(pragma string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var blocked, length, copied int64
	if _, err := c.conn.queryRow(pragma, nil, &blocked, &length, &copied); err != nil {
		if !isBusy(err) {
			c.logger.LogAttrs(context.Background(), slog.LevelWarn, "sqlite: checkpoint failed", slog.Any("error", err))
		}
		return
	}
	if pragma == restartCheckpoint && blocked == 0 {
		length = 0 // the answer is the length before the restart
	}
	c.length.Store(max(length, 0))
	c.checkpoints.Add(1)
}

// pagesWritten returns how many pages a connection has written since the last call. In
// WAL mode they all go to the log.
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
