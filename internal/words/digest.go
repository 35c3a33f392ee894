package words

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest returns the first hexadecimal digits of a text's SHA-256, at most 64: what stands in a name for a text that does not
// fit, or cannot be there.
func Digest(text string, digits int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:digits]
}
