// Package disk replaces files of the node so that whoever reads one at whatever moment, after a crash as well, finds the old
// content or the new.
package disk

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Unfinished ends the names of files that are being written.
const Unfinished = ".unfinished"

// Disk is what Replace does to files.
type Disk interface {
	// Write makes a file of this content and mode, which is on the disk when it returns.
	Write(path string, content []byte, mode fs.FileMode) error
	// Rename puts a file in the place of another.
	Rename(from, to string) error
	// Sync has the names in a folder on the disk.
	Sync(folder string) error
}

// Replace puts the content in the place of the file at once and for good, unless the file has it already, and says whether it did.
func Replace(d Disk, path string, content []byte, mode fs.FileMode) (changed bool, err error) {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) { //nolint:gosec // the caller's own file
		return false, nil
	}
	unfinished := path + Unfinished
	if err = d.Write(unfinished, content, mode); err == nil {
		err = d.Rename(unfinished, path)
	}
	if err != nil {
		_ = os.Remove(unfinished)
		return false, err
	}
	return true, d.Sync(filepath.Dir(path))
}

// Node is the node's file system.
type Node struct{}

// Write implements Disk.
func (Node) Write(path string, content []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode) //nolint:gosec // the caller's own file
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
}

// Rename implements Disk.
func (Node) Rename(from, to string) error { return os.Rename(from, to) }

// Sync implements Disk.
func (Node) Sync(folder string) error {
	file, err := os.Open(folder) //nolint:gosec // the caller's own folder
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
