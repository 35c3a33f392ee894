// Package socket makes the unix sockets at which the kubelet calls the node agent.
package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// Socket is a unix socket of this agent. Its file stays when the listener is closed: by then it may be the next agent's.
type Socket struct {
	net.Listener

	// Path of the file.
	Path string
	made fs.FileInfo
}

// Listen makes a socket anew, where something of that name is left, too.
func Listen(path string) (*Socket, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket of a former agent: %w", err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	listener.SetUnlinkOnClose(false)
	made, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s: %w", path, err), listener.Close())
	}
	return &Socket{listener, path, made}, nil
}

// Remove takes the file away for good, unless another agent has made its own in the same place. A file system may give that
// one the same number, so that its time counts as well.
func (s *Socket) Remove() {
	if now, err := os.Lstat(s.Path); err == nil && os.SameFile(s.made, now) && s.made.ModTime().Equal(now.ModTime()) {
		_ = os.Remove(s.Path)
	}
}
