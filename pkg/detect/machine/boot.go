package machine

import (
	"strconv"
	"time"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Booted reads when the host booted from /proc/stat (`btime`, seconds since the epoch: proc_stat(5)); the zero time
// where the kernel does not say.
func Booted(files host.Files) time.Time {
	text, _, _ := host.ReadText(files, "/proc/stat")
	for key, value := range host.Pairs(text, " ") {
		if seconds, err := strconv.ParseInt(value, 10, 40); key == "btime" && err == nil && seconds > 0 {
			return time.Unix(seconds, 0)
		}
	}
	return time.Time{}
}
