package words

import "testing"

func TestDigest(t *testing.T) {
	if got := Digest("abc", 12); got != "ba7816bf8f01" { // FIPS 180-2, appendix B.1
		t.Errorf("%q", got)
	}
}
