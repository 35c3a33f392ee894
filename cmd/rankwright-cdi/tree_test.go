//go:build linux && cgo

package main

import (
	"os"
	"testing"

	"github.com/rankwright/rankwright/test/nodefiles"
)

const release = nodefiles.Release

// hookText is a program of the toolkit as far as its hooks are looked for in it.
const hookText = "ELF create-symlinks update-ldcache enable-cuda-compat disable-device-node-modification"

// tree makes a node's files in a folder of their own.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	// Paths of sockets have to be short.
	host, err := os.MkdirTemp("/tmp", "node") //nolint:usetesting // t.TempDir's are long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(host) })
	nodefiles.Plant(t, host, names...)
	return host
}
