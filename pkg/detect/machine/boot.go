package machine

import (
	"strconv"
	"strings"
	"time"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Booted reads when the host booted from /proc/stat (`btime`, seconds since the epoch: proc_stat(5)); the zero time
// where the kernel does not say.
func Booted(files host.Files) time.Time {
	text, _, _ := host.ReadText(files, "/proc/stat")
	for line := range strings.Lines(text) {
		if number, ok := strings.CutPrefix(line, "btime "); ok {
			if seconds, err := strconv.ParseInt(strings.TrimSpace(number), 10, 40); err == nil && seconds > 0 {
				return time.Unix(seconds, 0)
			}
		}
	}
	return time.Time{}
}
