package pci

import "testing"

func TestRateOfLinks(t *testing.T) {
	full := map[string]string{"current_link_speed": "32.0 GT/s PCIe", "current_link_width": "16"}
	tests := map[string]struct {
		function, port map[string]string
		fastest        int32
		now, most      int64 // MB/s; 0 where nothing is said
	}{
		"as fast as it can be":  {full, map[string]string{"max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16"}, 32000, 63015, 63015},
		"lowered while idle":    {map[string]string{"current_link_speed": "2.5 GT/s PCIe", "current_link_width": "16"}, map[string]string{"max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16"}, 32000, 4000, 63015},
		"in a narrow slot":      {map[string]string{"current_link_speed": "16.0 GT/s PCIe", "current_link_width": "8"}, map[string]string{"max_link_speed": "32.0 GT/s PCIe", "max_link_width": "8"}, 16000, 15753, 15753},
		"in an older slot":      {map[string]string{"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "16"}, map[string]string{"max_link_speed": "8.0 GT/s PCIe", "max_link_width": "16"}, 32000, 15753, 15753},
		"a port that is silent": {full, nil, 32000, 63015, 63015},
		"a speed not known":     {map[string]string{"current_link_speed": "Unknown", "current_link_width": "16"}, nil, 0, 0, 0},
		"no link":               {map[string]string{}, nil, 32000, 0, 0},
		"asleep":                {map[string]string{"power_state": "D3cold", "power/runtime_status": "suspended", "current_link_speed": "2.5 GT/s PCIe", "current_link_width": "16"}, nil, 32000, 0, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			files, function := pciTree(t, tc.function, tc.port)
			function.LinkMTps = tc.fastest
			rate := check(files, function).Rate
			if now, most := valueOf(rate.Now), valueOf(rate.Most); now != tc.now || most != tc.most {
				t.Errorf("%d MB/s now and %d at most, want %d and %d", now, most, tc.now, tc.most)
			}
		})
	}
}

func valueOf(number *int64) int64 {
	if number == nil {
		return 0
	}
	return *number
}
