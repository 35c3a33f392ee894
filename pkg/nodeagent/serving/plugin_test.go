package serving

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOursAreOffersOfServedVendors(t *testing.T) {
	config := Config{Vendors: map[string]VendorConfig{
		"nvidia": {Serve: true, Resources: map[string]string{"gpu": "nvidia.com/gpu"}}, "amd": {},
	}}
	plugin := New(Options{Config: config, Log: slog.New(slog.DiscardHandler)})
	tests := map[Offer]bool{
		{"nvidia.com/gpu", "nvidia-0000:17:00.0"}:                   true,
		{"nvidia.com/mig-1g.10gb", "nvidia-0000:17:00.0-mig7"}:      true,
		{"rankwright.dev/slot-a", "nvidia-0000:17:00.0"}:            true,
		{"rankwright.dev/nvidia-gpu", "nvidia-0000:17:00.0/3"}:      true,
		{"nvidia.com/gpu", "GPU-8f6d3a4c-0000-0000-0000-123456789"}: false,
		{"amd.com/gpu", "amd-0000:17:00.0"}:                         false,
		{"rankwright.dev/amd-gpu", "amd-0000:17:00.0"}:              false,
		{"example.com/gpu", "nvidia-0000:17:00.0"}:                  false,
		{"nvidia.com/gpu", "nvidia"}:                                false,
	}
	for offer, want := range tests {
		if got := plugin.ours(offer); got != want {
			t.Errorf("%v: %v, want %v", offer, got, want)
		}
	}
}

func TestWaitAfter(t *testing.T) {
	failed := errors.New("refused")
	tests := []struct {
		name     string
		cut      bool
		err      error
		failures int
		want     time.Duration
	}{
		{"the kubelet closed", false, nil, 0, settleTime},
		{"we closed", true, nil, 0, noticeTime},
		{"a kubelet that does not listen yet", false, failed, 0, firstRetry},
		{"a kubelet that goes on refusing", false, failed, 5, firstRetry << 5 / 2},
		{"one that refused for long", false, failed, 1 << 20, lastRetry / 2},
		{"a stream that ends again and again", false, nil, 6, firstRetry << 6 / 2},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := waitAfter(tc.cut, tc.err, tc.failures, 0); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
			if most := waitAfter(tc.cut, tc.err, tc.failures, 0.999); most > 2*tc.want {
				t.Errorf("up to %v, want at most twice %v", most, tc.want)
			}
		})
	}
}

func TestKubeletIsKnownByItsSocket(t *testing.T) {
	folder, err := os.MkdirTemp("", "rw") //nolint:usetesting // that of the test may be too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	none := findKubelet(folder)
	socket := filepath.Join(folder, kubeletSocketName)
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if findKubelet(folder).there() {
		t.Error("a file is taken for the kubelet's socket")
	}
	_ = os.Remove(socket)
	listener, err := net.Listen("unix", socket) //nolint:noctx // as the kubelet does
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	first, again := findKubelet(folder), findKubelet(folder)
	if err := os.Chtimes(socket, time.Time{}, first.since().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	later := findKubelet(folder)
	if !none.same(kubelet{}) || none.same(first) || !first.same(again) || first.same(later) {
		t.Error("kubelets are mistaken for each other")
	}
}
