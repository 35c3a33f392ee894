package dra

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/rankwright/rankwright/pkg/nodeagent/disk"
)

// checkpointName is the name of the file with the book, in the driver's own folder.
const checkpointName = "prepared.json"

// checkpointVersion is the version of the checkpoint file's format.
const checkpointVersion = 1

// checkpoint keeps the book on the node: the next agent goes on with it. The file is replaced as a whole, so that whoever is
// killed at whatever moment leaves either the old book or the new one.
type checkpoint struct {
	path string
	disk disk.Disk
	book book
	// inherited are the claims, by their UIDs, that the kubelet has not asked this agent about: they are the agent's before.
	inherited map[string]bool
}

// written is the content of the checkpoint file.
type written struct {
	Version int  `json:"version"`
	Claims  book `json:"claims"`
}

// openCheckpoint reads the book of the agent before. A file that is none is set aside: what pods hold is then known from the
// kubelet alone, as it is where there never was a book.
func openCheckpoint(folder string, d disk.Disk, log *slog.Logger) (*checkpoint, error) {
	c := &checkpoint{path: filepath.Join(folder, checkpointName), disk: d, book: book{}, inherited: map[string]bool{}}
	content, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("claims that are prepared: %w", err)
	}
	read := written{}
	err = json.Unmarshal(content, &read)
	if err == nil && read.Version != checkpointVersion {
		err = fmt.Errorf("version %d is not known", read.Version)
	}
	if err != nil {
		aside := c.path + ".unreadable"
		log.Warn("the record of prepared claims cannot be read and is set aside", "file", c.path, "aside", aside, "error", err)
		return c, d.Rename(c.path, aside)
	}
	for uid, r := range read.Claims {
		c.book[uid], c.inherited[uid] = r, true
	}
	return c, nil
}

// keep puts a new book on the node. Where that fails, the old book stays in force.
func (c *checkpoint) keep(next book) error {
	content, err := json.Marshal(written{Version: checkpointVersion, Claims: next})
	if err == nil {
		_, err = disk.Replace(c.disk, c.path, append(content, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("record of prepared claims %s: %w", c.path, err)
	}
	c.book = next
	return nil
}
