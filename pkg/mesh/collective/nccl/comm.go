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
	return l.join(ctx, nil, id, size, rank, ordinal)
}

// join gives up when a rank is lost.
func (l *Library) join(ctx context.Context, lost <-chan struct{}, id []byte, size, rank, ordinal int) (*Comm, error) {
	var unique uniqueID
	if len(id) != len(unique) {
		return nil, fmt.Errorf("id has %d bytes: give one of NewID, of %d", len(id), len(unique))
	}
	copy(unique[:], id)
	d, err := l.openDevice(ordinal)
	if err != nil {
		return nil, err
	}
	c := &Comm{loaded: l, device: d}
	err = d.do(func() error {
		return c.attempt(ctx, lost, "ncclCommInitRankScalable", func() int32 {
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
	err := c.device.do(c.abort)
	c.device.close()
	return err
}

// abort ends the communicator, in the device's thread. It may be called again.
func (c *Comm) abort() error {
	address := c.address
	if address == 0 {
		return nil
	}
	c.address = 0
	return c.loaded.ncclError("ncclCommAbort", c.loaded.abort(address))
}

// attempt makes a call and waits until the library has taken it, in the device's thread.
func (c *Comm) attempt(ctx context.Context, lost <-chan struct{}, name string, call func() int32) error {
	if err := c.loaded.ncclError(name, call()); err != nil {
		return err
	}
	return await(ctx, lost, name, func() (bool, error) {
		var result int32
		if err := c.loaded.ncclError(name, c.loaded.asyncError(c.address, &result)); err != nil {
			return false, err
		}
		return result != ncclInProgress, c.loaded.ncclError(name, result)
	})
}

// repeat makes a call so often between buffers of the GPU, one after the other: input is written there before the first, and output
// is read back after the last. It returns how long they took together on the GPU. One more call, which opens connections,
// precedes them unmeasured.
func (c *Comm) repeat(ctx context.Context, name string, calls int, output, input []byte, call func(out, in uintptr) int32) (took time.Duration, err error) {
	err = c.device.do(func() error {
		in, out, err := c.buffers(input, len(output))
		if err != nil {
			return err
		}
		once := func() error { return c.attempt(ctx, nil, name, func() int32 { return call(out, in) }) }
		if err := errors.Join(once(), await(ctx, nil, name, c.device.idle)); err != nil {
			return err
		}
		began := time.Now()
		for range calls {
			if err := once(); err != nil {
				return err
			}
		}
		err = await(ctx, nil, name, c.device.idle)
		took = time.Since(began)
		return errors.Join(err, c.device.read(output, out))
	})
	return took, err
}

// buffers writes input to one buffer of the GPU and makes another one for so many bytes of output, in the device's thread.
func (c *Comm) buffers(input []byte, output int) (in, out uintptr, err error) {
	if in, err = c.device.sized(&c.device.in, len(input)); err != nil {
		return 0, 0, err
	}
	if out, err = c.device.sized(&c.device.out, output); err != nil {
		return 0, 0, err
	}
	return in, out, c.device.write(in, input)
}

// AllReduce adds up INT64 of all ranks, so often, and returns the sums and what that took.
func (c *Comm) AllReduce(ctx context.Context, data []byte, calls int) ([]byte, time.Duration, error) {
	const int64Code, sumCode, bytesEach = 4, 0, 8
	sums := make([]byte, len(data))
	took, err := c.repeat(ctx, "ncclAllReduce", calls, sums, data, func(out, in uintptr) int32 {
		return c.loaded.allReduce(in, out, uintptr(len(data)/bytesEach), int64Code, sumCode, c.address, c.device.stream)
	})
	return sums, took, err
}

// Send sends data to a rank, so often, and returns what that took. The rank receives as often.
func (c *Comm) Send(ctx context.Context, data []byte, to, calls int) (time.Duration, error) {
	return c.repeat(ctx, "ncclSend", calls, nil, data, func(_, in uintptr) int32 {
		return c.loaded.send(in, uintptr(len(data)), byteCode, int32(to), c.address, c.device.stream)
	})
}

// Receive receives so many bytes from a rank, so often, and returns the last ones.
func (c *Comm) Receive(ctx context.Context, bytes, from, calls int) ([]byte, error) {
	received := make([]byte, bytes)
	_, err := c.repeat(ctx, "ncclRecv", calls, received, nil, func(out, _ uintptr) int32 {
		return c.loaded.receive(out, uintptr(bytes), byteCode, int32(from), c.address, c.device.stream)
	})
	return received, err
}
