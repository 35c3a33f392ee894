package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestReasons says in a sentence what stands in the way.
func TestReasons(t *testing.T) {
	asked := func(err error) error { return &url.Error{Op: "Get", URL: "https://c/api/v1/pods", Err: err} }
	for want, err := range map[string]error{
		"The API server does not answer: connection refused":                                                                                      asked(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}),
		"The API server does not answer: nothing came within 5s":                                                                                  asked(context.DeadlineExceeded),
		"The API server does not answer: the connection ended":                                                                                    asked(io.EOF),
		"The API server does not answer: lookup c: no such host":                                                                                  asked(&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "c", IsNotFound: true}}),
		"The API server does not answer: client connection lost":                                                                                  asked(errors.New("client connection lost")),
		"The API server does not tell what there is: etcd is slow":                                                                                fmt.Errorf("etcd is slow"),
		"The API server does not know the user of the context any more: log in again, and start this command anew if it does not go on by itself": apierrors.NewUnauthorized("expired"),
	} {
		if got := reason(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// TestSilent tells silent agents from others, and when the next may be one.
func TestSilent(t *testing.T) {
	now := time.Unix(1000, 0)
	lease := func(name string, renewed, lasts int) coordinationv1.Lease {
		at, seconds := metav1.NewMicroTime(now.Add(time.Duration(renewed)*time.Second)), int32(lasts)
		return coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{RenewTime: &at, LeaseDurationSeconds: &seconds}}
	}
	for name, test := range map[string]struct {
		leases []coordinationv1.Lease
		silent string
		until  time.Duration
	}{
		"none":            {nil, "map[]", 0},
		"all are heard":   {[]coordinationv1.Lease{lease("a", -10, 40), lease("b", -20, 40)}, "map[]", 20 * time.Second},
		"one ran out":     {[]coordinationv1.Lease{lease("a", -10, 40), lease("b", -40, 40)}, "map[b:true]", 30 * time.Second},
		"all ran out":     {[]coordinationv1.Lease{lease("a", -41, 40)}, "map[a:true]", 0},
		"it says nothing": {[]coordinationv1.Lease{{}}, "map[]", 0},
	} {
		quiet, until := silent(test.leases, now)
		if got := fmt.Sprint(quiet); got != test.silent || until != test.until {
			t.Errorf("%s: %s are silent, and the next may be in %v; want %s and %v", name, got, until, test.silent, test.until)
		}
	}
}
