package page

import (
	"io"
	"net"
	"strings"
	"sync"
)

// network is a way to the API server that can be cut: what was connected before hears nothing any more, not even of an end.
type network struct {
	address string

	mu     sync.Mutex
	cuts   int
	mended chan struct{} // closed while the network is whole
}

func (w world) network(host string) *network {
	w.Helper()
	listener, err := new(net.ListenConfig).Listen(w.Context(), "tcp", "127.0.0.1:0")
	w.Must(err)
	w.Cleanup(func() { _ = listener.Close() })
	n := &network{address: "https://" + listener.Addr().String(), mended: make(chan struct{})}
	close(n.mended)
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go n.connect(w, from, strings.TrimPrefix(host, "https://"))
		}
	}()
	return n
}

// connect carries what is sent both ways.
func (n *network) connect(w world, from net.Conn, host string) {
	cuts, mended := n.now()
	select {
	case <-mended:
	case <-w.Context().Done():
		return
	}
	to, err := new(net.Dialer).DialContext(w.Context(), "tcp", host)
	if err != nil {
		_ = from.Close()
		return
	}
	w.Cleanup(func() { _, _ = from.Close(), to.Close() })
	go func() { _, _ = io.Copy(carrier{n, cuts, to}, from) }()
	_, _ = io.Copy(carrier{n, cuts, from}, to)
}

func (n *network) now() (cuts int, mended <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cuts, n.mended
}

func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts++
	n.mended = make(chan struct{})
}

func (n *network) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.mended)
}

// carrier drops what it is given once the network was cut.
type carrier struct {
	*network

	cuts int
	to   net.Conn
}

// Write carries or drops.
func (c carrier) Write(p []byte) (int, error) {
	if cuts, _ := c.now(); cuts != c.cuts {
		return len(p), nil
	}
	return c.to.Write(p)
}
