package collective

import (
	"context"
	"fmt"
	"net"
	"time"
)

// MinKeyBytes is the least length of a key in bytes, so that nobody can guess it.
const MinKeyBytes = 32

// Config is what a rank needs to meet the others over TCP.
type Config struct {
	// Rank is this rank, counted from 0.
	Rank int
	// Addresses are where all ranks are reached, host:port in order of ranks. Names are looked up at each try.
	Addresses []string
	// Mesh names the mesh. Ranks of different meshes refuse each other.
	Mesh string
	// Key is the mesh's secret, of at least MinKeyBytes random bytes. It is not sent.
	Key []byte

	// Listener receives the connections of other ranks; the communicator closes it. Nil means the port of this rank's
	// address on all of the host's addresses.
	Listener net.Listener
	// Dial connects to an address. Nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Silence is how long a rank may give no sign of life before it is lost; signs are sent ten times as often. 0 means
	// 10 s.
	Silence time.Duration
}

const (
	defaultSilence = 10 * time.Second
	minSilence     = 100 * time.Millisecond
)

func (c *Config) complete() error {
	size := len(c.Addresses)
	switch {
	case size == 0 || size > maxRanks:
		return fmt.Errorf("addresses has %d entries: it must have one for each rank, 1 to %d", size, maxRanks)
	case c.Rank < 0 || c.Rank >= size:
		return fmt.Errorf("rank is %d: with %d addresses it must be 0 to %d", c.Rank, size, size-1)
	case len(c.Key) < MinKeyBytes:
		return fmt.Errorf("key has %d bytes: give at least %d random ones", len(c.Key), MinKeyBytes)
	case c.Mesh == "":
		return fmt.Errorf("mesh is empty: name the mesh, so that ranks of others are refused")
	case c.Silence != 0 && c.Silence < minSilence:
		return fmt.Errorf("silence is %v: it must be at least %v, or 0 for %v", c.Silence, minSilence, defaultSilence)
	}
	for rank, address := range c.Addresses {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("address of rank %d is %q: it must be host:port: %w", rank, address, err)
		}
	}
	if c.Silence == 0 {
		c.Silence = defaultSilence
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	return nil
}

func (c *Config) listen(ctx context.Context) (net.Listener, error) {
	if c.Listener != nil {
		return c.Listener, nil
	}
	_, port, _ := net.SplitHostPort(c.Addresses[c.Rank]) // complete refuses what cannot be split
	var l net.ListenConfig
	return l.Listen(ctx, "tcp", net.JoinHostPort("", port))
}
