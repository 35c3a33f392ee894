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
	"reflect"
	"slices"
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

// functions are the entry points that are used, with their symbols in CUDA's driver library and in HIP, or in NCCL and RCCL.
type functions struct {
	cuInit           func(flags uint32) int32                                   `cuda:"cuInit" hip:"hipInit"`
	cuDeviceGetCount func(count *int32) int32                                   `cuda:"cuDeviceGetCount" hip:"hipGetDeviceCount"`
	cuDeviceGet      func(device *int32, ordinal int32) int32                   `cuda:"cuDeviceGet" hip:"hipDeviceGet"`
	cuContextRetain  func(context *uintptr, device int32) int32                 `cuda:"cuDevicePrimaryCtxRetain" hip:"hipDevicePrimaryCtxRetain"`
	cuContextRelease func(device int32) int32                                   `cuda:"cuDevicePrimaryCtxRelease_v2" hip:"hipDevicePrimaryCtxRelease"`
	cuContextSet     func(context uintptr) int32                                `cuda:"cuCtxSetCurrent" hip:"hipCtxSetCurrent"`
	cuStreamCreate   func(stream *uintptr, flags uint32) int32                  `cuda:"cuStreamCreate" hip:"hipStreamCreateWithFlags"`
	cuStreamDestroy  func(stream uintptr) int32                                 `cuda:"cuStreamDestroy_v2" hip:"hipStreamDestroy"`
	cuStreamQuery    func(stream uintptr) int32                                 `cuda:"cuStreamQuery" hip:"hipStreamQuery"`
	cuMemAlloc       func(address *uintptr, bytes uintptr) int32                `cuda:"cuMemAlloc_v2" hip:"hipMalloc"`
	cuMemFree        func(address uintptr) int32                                `cuda:"cuMemFree_v2" hip:"hipFree"`
	cuCopyToDevice   func(to uintptr, from unsafe.Pointer, bytes uintptr) int32 `cuda:"cuMemcpyHtoD_v2" hip:"hipMemcpyHtoD"`
	cuCopyToHost     func(to unsafe.Pointer, from, bytes uintptr) int32         `cuda:"cuMemcpyDtoH_v2" hip:"hipMemcpyDtoH"`

	getUniqueID   func(id *uniqueID) int32                                                        `nccl:"ncclGetUniqueId"`
	initRank      func(comm *uintptr, ranks, rank, ids int32, id *uniqueID, config *config) int32 `nccl:"ncclCommInitRankScalable"`
	asyncError    func(comm uintptr, result *int32) int32                                         `nccl:"ncclCommGetAsyncError"`
	abort         func(comm uintptr) int32                                                        `nccl:"ncclCommAbort"`
	errorString   func(result int32) string                                                       `nccl:"ncclGetErrorString"`
	groupStart    func() int32                                                                    `nccl:"ncclGroupStart"`
	groupEnd      func() int32                                                                    `nccl:"ncclGroupEnd"`
	allReduce     func(in, out, count uintptr, dtype, op int32, comm, stream uintptr) int32       `nccl:"ncclAllReduce"`
	reduceScatter func(in, out, count uintptr, dtype, op int32, comm, stream uintptr) int32       `nccl:"ncclReduceScatter"`
	allGather     func(in, out, count uintptr, dtype int32, comm, stream uintptr) int32           `nccl:"ncclAllGather"`
	broadcast     func(in, out, count uintptr, dtype, root int32, comm, stream uintptr) int32     `nccl:"ncclBroadcast"`
	send          func(in, count uintptr, dtype, peer int32, comm, stream uintptr) int32          `nccl:"ncclSend"`
	receive       func(out, count uintptr, dtype, peer int32, comm, stream uintptr) int32         `nccl:"ncclRecv"`
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

func open(v *vendor) (*Library, error) {
	l := &Library{Name: v.name}
	// The library of devices comes first, with its symbols for all, since the library of collectives loads it too.
	if err := l.bind(v.devices, v.tag); err != nil {
		return nil, err
	}
	var missing []error
	bound := slices.ContainsFunc(v.names(), func(name string) bool {
		missing = append(missing, l.bind(name, "nccl"))
		return missing[len(missing)-1] == nil
	})
	if !bound {
		return nil, errors.Join(missing...)
	}
	if code := l.cuInit(0); code != 0 {
		return nil, fmt.Errorf("%w: the library of devices gives error %d: is a GPU given to this container?", ErrUnavailable, code)
	}
	return l, nil
}

// bind loads a library and looks up the functions that have a symbol in it by the tag.
func (f *functions) bind(library, tag string) error {
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	for field, value := range reflect.ValueOf(f).Elem().Fields() {
		symbol, has := field.Tag.Lookup(tag)
		if !has {
			continue
		}
		address, err := purego.Dlsym(handle, symbol)
		if err != nil {
			return fmt.Errorf("%w: %s lacks %s, use a newer one: %w", ErrUnavailable, library, symbol, err)
		}
		purego.RegisterFunc(reflect.NewAt(value.Type(), unsafe.Pointer(value.UnsafeAddr())).Interface(), address)
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
