package words

import "testing"

func TestAmounts(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 MiB", 1: "1 MiB", 1<<20 + 1: "2 MiB", 1<<30 - 1: "1.0 GiB", 80 << 30: "80.0 GiB", 1536 << 30: "1.5 TiB",
	} {
		if got := HumanBytes(bytes); got != want {
			t.Errorf("%d bytes are %q, want %q", bytes, got, want)
		}
	}
}

func TestCounted(t *testing.T) {
	for _, test := range []struct {
		n          int32
		noun, want string
	}{
		{1, "copy", "1 copy"}, {2, "copy", "2 copies"}, {0, "device", "0 devices"}, {3, "rank", "3 ranks"},
	} {
		if got := Counted(test.n, test.noun); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
