package health

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/rankwright/rankwright/internal/words"
)

// recovery is how far a device has come that had a fault and looks well: since when, and in how many detections.
type recovery struct {
	since      time.Time
	detections int
}

// recoveryMark matches what print adds to a message.
var recoveryMark = regexp.MustCompile(`; looks well since ([0-9TZ:+-]{20,25}) \((\d{1,6}) of \d{1,6} detections\)$`)

// parseRecovery splits a published message into the evidence and the recovery; nil where none is under way.
func parseRecovery(message string) (evidence string, under *recovery) {
	match := recoveryMark.FindStringSubmatchIndex(message)
	if match == nil {
		return message, nil
	}
	since, err := time.Parse(time.RFC3339, message[match[2]:match[3]])
	detections, countErr := strconv.Atoi(message[match[4]:match[5]])
	if err != nil || countErr != nil || detections < 1 {
		return message, nil
	}
	return message[:match[0]], &recovery{since: since, detections: detections}
}

// maxMessage is what the API allows a message to have, in bytes.
const maxMessage = 1024

// print adds the recovery to the evidence.
func (r recovery) print(evidence string, needed int) string {
	mark := fmt.Sprintf("; looks well since %s (%d of %d detections)", r.since.UTC().Format(time.RFC3339), r.detections, needed)
	return words.Cut(evidence, maxMessage-len(mark)) + mark
}
