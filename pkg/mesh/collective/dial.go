package collective

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// greetingTime is how long a connection may take to be made and to prove itself.
	greetingTime = 10 * time.Second
	// A try that failed is made again after a pause, which doubles from the first to the last.
	firstPause = 5 * time.Millisecond
	lastPause  = 500 * time.Millisecond
	// maxGreetings is how many connections may be proving themselves at a time; one more is closed, and tries again.
	maxGreetings = 256
	// maxStreams bounds the connections that others dial.
	maxStreams = 1 << 14
)

// dial connects to the stream's receiver and proves itself. A rank that is not there yet, or refuses, may be replaced by
// the one that is meant: it tries until the context ends, and then says what was wrong last.
func (t *tcp) dial(ctx context.Context, key streamKey) (net.Conn, error) {
	address := t.config.Addresses[key.to]
	pause := firstPause
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last error
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			if last == nil {
				last = ctx.Err()
			}
			return nil, fmt.Errorf("connect: %w", last)
		}
		conn, err := t.try(ctx, address, key)
		if err == nil {
			return conn, nil
		}
		if last == nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			last = err // that a try was cut short says less than why those before it failed
		}
		timer.Reset(pause)
		pause = min(2*pause, lastPause)
	}
}

func (t *tcp) try(ctx context.Context, address string, key streamKey) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, greetingTime)
	defer cancel()
	conn, err := t.config.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if err := t.keep(conn); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // ends the greeting
	if err := t.identity.greet(conn, key); err != nil {
		t.drop(conn)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	return conn, nil
}

// accept has take work on the connections of a listener, until that is closed.
func accept(listener net.Listener, work *sync.WaitGroup, take func(net.Conn)) {
	places := make(chan struct{}, maxGreetings)
	for {
		conn, err := listener.Accept()
		var temporary interface{ Temporary() bool } // too many open files, or a dialer that went away
		switch {
		case err == nil:
		case errors.As(err, &temporary) && temporary.Temporary():
			<-time.After(firstPause) // lets others close files
			continue
		default:
			return
		}
		select {
		case places <- struct{}{}:
			work.Go(func() {
				defer func() { <-places }()
				take(conn)
			})
		default:
			_ = conn.Close() // the dialer tries again
		}
	}
}

// receive checks who a connection comes from and gives it to who waits for it.
func (t *tcp) receive(conn net.Conn) {
	if t.keep(conn) != nil || conn.SetDeadline(time.Now().Add(greetingTime)) != nil {
		t.drop(conn)
		return
	}
	var key streamKey
	var stream *incoming
	err := t.identity.welcome(conn, func(claimed streamKey) (err error) {
		key = claimed
		stream, err = t.claim(key)
		return err
	})
	if err == nil {
		err = t.unlimited(conn)
	}
	if err != nil {
		t.drop(conn)
		if stream != nil {
			t.unclaim(stream) // the dialer does not know that it was taken
		}
		return
	}
	stream.arrived <- conn
}

// unlimited removes a connection's deadline, unless the communicator has failed, which sets it for good.
func (t *tcp) unlimited(conn net.Conn) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return errFailed
	}
	return conn.SetDeadline(time.Time{})
}

// claim takes the place of a stream's one connection.
func (t *tcp) claim(key streamKey) (*incoming, error) {
	if key.lane == laneControl && !t.watchedBy(key.from) {
		return nil, refusedStream
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	stream := t.incoming(key)
	if stream == nil {
		return nil, refusedStream
	}
	if stream.claimed {
		return nil, refusedDuplicate
	}
	stream.claimed = true
	return stream, nil
}

func (t *tcp) unclaim(stream *incoming) {
	t.mu.Lock()
	defer t.mu.Unlock()
	stream.claimed = false
}

// incoming is a stream by its key, nil where there are too many. The lock is held.
func (t *tcp) incoming(key streamKey) *incoming {
	stream, ok := t.streams[key]
	if !ok {
		if len(t.streams) >= maxStreams {
			return nil
		}
		stream = &incoming{arrived: make(chan net.Conn, 1)}
		t.streams[key] = stream
	}
	return stream
}

var errTooManyStreams = fmt.Errorf("this rank receives more than %d streams: use fewer groups", maxStreams)

// awaitStream waits for a stream's sender to connect.
func (t *tcp) awaitStream(ctx context.Context, key streamKey) (net.Conn, error) {
	t.mu.Lock()
	stream := t.incoming(key)
	t.mu.Unlock()
	if stream == nil {
		return nil, errTooManyStreams
	}
	select {
	case conn := <-stream.arrived:
		return conn, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("await its connection: %w", ctx.Err())
	}
}
