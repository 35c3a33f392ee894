package dra

import (
	"errors"
	"os"
)

// disk is what a checkpoint does to the files of the node.
type disk interface {
	// write makes a file of this content, which is on the disk when it returns.
	write(path string, content []byte) error
	// rename puts a file in the place of another.
	rename(from, to string) error
	// sync has the names in a folder on the disk.
	sync(folder string) error
}

// nodeDisk is the node's file system.
type nodeDisk struct{}

func (nodeDisk) write(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}

func (nodeDisk) rename(from, to string) error { return os.Rename(from, to) }

func (nodeDisk) sync(folder string) error {
	file, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
