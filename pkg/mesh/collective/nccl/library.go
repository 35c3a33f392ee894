// Package nccl does the collectives of pkg/mesh/collective on GPUs of NVIDIA, by NCCL and CUDA's driver library, and on GPUs
// of AMD, by RCCL and HIP. The libraries are loaded at run time and called without cgo. A program that imports the package is linked
// dynamically.
//
// A Comm joins by an id and tests what is between devices: cmd/rankwright-nccl verifies meshes with it. A Group, a
// collective.Group whose collectives NCCL does, is for library use only: no program of Rankwright calls it.
//
// Names, codes and layouts follow NVIDIA's nccl.h (2.23 or newer, for ncclCommInitRankScalable) and cuda.h, and AMD's rccl.h
// and hip_runtime_api.h.
package nccl

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ErrUnavailable says that a library, a function of it or a GPU is missing.
var ErrUnavailable = errors.New("NCCL is not available")

// Library is NCCL and CUDA's driver library, or RCCL and HIP, loaded.
type Library struct {
	functions
	// Name is NCCL or RCCL.
	Name string
}

type functions struct {
	cuInit           func(flags uint32) int32
	cuDeviceGetCount func(count *int32) int32
	cuDeviceGet      func(device *int32, ordinal int32) int32
	cuContextRetain  func(context *uintptr, device int32) int32
	cuContextRelease func(device int32) int32
	cuContextSet     func(context uintptr) int32
	cuStreamCreate   func(stream *uintptr, flags uint32) int32
	cuStreamDestroy  func(stream uintptr) int32
	cuStreamQuery    func(stream uintptr) int32
	cuMemAlloc       func(address *uintptr, bytes uintptr) int32
	cuMemFree        func(address uintptr) int32
	cuCopyToDevice   func(to uintptr, from unsafe.Pointer, bytes uintptr) int32
	cuCopyToHost     func(to unsafe.Pointer, from, bytes uintptr) int32
	getUniqueID      func(id *uniqueID) int32
	initRank         func(comm *uintptr, ranks, rank, ids int32, id *uniqueID, config *config) int32
	asyncError       func(comm uintptr, result *int32) int32
	abort            func(comm uintptr) int32
	errorString      func(result int32) string
	groupStart       func() int32
	groupEnd         func() int32
	allReduce        func(in, out, count uintptr, dtype, op int32, comm, stream uintptr) int32
	reduceScatter    func(in, out, count uintptr, dtype, op int32, comm, stream uintptr) int32
	allGather        func(in, out, count uintptr, dtype int32, comm, stream uintptr) int32
	broadcast        func(in, out, count uintptr, dtype, root int32, comm, stream uintptr) int32
	send             func(in, count uintptr, dtype, peer int32, comm, stream uintptr) int32
	receive          func(out, count uintptr, dtype, peer int32, comm, stream uintptr) int32
}

// uniqueID is ncclUniqueId.
type uniqueID [128]byte

// config is ncclConfig_t as it was in 2.14, which later versions read by its size and version.
type config struct {
	size           uint64
	magic, version uint32
	blocking       int32
	_              int32
}

// nonBlocking makes calls of NCCL return before they are done, so that they can be given up.
func nonBlocking() *config { return &config{size: 24, magic: 0xcafebeef, version: 21400, blocking: 0} }

// binding is a function's place and its symbol.
type binding struct {
	function any
	symbol   string
}

func (f *functions) ofCUDA() []binding {
	return []binding{
		{&f.cuInit, "cuInit"},
		{&f.cuDeviceGetCount, "cuDeviceGetCount"},
		{&f.cuDeviceGet, "cuDeviceGet"},
		{&f.cuContextRetain, "cuDevicePrimaryCtxRetain"},
		{&f.cuContextRelease, "cuDevicePrimaryCtxRelease_v2"},
		{&f.cuContextSet, "cuCtxSetCurrent"},
		{&f.cuStreamCreate, "cuStreamCreate"},
		{&f.cuStreamDestroy, "cuStreamDestroy_v2"},
		{&f.cuStreamQuery, "cuStreamQuery"},
		{&f.cuMemAlloc, "cuMemAlloc_v2"},
		{&f.cuMemFree, "cuMemFree_v2"},
		{&f.cuCopyToDevice, "cuMemcpyHtoD_v2"},
		{&f.cuCopyToHost, "cuMemcpyDtoH_v2"},
	}
}

func (f *functions) ofNCCL() []binding {
	return []binding{
		{&f.getUniqueID, "ncclGetUniqueId"},
		{&f.initRank, "ncclCommInitRankScalable"},
		{&f.asyncError, "ncclCommGetAsyncError"},
		{&f.abort, "ncclCommAbort"},
		{&f.errorString, "ncclGetErrorString"},
		{&f.groupStart, "ncclGroupStart"},
		{&f.groupEnd, "ncclGroupEnd"},
		{&f.allReduce, "ncclAllReduce"},
		{&f.reduceScatter, "ncclReduceScatter"},
		{&f.allGather, "ncclAllGather"},
		{&f.broadcast, "ncclBroadcast"},
		{&f.send, "ncclSend"},
		{&f.receive, "ncclRecv"},
	}
}

func open(v *vendor) (*Library, error) {
	l := &Library{Name: v.name}
	// The library of devices comes first, with its symbols for all, since the library of collectives loads it too.
	if err := bind(v.devices, v.bind(&l.functions)); err != nil {
		return nil, err
	}
	var missing []error
	for _, name := range v.names() {
		err := bind(name, l.ofNCCL())
		if err == nil {
			missing = nil
			break
		}
		missing = append(missing, err)
	}
	if len(missing) > 0 {
		return nil, errors.Join(missing...)
	}
	if code := l.cuInit(0); code != 0 {
		return nil, fmt.Errorf("%w: the library of devices gives error %d: is a GPU given to this container?", ErrUnavailable, code)
	}
	return l, nil
}

func bind(name string, bindings []binding) error {
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	for _, b := range bindings {
		address, err := purego.Dlsym(handle, b.symbol)
		if err != nil {
			return fmt.Errorf("%w: %s lacks %s, use a newer one: %w", ErrUnavailable, name, b.symbol, err)
		}
		purego.RegisterFunc(b.function, address)
	}
	return nil
}

// Devices returns the number of GPUs that this process sees.
func (l *Library) Devices() (int, error) {
	var count int32
	if err := cudaError("cuDeviceGetCount", l.cuDeviceGetCount(&count)); err != nil {
		return 0, err
	}
	return int(count), nil
}

func cudaError(call string, code int32) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("%s: CUDA error %d", call, code)
}

// Results of NCCL and CUDA that are no errors.
const (
	ncclInProgress = 7
	cudaNotReady   = 600
)

func (l *Library) ncclError(call string, code int32) error {
	if code == 0 || code == ncclInProgress {
		return nil
	}
	return fmt.Errorf("%s: %s (NCCL error %d)", call, l.errorString(code), code)
}
