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

// TestNobodyIsSilentInAnOutage keeps agents as they were while the API server is not heard, and for a moment after.
func TestNobodyIsSilentInAnOutage(t *testing.T) {
	at := time.Unix(1000, 0)
	now := func() time.Time { return at }
	f := &following{Cluster: &Cluster{clock: &clock{now: now}}, now: now, changed: make(chan struct{}, 1)}
	leases := f.newFollowed(0, Leases, "agents", nil)
	leases.filled, f.kinds = true, []*followed{leases}
	renewed, seconds := metav1.NewMicroTime(at), int32(40)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "n"}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed, LeaseDurationSeconds: &seconds}}
	if err := leases.Store.Add(lease); err != nil {
		t.Fatal(err)
	}
	var shown *Objects
	for _, step := range []struct {
		after  time.Duration
		what   string
		does   func()
		silent bool
		until  time.Duration
	}{
		{0, "at first", func() {}, false, 40 * time.Second},
		{30 * time.Second, "the API server is lost", func() { f.lost(io.EOF) }, false, 0},
		{30 * time.Second, "the Lease ran out meanwhile", func() {}, false, 0},
		{0, "the API server answers again", func() { f.found(leases, "agents"); leases.told(nil, nil) }, false, beatPeriod},
		{beatPeriod, "no Lease came since then", func() {}, true, 0},
	} {
		at = at.Add(step.after)
		step.does()
		next, until, err := f.next(shown, true)
		if err != nil {
			t.Fatal(err)
		}
		if shown = next; shown.Silent["n"] != step.silent || until != step.until {
			t.Errorf("%s: the agent is silent: %t, and it may be in %v; want %t and %v", step.what, shown.Silent["n"], until, step.silent, step.until)
		}
	}
}
