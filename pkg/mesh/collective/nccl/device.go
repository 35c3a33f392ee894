package nccl

import (
	"context"
	"fmt"
	"runtime"
	"time"
	"unsafe"
)

// pollTime is how often a GPU is asked whether it is done.
const pollTime = 50 * time.Microsecond

// streamNonBlocking keeps a stream independent of others of the process (CU_STREAM_NON_BLOCKING).
const streamNonBlocking = 1

// device is a GPU's context with a stream and buffers. CUDA keeps the current context in the thread, so one goroutine with
// a thread of its own makes all calls.
type device struct {
	library *Library
	ordinal int32
	number  int32
	stream  uintptr
	in, out memory
	jobs    chan func()
	ended   chan struct{}
}

// memory is a buffer of a GPU.
type memory struct{ address, bytes uintptr }

func (l *Library) openDevice(ordinal int) (*device, error) {
	d := &device{library: l, ordinal: int32(ordinal), jobs: make(chan func()), ended: make(chan struct{})}
	opened := make(chan error)
	go d.work(opened)
	if err := <-opened; err != nil {
		return nil, err
	}
	return d, nil
}

func (d *device) work(opened chan<- error) {
	runtime.LockOSThread() // and never unlocked: the thread ends with its context
	defer close(d.ended)
	err := d.open()
	opened <- err
	if err != nil {
		return
	}
	for job := range d.jobs {
		job()
	}
	d.release()
}

func (d *device) open() error {
	l := d.library
	if err := cudaError("cuDeviceGet", l.cuDeviceGet(&d.number, d.ordinal)); err != nil {
		return err
	}
	var current uintptr
	if err := cudaError("cuDevicePrimaryCtxRetain", l.cuContextRetain(&current, d.number)); err != nil {
		return err
	}
	err := cudaError("cuCtxSetCurrent", l.cuContextSet(current))
	if err == nil {
		err = cudaError("cuStreamCreate", l.cuStreamCreate(&d.stream, streamNonBlocking))
	}
	if err != nil {
		l.cuContextRelease(d.number)
	}
	return err
}

// release gives everything back. What fails is of no more use anyway.
func (d *device) release() {
	for _, m := range []memory{d.in, d.out} {
		if m.address != 0 {
			d.library.cuMemFree(m.address)
		}
	}
	d.library.cuStreamDestroy(d.stream)
	d.library.cuContextRelease(d.number)
}

// do runs a job in the device's thread.
func (d *device) do(job func() error) error {
	done := make(chan error, 1)
	d.jobs <- func() { done <- job() }
	return <-done
}

func (d *device) close() {
	close(d.jobs)
	<-d.ended
}

// sized is a buffer of at least so many bytes.
func (d *device) sized(m *memory, bytes int) (uintptr, error) {
	if m.bytes >= uintptr(bytes) {
		return m.address, nil
	}
	if m.address != 0 {
		if err := cudaError("cuMemFree", d.library.cuMemFree(m.address)); err != nil {
			return 0, err
		}
		*m = memory{}
	}
	if err := cudaError("cuMemAlloc", d.library.cuMemAlloc(&m.address, uintptr(bytes))); err != nil {
		return 0, err
	}
	m.bytes = uintptr(bytes)
	return m.address, nil
}

func (d *device) write(to uintptr, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	return cudaError("cuMemcpyHtoD", d.library.cuCopyToDevice(to, unsafe.Pointer(unsafe.SliceData(from)), uintptr(len(from))))
}

func (d *device) read(to []byte, from uintptr) error {
	if len(to) == 0 {
		return nil
	}
	return cudaError("cuMemcpyDtoH", d.library.cuCopyToHost(unsafe.Pointer(unsafe.SliceData(to)), from, uintptr(len(to))))
}

// await asks until a call is done, fails, the context ends, or a rank is lost, which gives no error of its own.
func await(ctx context.Context, lost <-chan struct{}, call string, done func() (bool, error)) error {
	ticker := time.NewTicker(pollTime)
	defer ticker.Stop()
	for {
		if ok, err := done(); err != nil {
			return fmt.Errorf("%s: %w", call, err)
		} else if ok {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", call, context.Cause(ctx))
		case <-lost:
			return errLost
		}
	}
}

// idle says whether the GPU has done what was given to it.
func (d *device) idle() (bool, error) {
	code := d.library.cuStreamQuery(d.stream)
	if code == cudaNotReady {
		return false, nil
	}
	return true, cudaError("cuStreamQuery", code)
}
