package cerebras

import "testing"

func FuzzCSCTL(f *testing.F) {
	f.Add([]byte(`{"items":[{"meta":{"name":"systemf1"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		names, err := parseCSCTL(text)
		if err != nil && names != nil {
			t.Errorf("%v and %v", names, err)
		}
	})
}
