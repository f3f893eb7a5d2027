//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// The time-outs of Patroni, in seconds. A primary that has not renewed its lock for
// lockTTL has lost it, and the standby takes over: 20 is the least that later versions
// allow, and it must not be less than loopWait + 2 × retryTimeout.
const lockTTL, loopWait, retryTimeout = 20, 1, 9

// cluster is a primary and a standby under Patroni, with etcd.
type cluster struct {
	found *programs
	dir   string
	async bool
	etcd  *machine
	nodes [2]*node
}

// node is a PostgreSQL and its Patroni. They fail together, as on one machine.
type node struct {
	name       string
	port, rest int // of PostgreSQL, and of Patroni's interface
	config     string
	*machine   // nil while it is switched off
}

func newCluster(ctx context.Context, found *programs, dir string, async bool) (c *cluster, err error) {
	ports, err := freePorts(6)
	if err != nil {
		return nil, err
	}
	c = &cluster{found: found, dir: dir, async: async}
	defer func() {
		if err != nil {
			_ = c.close() // the error to report is another
		}
	}()
	if c.etcd, err = newEtcd(ctx, found, dir, ports[0], ports[1]); err != nil {
		return nil, err
	}
	for i, name := range []string{"a", "b"} {
		n := &node{name: name, port: ports[2+2*i], rest: ports[3+2*i], config: filepath.Join(dir, name+".json")}
		config, err := json.Marshal(c.patroni(n, ports[0]))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(n.config, config, 0o644); err != nil {
			return nil, err
		}
		c.nodes[i] = n
		if err := c.start(n); err != nil {
			return nil, err
		}
	}
	_, _, err = c.settled(ctx)
	return c, err
}

// start switches a node on.
func (c *cluster) start(n *node) (err error) {
	n.machine, err = newMachine(n.name, c.dir, c.found, c.found.patroni, n.config)
	return err
}

// patroni is the configuration of a node. Patroni reads YAML, and so JSON.
//
// With synchronous_mode the standby has every commit on disk before the client is told,
// and Patroni promotes no standby that may lack one. It is not strict: when the standby
// is away, the primary goes on alone, because with two nodes writes would stop
// otherwise. Nothing is lost by that as long as the disk of that primary is not, since
// the standby is not promoted before it has caught up.
func (c *cluster) patroni(n *node, etcd int) any {
	type object = map[string]any
	address := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	return object{
		"scope": "payments", "name": n.name,
		"restapi": object{"listen": address(n.rest), "connect_address": address(n.rest)},
		"etcd":    object{"host": address(etcd)},
		"bootstrap": object{
			"dcs": object{
				"ttl": lockTTL, "loop_wait": loopWait, "retry_timeout": retryTimeout,
				"synchronous_mode": !c.async, "synchronous_mode_strict": false,
				// What was killed comes back by pg_rewind, which undoes what its timeline
				// has more than that of the new primary.
				"postgresql": object{"use_pg_rewind": true, "use_slots": true},
			},
			"initdb": []any{object{"encoding": "UTF8"}, object{"locale": "C.UTF-8"}, "data-checksums"},
		},
		"postgresql": object{
			"listen": address(n.port), "connect_address": address(n.port),
			"data_dir": filepath.Join(c.dir, n.name), "bin_dir": c.found.postgres,
			"pgpass": filepath.Join(c.dir, n.name+".pgpass"),
			"authentication": object{
				"superuser": object{"username": "postgres"}, "replication": object{"username": "postgres"},
			},
			"pg_hba": []string{"host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"},
			"parameters": object{
				"unix_socket_directories": "", "max_connections": 100, "shared_buffers": "64MB",
				"dynamic_shared_memory_type": "mmap", // in the data directory, and removed with it
			},
		},
	}
}

// url leads to the node that takes writes, whichever it is. A host that does not answer
// within two seconds is passed over.
func (c *cluster) url() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable&target_session_attrs=read-write&connect_timeout=2&pool_max_conns=16",
		c.nodes[0].port, c.nodes[1].port)
}

// settled waits until one node leads and the other follows it as it must, and returns them.
func (c *cluster) settled(ctx context.Context) (primary, standby *node, err error) {
	follower := "sync_standby"
	if c.async {
		follower = "replica"
	}
	err = until(ctx, "the cluster", 2*time.Minute, func(ctx context.Context) bool {
		primary, standby = nil, nil
		for _, n := range c.nodes {
			var answer struct {
				Members []struct{ Name, Role, State string }
			}
			if getJSON(ctx, fmt.Sprintf("http://127.0.0.1:%d/cluster", n.rest), &answer) != nil {
				return false
			}
			for _, m := range answer.Members {
				// A standby is "running" in older versions and "streaming" in newer ones.
				working := m.State == "running" || m.State == "streaming"
				switch {
				case m.Name != n.name || !working:
				case m.Role == "leader":
					primary = n
				case m.Role == follower:
					standby = n
				}
			}
		}
		return primary != nil && standby != nil
	})
	return primary, standby, err
}

// promoted waits until a standby takes writes, and returns when it began to.
func (n *node) promoted(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*lockTTL*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", n.port))
	if err != nil {
		return time.Time{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for {
		var standby bool
		if err := conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&standby); err != nil {
			return time.Time{}, fmt.Errorf("waiting for the promotion of %s: %w", n.name, err)
		}
		if !standby {
			return time.Now(), nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// switchOff ends a node as a power cut does, which its shared memory does not outlive either.
func (c *cluster) switchOff(n *node) error {
	if err := n.machine.switchOff(); err != nil {
		return err
	}
	n.machine = nil
	file, err := os.ReadFile(filepath.Join(c.dir, n.name, "postmaster.pid"))
	if err != nil {
		return err
	}
	lines := strings.Split(string(file), "\n")
	if len(lines) < 7 {
		return nil
	}
	var key, id string // of the segment
	if _, err := fmt.Sscan(lines[6], &key, &id); err != nil {
		return fmt.Errorf("postmaster.pid: %w", err)
	}
	_ = exec.Command("ipcrm", "-m", id).Run() // where it fails, PostgreSQL clears up at its next start
	return nil
}

// close ends all of it.
func (c *cluster) close() (err error) {
	for _, n := range c.nodes {
		if n != nil && n.machine != nil {
			err = errors.Join(err, n.machine.close())
		}
	}
	if c.etcd != nil {
		err = errors.Join(err, c.etcd.close())
	}
	return err
}

// freePorts returns ports on which nothing listens now.
func freePorts(n int) (ports []int, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close() // at the end, so that all differ
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// getJSON reads an answer into out, unless that is nil.
func getJSON(ctx context.Context, url string, out any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := status.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %d", url, answer.StatusCode)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(out)
}
