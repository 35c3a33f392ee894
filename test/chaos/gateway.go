package chaos

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// gateway is where the API server finds the webhook: it leads to the first operator that answers, as a Service would.
type gateway struct {
	listener net.Listener
	port     int

	mu    sync.Mutex
	ports []int
	mood  mood
}

// mood is how the gateway behaves.
type mood string

const (
	open   mood = "open"
	closed mood = "closed" // ends connections
	mute   mood = "mute"   // takes connections and says nothing
)

func newGateway() (*gateway, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	address, is := listener.Addr().(*net.TCPAddr)
	if !is {
		return nil, fmt.Errorf("webhook: %s is no address of TCP", listener.Addr())
	}
	g := &gateway{listener: listener, port: address.Port, mood: open}
	go g.serve()
	return g, nil
}

func (g *gateway) close() { _ = g.listener.Close() }

func (g *gateway) lead(ports ...int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ports = ports
}

func (g *gateway) be(m mood) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mood = m
}

func (g *gateway) state() (mood, []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mood, g.ports
}

func (g *gateway) serve() {
	for {
		connection, err := g.listener.Accept()
		if err != nil {
			return
		}
		go g.connect(connection)
	}
}

func (g *gateway) connect(from net.Conn) {
	defer func() { _ = from.Close() }()
	m, ports := g.state()
	if m == mute {
		_, _ = io.Copy(io.Discard, from)
	}
	if m != open {
		return
	}
	for _, port := range ports {
		to, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		if err != nil {
			continue
		}
		go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
		_, _ = io.Copy(from, to)
		_ = to.Close()
		return
	}
}
