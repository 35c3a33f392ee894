package nodeagent

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rankwright/rankwright/internal/words"
)

const (
	// hashDigits is the length of the hash at the end of a shortened text: 32 bits are enough to tell the few products
	// of a cluster apart.
	hashDigits = 8
	// keptCharacters is what stays of a text that is too long, before the hyphen and the hash.
	keptCharacters = validation.LabelValueMaxLength - hashDigits - 1
)

// labelValue turns any text into a valid label value, and into the name of a valid label key unless the text is empty.
// Characters outside of [A-Za-z0-9._-] become hyphens, runs of hyphens become one, and the ends are trimmed to letters
// and digits. What is then longer than 63 characters is cut after 54, followed by a hyphen and the first 8 hex digits of
// the SHA-256 of the text as given, so that long texts stay apart. A text of which nothing is left becomes `x-` and the
// same digits.
func labelValue(text string) string {
	value := strings.Trim(notInLabels.ReplaceAllString(text, "-"), "-._")
	switch {
	case text == "":
		return ""
	case value == "":
		return "x-" + words.Digest(text, hashDigits)
	case len(value) > validation.LabelValueMaxLength:
		return value[:keptCharacters] + "-" + words.Digest(text, hashDigits)
	default:
		return value
	}
}

// notInLabels are runs of what a label cannot have, and of hyphens.
var notInLabels = regexp.MustCompile(`[^A-Za-z0-9._]+`)
