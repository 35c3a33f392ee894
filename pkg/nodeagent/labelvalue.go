package nodeagent

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// hashDigits is the length of the hash at the end of a shortened text: 32 bits are enough to tell the few products
	// of a cluster apart.
	hashDigits = 8
	// keptCharacters is what stays of a text that is too long, before the hyphen and the hash.
	keptCharacters = validation.LabelValueMaxLength - hashDigits - 1
)

// LabelValue turns any text into a valid label value, and into the name of a valid label key unless the text is empty.
// Characters outside of [A-Za-z0-9._-] become hyphens, runs of hyphens become one, and the ends are trimmed to letters
// and digits. What is then longer than 63 characters is cut after 54, followed by a hyphen and the first 8 hex digits of
// the SHA-256 of the text as given, so that long texts stay apart. A text of which nothing is left becomes `x-` and the
// same digits.
func LabelValue(text string) string {
	value := strings.Trim(collapse(text), "-._")
	switch {
	case text == "":
		return ""
	case value == "":
		return "x-" + shortHash(text)
	case len(value) > validation.LabelValueMaxLength:
		return value[:keptCharacters] + "-" + shortHash(text)
	default:
		return value
	}
}

func collapse(text string) string {
	var b strings.Builder
	hyphen := false
	for _, r := range text {
		if !allowed(r) {
			r = '-'
		}
		if r != '-' || !hyphen {
			b.WriteRune(r)
		}
		hyphen = r == '-'
	}
	return b.String()
}

func allowed(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '_'
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashDigits]
}
