package nccl

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Comm is a rank of a communicator whose ranks may be in other processes, which agree on what they call in ways of their
// own. Its buffers stay on the GPU, so that calls are as fast as the library makes them. A call that fails is the last one.
type Comm struct {
	loaded  *Library
	device  *device
	address uintptr
	size    int
}

// NewID makes what the ranks of a communicator meet by: one of them does, and tells the others.
func (l *Library) NewID() ([]byte, error) {
	var id uniqueID
	if err := l.ncclError("ncclGetUniqueId", l.getUniqueID(&id)); err != nil {
		return nil, err
	}
	return id[:], nil
}

// Join makes a rank of a communicator on a GPU, by its ordinal in this process. All ranks join at the same time, each from a
// goroutine of its own.
func (l *Library) Join(ctx context.Context, id []byte, size, rank, ordinal int) (*Comm, error) {
	var unique uniqueID
	if len(id) != len(unique) {
		return nil, fmt.Errorf("id has %d bytes: give one of NewID, of %d", len(id), len(unique))
	}
	copy(unique[:], id)
	d, err := l.openDevice(ordinal)
	if err != nil {
		return nil, err
	}
	c := &Comm{loaded: l, device: d, size: size}
	err = d.do(func() error {
		return c.attempt(ctx, "ncclCommInitRankScalable", func() int32 {
			return l.initRank(&c.address, int32(size), int32(rank), 1, &unique, nonBlocking())
		})
	})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close gives the GPU back.
func (c *Comm) Close() error {
	err := c.device.do(func() error {
		if c.address == 0 {
			return nil
		}
		return c.loaded.ncclError("ncclCommAbort", c.loaded.abort(c.address))
	})
	c.device.close()
	return err
}

// attempt makes a call and waits until the library has taken it, in the device's thread.
func (c *Comm) attempt(ctx context.Context, name string, call func() int32) error {
	if err := c.loaded.ncclError(name, call()); err != nil {
		return err
	}
	err := await(ctx, nil, func() (bool, error) {
		var result int32
		if err := c.loaded.ncclError(name, c.loaded.asyncError(c.address, &result)); err != nil {
			return false, err
		}
		return result != ncclInProgress, c.loaded.ncclError(name, result)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// repeat makes a call so often, one after the other, and returns how long they took together on the GPU. One more call,
// which opens connections, precedes them unmeasured.
func (c *Comm) repeat(ctx context.Context, name string, calls int, call func() int32) (time.Duration, error) {
	var took time.Duration
	err := c.device.do(func() error {
		once := func() error { return c.attempt(ctx, name, call) }
		if err := errors.Join(once(), await(ctx, nil, c.device.idle)); err != nil {
			return err
		}
		began := time.Now()
		for range calls {
			if err := once(); err != nil {
				return err
			}
		}
		err := await(ctx, nil, c.device.idle)
		took = time.Since(began)
		return err
	})
	return took, err
}

// fill makes both buffers as long as the data, and writes it to the one that is sent from.
func (c *Comm) fill(data []byte) (in, out uintptr, err error) {
	err = c.device.do(func() error {
		if in, err = c.device.sized(&c.device.in, len(data)); err != nil {
			return err
		}
		if out, err = c.device.sized(&c.device.out, len(data)); err != nil {
			return err
		}
		return c.device.write(in, data)
	})
	return in, out, err
}

// AllReduce adds up INT64 of all ranks, so often, and returns the sums and what that took.
func (c *Comm) AllReduce(ctx context.Context, data []byte, calls int) ([]byte, time.Duration, error) {
	const int64Code, sumCode, bytesEach = 4, 0, 8
	in, out, err := c.fill(data)
	if err != nil {
		return nil, 0, err
	}
	took, err := c.repeat(ctx, "ncclAllReduce", calls, func() int32 {
		return c.loaded.allReduce(in, out, uintptr(len(data)/bytesEach), int64Code, sumCode, c.address, c.device.stream)
	})
	if err != nil {
		return nil, 0, err
	}
	sums := make([]byte, len(data))
	return sums, took, c.device.do(func() error { return c.device.read(sums, out) })
}

// Send sends data to a rank, so often, and returns what that took. The rank receives as often.
func (c *Comm) Send(ctx context.Context, data []byte, to, calls int) (time.Duration, error) {
	in, _, err := c.fill(data)
	if err != nil {
		return 0, err
	}
	return c.repeat(ctx, "ncclSend", calls, func() int32 {
		return c.loaded.send(in, uintptr(len(data)), byteCode, int32(to), c.address, c.device.stream)
	})
}

// Receive receives so many bytes from a rank, so often, and returns the last ones.
func (c *Comm) Receive(ctx context.Context, bytes, from, calls int) ([]byte, error) {
	received := make([]byte, bytes)
	_, out, err := c.fill(received)
	if err != nil {
		return nil, err
	}
	if _, err := c.repeat(ctx, "ncclRecv", calls, func() int32 {
		return c.loaded.receive(out, uintptr(bytes), byteCode, int32(from), c.address, c.device.stream)
	}); err != nil {
		return nil, err
	}
	return received, c.device.do(func() error { return c.device.read(received, out) })
}
