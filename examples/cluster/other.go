//go:build !linux

// Cluster builds a PostgreSQL cluster on this machine; it needs Linux.
package main

import "fmt"

func main() {
	fmt.Println("This example needs Linux, with the Debian packages patroni, etcd-server and postgresql.")
}
