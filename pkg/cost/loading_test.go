package cost

import "testing"

func TestLoading(t *testing.T) {
	for _, test := range []struct {
		loading Loading
		want    float64
	}{
		{Loading{NodeBytes: 140e9, DeviceBytes: 17.5e9, Storage: 7e9, HostLink: 50e9}, 20},
		{Loading{NodeBytes: 140e9, DeviceBytes: 140e9, Storage: 100e9, HostLink: 50e9}, 2.8},
		{Loading{NodeBytes: 140e9, DeviceBytes: 140e9, Storage: 100e9, Network: 12.5e9, HostLink: 50e9}, 11.2},
		{Loading{NodeBytes: 140e9}, 0},
	} {
		if got := test.loading.Seconds(); got != test.want {
			t.Errorf("%+v: %v s, want %v", test.loading, got, test.want)
		}
	}
}
