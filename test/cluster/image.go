//go:build linux

package cluster

import (
	"context"
	"os"
	"path/filepath"

	"github.com/rankwright/rankwright/tools/images"
)

// pauseName is the image of pods' sandboxes.
const pauseName = "rankwright.dev/pause:local"

// pauseImage builds the image of sandboxes and returns the archive.
func pauseImage(ctx context.Context, dir string) (string, error) {
	content, err := pause.build(ctx, "cluster/pause")
	if err != nil {
		return "", err
	}
	program, archive := filepath.Join(dir, "pause"), filepath.Join(dir, "pause.tar")
	if err := os.WriteFile(program, content, 0o755); err != nil { //nolint:gosec // a program
		return "", err
	}
	image := images.Image{Files: map[string]string{"/pause": program}, Entrypoint: []string{"/pause"}, User: "65535:65535"}
	return archive, image.Write(archive, pauseName)
}
