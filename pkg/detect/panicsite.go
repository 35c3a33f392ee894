package detect

import "strings"

// panicSite finds the file and line that panicked in a stack: the first frame below the runtime's own. Goroutine
// numbers and addresses are left out, so that the same defect gives the same text.
func panicSite(stack []byte) string {
	_, below, found := strings.Cut(string(stack), "\npanic(")
	if !found {
		return "unknown place"
	}
	lines := strings.Split(below, "\n")
	// Two lines a frame: the function, then file:line; the first pair is panic's own.
	for i := 3; i < len(lines); i += 2 {
		site, _, _ := strings.Cut(strings.TrimSpace(lines[i]), " ")
		if !strings.Contains(site, "/runtime/") {
			return site[strings.LastIndex(site, "/")+1:]
		}
	}
	return "unknown place"
}
