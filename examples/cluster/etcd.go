//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"
)

// newEtcd starts an etcd that serves clients on a port, and waits until it answers. A
// real cluster has three of them: here etcd is not what fails.
//
// Patroni uses its older interface, v2. By way of v3, Patroni before 3.0.3 lets a primary
// that wakes up take its lock back from the one that was promoted meanwhile
// (github.com/patroni/patroni/pull/2689), and what that one has acknowledged is lost.
// Debian 12 has Patroni 3.0.2.
func newEtcd(ctx context.Context, found *programs, dir string, port, peerPort int) (*machine, error) {
	clients, peers := fmt.Sprintf("http://127.0.0.1:%d", port), fmt.Sprintf("http://127.0.0.1:%d", peerPort)
	m, err := newMachine("etcd", dir, found, found.etcd,
		"--name", "etcd", "--data-dir", filepath.Join(dir, "etcd"), "--enable-v2",
		"--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "etcd="+peers)
	if err != nil {
		return nil, err
	}
	err = until(ctx, "etcd", 30*time.Second, func(ctx context.Context) bool {
		return getJSON(ctx, clients+"/health", nil) == nil
	})
	if err != nil {
		_ = m.close() // the error to report is another
		return nil, err
	}
	return m, nil
}

// until asks ten times a second until ready, and no longer than within.
func until(ctx context.Context, what string, within time.Duration, ready func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for !ready(ctx) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; see the logs with -dir", what, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// status asks etcd and Patroni, of which one that is frozen does not answer.
var status = &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
